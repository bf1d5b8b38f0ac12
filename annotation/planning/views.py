"""The planner's page."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from annotation.core.http import attempt
from annotation.core.percentages import percent
from annotation.members.permissions import READERS, study_view
from annotation.models import Study
from annotation.planning.forms import PlanForm
from annotation.planning.notes import component_name, parts_of
from annotation.planning.plans import plan


@study_view(*READERS)
def planner(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the form, and the plan if the URL has parameters."""
    form = PlanForm(request.GET if "width" in request.GET else None, study=study)
    context: dict[str, Any] = {"study": study, "form": form}
    if form.is_valid():
        context |= attempt(form, lambda: _plan_context(plan(study, form.spec))) or {}
    return render(request, "annotation/planning/planner.html", context, status=422 if form.errors else 200)


def _plan_context(plan: dict[str, Any]) -> dict[str, Any]:
    """Return the context of a plan: a grid of the instances needed, and the variance components."""
    rows: dict[int, list[dict[str, Any]]] = {}
    for design in plan["designs"]:
        design["is_cheapest"] = _same(design, plan["cheapest"])
        design["is_cheapest_here"] = _same(design, plan["cheapest_within_study"])
        rows.setdefault(design["pairs"], []).append(design)
    currency = plan["costs"]["currency"]
    first = plan["variance"]["components"][0]
    parts = [
        (component_name(name), first[name], percent(first[name] / first["total"] if first["total"] else None, 0))
        for name in parts_of(plan)
    ]
    return {
        "plan": plan,
        "rows": rows,
        "parts": [
            *parts,
            (f"one {'rating set' if plan['measure'] == 'consistency' else 'verdict'}", first["total"], ""),
        ],
        "pay_heading": f"Pay ({currency})" if currency else "Pay",
    }


def _same(design: dict[str, Any], reference: dict[str, Any] | None) -> bool:
    return reference is not None and (design["pairs"], design["raters"]) == (reference["pairs"], reference["raters"])
