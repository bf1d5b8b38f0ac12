"""The planner's page."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from annotation.core.actions import filled
from annotation.core.counting import counted, percent
from annotation.core.http import attempt
from annotation.members.permissions import READERS, study_view
from annotation.models import Study
from annotation.planning.forms import PlanForm
from annotation.planning.plans import plan
from annotation.planning.text import component_name, parts_of, points
from annotation.studies.presets import batch_defaults

HIGHEST = 2.5  # of the curve's picture, in widths of the interval
NEAR_EDGE = 70  # per cent of the picture, from where a label stands left of its point


@study_view(*READERS)
def planner(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the form and its plan, at first that of the study's own pairs and raters."""
    form = PlanForm(request.GET, study=study)
    if not request.GET:
        values = {
            "pairs": batch_defaults(study).pairs,
            "raters": study.raters_per_hit,
            "configuration": next(iter(form.known), ""),
        }
        form = filled(PlanForm, values, study=study)
    context: dict[str, Any] = {"study": study, "form": form}
    if form.is_valid():
        context |= attempt(form, lambda: _plan_context(plan(study, form.spec))) or {}
    return render(request, "annotation/planning/planner.html", context, status=422 if form.errors else 200)


def _plan_context(plan: dict[str, Any]) -> dict[str, Any]:
    """Return the context of a plan: its designs, the picture of its curve, and the variance components."""
    headline = plan["cheapest_within_study"] or plan["cheapest"]
    for design in plan["designs"]:
        design["is_headline"] = design == headline
        design |= {"interval": _interval(design["width"]), "interval_available": _interval(design["width_available"])}
    currency = plan["costs"]["currency"]
    first = plan["variance"]["components"][0]
    parts = [
        (component_name(name), first[name], percent(first[name] / first["total"] if first["total"] else None, 0))
        for name in parts_of(plan)
    ]
    return {
        "plan": plan,
        "headline": headline,
        "level": percent(plan["level"], 0),
        "curve": _picture(plan, headline) if plan["curve"] else None,
        "parts": [
            *parts,
            (f"one {'rating set' if plan['measure'] == 'consistency' else 'verdict'}", first["total"], ""),
        ],
        "pay_heading": f"Pay ({currency})" if currency else "Pay",
    }


def _interval(width: float | None) -> str:
    return "–" if width is None else f"± {points(width)}"


def _picture(plan: dict[str, Any], design: dict[str, Any]) -> dict[str, Any]:
    """Return the positions of a curve's picture, in per cent of its width and height, as texts."""
    most: int = plan["curve"][-1]["instances"]
    step, highest = _round_step(most), HIGHEST * float(plan["width"])

    def across(instances: float) -> float:
        return 100 * instances / most

    def down(width: float) -> float:
        return 100 * (1 - width / highest)

    line = [
        f"{across(point['instances']):.2f},{down(point['width']):.2f}"
        for point in plan["curve"]
        if point["width"] <= highest
    ]
    marks = [(design["instances"], design["width"], "")]
    available = plan["instances_available"]
    if available and design["width_available"] and available < most and design["width_available"] <= highest:
        marks.append((available, design["width_available"], " in the study"))
    return {
        "line": " ".join(line),
        "grid": [(f"{down(width):.1f}", points(width)) for width in (plan["width"], 2 * plan["width"])],
        "ticks": [(f"{across(number):.1f}", number) for number in range(step, most, step)],
        "marks": [
            {
                "x": f"{across(instances):.1f}",
                "y": f"{down(width):.1f}",
                "label": f"{counted(instances, 'instances')}{where}: ± {points(width)}",
                "is_left": across(instances) > NEAR_EDGE,
            }
            for instances, width, where in marks
        ],
    }


def _round_step(most: int) -> int:
    """Return a step of 1, 2 or 5 times a power of ten, of which at most five fit below a number."""
    power = int(10 ** max(0, len(str(most)) - 2))
    return next(factor * power for factor in (1, 2, 5, 10, 20) if 5 * factor * power >= most)
