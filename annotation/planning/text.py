"""Plans as plain text, for the command."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotation.planning.notes import component_name, parts_of

_COLUMNS = ("N", "R", "instances", "cautious", "width", "HITs", "ratings", "hours", "pay", "judge calls", "judge cost")
NONE = "–"


def as_text(plan: Mapping[str, Any]) -> str:
    """Return the plan as text."""
    return "\n".join([*_head(plan), "", *_table(plan["designs"]), "", *_foot(plan)])


def _head(plan: Mapping[str, Any]) -> Iterator[str]:
    yield plan["sentence"]
    yield ""
    named = plan["configuration"]
    where = f", {named['dataset']}: {named['system_a']} / {named['system_b']}" if named else ""
    yield f"{plan['study']}{where}"
    yield f"{plan['measure']}, {plan['level']:.0%} interval {plan['width']:g} wide from the lower to the upper bound"
    yield from _source(plan["variance"])
    component = plan["variance"]["components"][0]  # for the win rate, the same for any number of pairs
    parts = ", ".join(f"{component_name(name)} {component[name]:.4f}" for name in parts_of(plan))
    yield f"variance of one {'rating set' if plan['measure'] == 'consistency' else 'verdict'}: {component['total']:.4f} = {parts}"


def _source(variance: Mapping[str, Any]) -> Iterator[str]:
    if pilot := variance["pilot"]:
        yield (
            f"from {pilot['ratings']} votes of {pilot['raters']} raters on {pilot['instances']} instances; "
            f"mean {pilot['mean']:.3f}, ties {pilot['tie_share']:.1%}"
        )
    else:
        assumed = variance["assumptions"]
        parts = ", ".join(
            f"{name.replace('_', ' ')} {value:g}" for name, value in assumed.items() if isinstance(value, float)
        )
        shares = ", ".join(f"{component_name(name)} {share:g}" for name, share in assumed["shares"].items() if share)
        yield f"assumed: {parts}; shares of the variance: {shares}"


def _table(designs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    rows = [_COLUMNS, *(_row(design) for design in designs)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    for row in rows:
        yield "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(design: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        str(design["pairs"]),
        str(design["raters"]),
        _number(design["instances"]) + ("*" if design["enough"] is False else ""),
        _number(design["cautious_instances"]),
        _number(design["width"], 4),
        _number(design["assignments"]),
        _number(design["ratings"]),
        _number(design["hours"], 1),
        _number(design["pay"], 2),
        _number(design["judge_calls"]),
        _number(design["judge_cost"], 2),
    )


def _foot(plan: Mapping[str, Any]) -> Iterator[str]:
    if plan["instances_available"] is not None:
        yield f"* more instances than there are; the study has {plan['instances_available']:,} of this configuration"
    if plan["variance"]["pilot"]:
        yield "cautious: enough for the upper 80 % limit of the pilot's variance"
    yield "HITs: as often as one is rated, and paid"
    by = plan["cheapest_by"]
    for key, label in (("cheapest", "least"), ("cheapest_within_study", "least, of the study's instances")):
        if best := plan[key]:
            yield f"{label} {by}: {best['instances']:,} instances, N = {best['pairs']}, R = {best['raters']}"
    yield from (f"note: {note}" for note in plan["notes"])


def _number(value: float | None, decimals: int = 0) -> str:
    return NONE if value is None else f"{value:,.{decimals}f}"
