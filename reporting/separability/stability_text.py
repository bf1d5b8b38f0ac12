"""Stability of separability, and its dependence on temperature, as plain text for a terminal."""

from collections.abc import Iterable
from typing import Any

from reporting.core.text import counted as count
from reporting.core.text import estimate_text, printable


def as_text(numbers: dict[str, Any]) -> str:
    """Return the numbers, one block per configuration, then one per group of temperatures."""
    blocks = [f"study {printable(numbers['study'])} (version {numbers['version']})"]
    if not numbers["configurations"]:
        blocks.append("no configuration: import instances with generations of two systems")
    blocks += ["\n".join(_configuration(part)) for part in numbers["configurations"]]
    blocks += ["\n".join(_temperatures(part)) for part in numbers["temperatures"]]
    return "\n\n".join(blocks)


def _configuration(configuration: dict[str, Any]) -> Iterable[str]:
    yield printable(f"{configuration['dataset']}: A = {configuration['system_a']}, B = {configuration['system_b']}")
    stability = configuration["stability"]
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
        temperatures = " and ".join(
            "the endpoint's own" if temperature is None else f"{temperature:g}" for temperature in row["temperatures"]
        )
        yield f"  {temperatures} ({printable(' / '.join(row['systems']))}): mean separability {estimate_text(row['mean'])}"
        if row["rank_correlation"] is not None:
            yield f"    rank correlation with the first {estimate_text(row['rank_correlation'])}"
