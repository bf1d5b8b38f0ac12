"""Stability of separability, and its dependence on temperature, as plain text for a terminal."""

from collections.abc import Iterable
from typing import Any

from reporting.core.text import counted as count
from reporting.core.text import estimate_text, printable


def as_text(found: dict[str, Any]) -> str:
    """Return the numbers, one block per configuration, then one per group of temperatures."""
    blocks = [f"study {printable(found['study'])} (version {found['version']})"]
    if not found["configurations"]:
        blocks.append("no configuration: import instances with generations of two systems")
    blocks += ["\n".join(_configuration(one)) for one in found["configurations"]]
    blocks += ["\n".join(_temperatures(one)) for one in found["temperatures"]]
    return "\n\n".join(blocks)


def _configuration(one: dict[str, Any]) -> Iterable[str]:
    yield printable(f"{one['dataset']}: A = {one['system_a']}, B = {one['system_b']}")
    stability = one["stability"]
    if "why" in stability:
        yield f"  {stability['why']}"
        return
    counted = (
        f"{stability['instances']} of {count(stability['of'], 'instances')}, {count(stability['draws'], 'draws')} each"
    )
    yield f"  by {printable(stability['similarity'])}, {counted}"
    for key, name in (("samples", "generations of each system"), ("cross_pairs", "cross pairs")):
        for row in stability[key]:
            yield f"  {row[key]} {name}: mean change {estimate_text(row['change'])}"
            yield f"    rank correlation with all {estimate_text(row['rank_correlation'])}"


def _temperatures(group: dict[str, Any]) -> Iterable[str]:
    models = printable(" and ".join(group["models"]))
    yield f"temperatures: {models} on {printable(group['dataset'])}, by {printable(group['similarity'])}, on one scale"
    for row in group["rows"]:
        temperatures = " and ".join("the endpoint's own" if one is None else f"{one:g}" for one in row["temperatures"])
        yield f"  {temperatures} ({printable(' / '.join(row['systems']))}): mean separability {estimate_text(row['mean'])}"
        if row["rank_correlation"] is not None:
            yield f"    rank correlation with the first {estimate_text(row['rank_correlation'])}"
