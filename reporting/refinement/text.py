"""The report on a repair as plain text, for a terminal."""

from typing import Any

from annotation.core.tables import UNDEFINED
from reporting.core.text import counted as count
from reporting.core.text import printable, share_text


def as_text(report: dict[str, Any]) -> str:
    """Return what was given, changed and written."""
    lines = [
        f"{count(report['verdicts'], 'verdicts')} by {printable(', '.join(report['raters']))} on {count(report['texts'], 'texts')} of "
        f"{count(report['instances'], 'instances')}; preferences: {report['preferences']}, ties: {report['ties']}, "
        f"missing: {report['verdicts_missing']}",
        f"ranked by {report['method'].replace('_', ' ')}: {count(report['kept'], 'preferences')} kept, {report['reversed']} reversed, "
        f"{report['dropped_as_equal']} dropped as equal; {count(report['pairs'], 'pairs')} implied, {report['added']} of them new",
    ]
    density = report["density"]
    lines.append(f"preferences: {share_text(density['before'])} before, {share_text(density['after'])} after")
    for k, row in report["transitivity"].items():
        lines.append(f"transitivity of {k}: {_value(row['before'])} before, {_value(row['after'])} after")
    both = report["commutativity"]
    lines.append(f"commutativity: {_value(both['before'])} before, {_value(both['after'])} after")
    return "\n".join([*lines, *(f"{printable(path)}: {rows} rows" for path, rows in report["written"].items())])


def _value(row: dict[str, Any]) -> str:
    if row["value"] is None:
        return f"{UNDEFINED} ({row['why']})"
    coin = "" if row.get("coin") is None else f"; a coin has {row['coin']:.3f}"
    return f"{row['value']:.3f} (n = {count(row['n'], row['of'])}{coin})"
