"""Notes on a plan's limits."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.core.units import counted

SMALL_PILOT = 30
SMALL_STUDY = 20  # below it, bootstrap intervals are too narrow by more than 2.5 %: √(n / (n - 1))


def notes(plan: Mapping[str, Any]) -> list[str]:
    """List the limits of a plan; `plan` is the JSON object without notes."""
    return [*_about_variance(plan), *_about_designs(plan), *_about_costs(plan)]


def component_name(name: str) -> str:
    """Return the translated name of a variance component."""
    return {
        "instance": _("instances"),
        "pair": _("pairs of an instance"),
        "rater": _("raters of an instance"),
        "residual": _("single verdicts"),
    }[name]


def parts_of(plan: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the variance components of a plan's measure."""
    return ("instance", "rater") if plan["measure"] == "consistency" else ("instance", "pair", "rater", "residual")


def _about_variance(plan: Mapping[str, Any]) -> Iterator[str]:
    variance = plan["variance"]
    components, pilot = variance["components"], variance["pilot"]
    if pilot is None and not variance["assumptions"]["stated"]:
        yield _("There are no votes on two instances to estimate from: the plan rests on default assumptions.")
    if pilot is not None and pilot["instances"] < SMALL_PILOT:
        yield ngettext(
            "The pilot has only %(count)d instance, so its variance is itself a guess: look at the cautious number.",
            "The pilot has only %(count)d instances, so its variance is itself a guess: look at the cautious number.",
            pilot["instances"],
        ) % {"count": pilot["instances"]}
    if pilot is not None and pilot["scripted"]:
        yield _("The pilot includes votes of scripted raters: programs, whose variance says nothing about people.")
    if pilot is not None and pilot["by_separability"]:
        yield _("The pilot's instances were chosen by separability: those of a random sample may vary otherwise.")
    for group in components[0]["merged"]:
        yield _("The pilot can't tell apart what comes from %(names)s. Designs unlike it may need fewer instances.") % {
            "names": _joined(group)
        }
    below = {name for one in components for name in one["truncated"]}
    if below:
        yield _("Estimated below 0 and taken as 0: %(names)s. The plan errs on the safe side.") % {
            "names": _joined(sorted(below))
        }
    if all(one["total"] == 0 for one in components):
        yield _(
            "All values are alike, so there is no variance to plan from. Two instances is no advice: rate more first."
        )
    if plan["measure"] == "consistency":
        yield _("Consistency depends on the number of pairs: the plan holds for %(pairs)s and no other number.") % {
            "pairs": counted(components[0]["pairs"], "pairs")
        }


def _about_designs(plan: Mapping[str, Any]) -> Iterator[str]:
    needed = [design["instances"] for design in plan["designs"]]
    if any(design["enough"] is False for design in plan["designs"]):
        yield _("Some designs need more instances than the study has with so many pairs.")
    if any(number is not None and number < SMALL_STUDY for number in needed):
        yield _(
            "Intervals over fewer than %(count)d instances come out too narrow, and hold the true value less often "
            "than they say."
        ) % {"count": SMALL_STUDY}
    if plan["finite_population"]:
        yield _(
            "The study's instances are taken as all there are. The intervals that findings show take them as a sample "
            "of more, and are wider."
        )


def _about_costs(plan: Mapping[str, Any]) -> Iterator[str]:
    costs = plan["costs"]
    if costs["pay_per_hit"] is None:
        yield _("The pay for a HIT is not known, so designs are compared by the raters' work.")
    if costs["judges"] and costs["cost_per_call"] is None:
        yield _("The price of a judge's call is not known, so designs are compared by the raters' work.")
    if costs["source_share_from"] == "unknown" or (costs["source_share_from"] == "texts" and not costs["source_share"]):
        yield _("No source texts are known, so reading them is taken to cost nothing.")


def _joined(names: Any) -> str:
    return ", ".join(component_name(name) for name in names)
