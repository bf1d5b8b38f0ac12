"""Plans in words: a sentence, notes on limits, and the text of the command."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.template.defaultfilters import pluralize

from annotation.core.counting import counted

SMALL_PILOT = 30
SMALL_STUDY = 20  # below it, bootstrap intervals are too narrow by more than 2.5 %: √(n / (n - 1))


def sentence(plan: Mapping[str, Any]) -> str:
    """Say what the cheapest design takes and reaches. `plan` is the JSON object without notes."""
    design = plan["cheapest_within_study"] or plan["cheapest"]
    if design is None:
        return f"Even all instances of the study do not reach an interval of ± {points(plan['width'])} points."
    size = f"{counted(design['instances'], 'instances')} × {counted(design['pairs'], 'pairs')} × {counted(design['raters'], 'raters')}"
    cost = "" if design["cost"] is None else f", about {design['cost']:,.0f} {plan['costs']['currency'] or 'in pay'}"
    text = f"{size} = {counted(design['ratings'], 'ratings')}{cost}, interval ± {points(design['width'])} points."
    if len(plan["designs"]) > 1:
        text += f" It is the cheapest of {len(plan['designs'])} designs."
    if design["enough"] is False and design["width_available"] is not None:
        text += f" The study’s instances reach ± {points(design['width_available'])} points."
    elif design["enough"] is False:
        text += f" The study has no two instances with {counted(design['pairs'], 'pairs')}."
    return text


def points(width: float) -> str:
    """Return half the width of an interval in percentage points."""
    return f"{50 * width:.1f}".removesuffix(".0")


def notes(plan: Mapping[str, Any]) -> list[str]:
    """List the limits of a plan. `plan` is the JSON object without notes."""
    return [*_about_variance(plan), *_about_designs(plan), *_about_costs(plan), *_about_stopping(plan)]


def _about_stopping(plan: Mapping[str, Any]) -> Iterator[str]:
    if rule := plan["stop_rule"]:
        yield (
            f"With the stop rule “decided”, expect {rule['ratings']:,} of {rule['ratings_without']:,} ratings where {rule['rate']:.0%} prefer "
            f"one system, and {rule['ratings_if_equal']:,} where none is better. It decides in {rule['power']:.0%} of such studies."
        )


def component_name(name: str) -> str:
    """Return the name of a variance component in words."""
    return {
        "instance": "instances",
        "pair": "pairs of an instance",
        "rater": "raters of an instance",
        "residual": "single verdicts",
    }[name]


def parts_of(plan: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the variance components of a plan's measure."""
    return ("instance", "rater") if plan["measure"] == "consistency" else ("instance", "pair", "rater", "residual")


def _about_variance(plan: Mapping[str, Any]) -> Iterator[str]:
    variance = plan["variance"]
    components, pilot = variance["components"], variance["pilot"]
    if pilot is None and not variance["assumptions"]["stated"]:
        yield "No two instances have votes yet, so the plan uses default assumptions."
    if pilot is not None and pilot["instances"] < SMALL_PILOT:
        yield (
            f"The pilot has only {pilot['instances']} instance{pluralize(pilot['instances'])}, so its variance is "
            "uncertain: use the cautious number."
        )
    if pilot is not None and pilot["scripted"]:
        yield "The pilot includes votes of programs, whose variance says nothing about people."
    if pilot is not None and pilot["by_separability"]:
        yield "The pilot's instances were chosen by separability or judges’ doubts. A random sample may vary differently."
    if (size := components[0]["cluster_size"]) > 1:
        source = "the pilot's variance" if pilot else "the variance of instances"
        yield f"Instances share sources, {size:.1f} a cluster: the plan takes what they share from {source}."
    for group in components[0]["merged"]:
        yield f"The pilot cannot separate the variance of {_joined(group)}. Other designs may need fewer instances."
    truncated = {name for component in components for name in component["truncated"]}
    if truncated:
        yield f"Estimated below 0 and set to 0: {_joined(sorted(truncated))}. The plan is on the safe side."
    if all(component["total"] == 0 for component in components):
        yield "All votes are alike, so there is no variance to plan from. Rate more pairs first."
    if plan["measure"] == "consistency":
        yield (
            "Consistency depends on the number of pairs: the plan holds for "
            f"{counted(components[0]['pairs'], 'pairs')} only."
        )


def _about_designs(plan: Mapping[str, Any]) -> Iterator[str]:
    needed = [design["instances"] for design in plan["designs"]]
    if any(design["enough"] is False for design in plan["designs"]):
        yield "Some designs need more instances than the study has."
    if any(number is not None and number < SMALL_STUDY for number in needed):
        yield (
            f"Intervals over fewer than {SMALL_STUDY} instances are too narrow: they contain the true value less often "
            "than their level says."
        )
    if plan["finite_population"]:
        yield (
            "The plan treats the study's instances as the whole population. Findings treat them as a sample, so their "
            "intervals are wider."
        )


def _about_costs(plan: Mapping[str, Any]) -> Iterator[str]:
    costs = plan["costs"]
    if costs["pay_per_hit"] is None:
        yield "The pay for a HIT is not set, so designs are compared by the raters' work."
    if costs["judges"] and costs["cost_per_call"] is None:
        yield "The price of a judge's call is not set, so designs are compared by the raters' work."
    if costs["source_share_from"] == "unknown" or (costs["source_share_from"] == "texts" and not costs["source_share"]):
        yield "There are no source texts, so reading them is assumed to take no time."


def _joined(names: Any) -> str:
    return ", ".join(component_name(name) for name in names)


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
