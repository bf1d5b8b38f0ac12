"""The report on a repair as plain text, for a terminal."""

from typing import Any

from annotation.core.tables import UNDEFINED
from reporting.core.text import counted as count
from reporting.core.text import printable, share_text


def as_text(found: dict[str, Any]) -> str:
    """Return what was given, changed and written."""
    lines = [
        f"{count(found['verdicts'], 'verdicts')} by {printable(', '.join(found['raters']))} on {count(found['texts'], 'texts')} of "
        f"{count(found['instances'], 'instances')}; preferences: {found['preferences']}, ties: {found['ties']}, "
        f"missing: {found['verdicts_missing']}",
        f"ranked by {found['method'].replace('_', ' ')}: {count(found['kept'], 'preferences')} kept, {found['reversed']} reversed, "
        f"{found['dropped_as_equal']} dropped as equal; {count(found['pairs'], 'pairs')} implied, {found['added']} of them new",
    ]
    density = found["density"]
    lines.append(f"preferences: {share_text(density['before'])} before, {share_text(density['after'])} after")
    for k, one in found["transitivity"].items():
        lines.append(f"transitivity of {k}: {_value(one['before'])} before, {_value(one['after'])} after")
    both = found["commutativity"]
    lines.append(f"commutativity: {_value(both['before'])} before, {_value(both['after'])} after")
    return "\n".join([*lines, *(f"{printable(path)}: {rows} rows" for path, rows in found["written"].items())])


def _value(one: dict[str, Any]) -> str:
    if one["value"] is None:
        return f"{UNDEFINED} ({one['why']})"
    coin = "" if one.get("coin") is None else f"; a coin has {one['coin']:.3f}"
    return f"{one['value']:.3f} (n = {count(one['n'], one['of'])}{coin})"
