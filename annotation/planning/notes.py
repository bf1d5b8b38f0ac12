"""Notes on a plan's limits."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.template.defaultfilters import pluralize

from annotation.core.counting import counted

SMALL_PILOT = 30
SMALL_STUDY = 20  # below it, bootstrap intervals are too narrow by more than 2.5 %: √(n / (n - 1))


def notes(plan: Mapping[str, Any]) -> list[str]:
    """List the limits of a plan. `plan` is the JSON object without notes."""
    return [*_about_variance(plan), *_about_designs(plan), *_about_costs(plan)]


def component_name(name: str) -> str:
    """Return the translated name of a variance component."""
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
        yield "There are no votes on two instances to estimate from: the plan rests on default assumptions."
    if pilot is not None and pilot["instances"] < SMALL_PILOT:
        yield (
            f"The pilot has only {pilot['instances']} instance{pluralize(pilot['instances'])}, so its variance is "
            "itself a guess: look at the cautious number."
        )
    if pilot is not None and pilot["scripted"]:
        yield "The pilot includes votes of scripted raters: programs, whose variance says nothing about people."
    if pilot is not None and pilot["by_separability"]:
        yield "The pilot's instances were chosen by separability: those of a random sample may vary otherwise."
    for group in components[0]["merged"]:
        yield f"The pilot can't tell apart what comes from {_joined(group)}. Designs unlike it may need fewer instances."
    truncated = {name for component in components for name in component["truncated"]}
    if truncated:
        yield f"Estimated below 0 and taken as 0: {_joined(sorted(truncated))}. The plan errs on the safe side."
    if all(component["total"] == 0 for component in components):
        yield "All values are alike, so there is no variance to plan from. Two instances is no advice: rate more first."
    if plan["measure"] == "consistency":
        yield (
            "Consistency depends on the number of pairs: the plan holds for "
            f"{counted(components[0]['pairs'], 'pairs')} and no other number."
        )


def _about_designs(plan: Mapping[str, Any]) -> Iterator[str]:
    needed = [design["instances"] for design in plan["designs"]]
    if any(design["enough"] is False for design in plan["designs"]):
        yield "Some designs need more instances than the study has with so many pairs."
    if any(number is not None and number < SMALL_STUDY for number in needed):
        yield (
            f"Intervals over fewer than {SMALL_STUDY} instances come out too narrow, and hold the true value less "
            "often than they say."
        )
    if plan["finite_population"]:
        yield (
            "The study's instances are taken as all there are. The intervals that findings show take them as a sample "
            "of more, and are wider."
        )


def _about_costs(plan: Mapping[str, Any]) -> Iterator[str]:
    costs = plan["costs"]
    if costs["pay_per_hit"] is None:
        yield "The pay for a HIT is not known, so designs are compared by the raters' work."
    if costs["judges"] and costs["cost_per_call"] is None:
        yield "The price of a judge's call is not known, so designs are compared by the raters' work."
    if costs["source_share_from"] == "unknown" or (costs["source_share_from"] == "texts" and not costs["source_share"]):
        yield "No source texts are known, so reading them is taken to cost nothing."


def _joined(names: Any) -> str:
    return ", ".join(component_name(name) for name in names)
