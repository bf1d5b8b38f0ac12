"""The ablation page with its charts and downloads, and the form that starts runs."""

import json
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from annotation.core.files.spreadsheet import csv_lines
from annotation.core.http import as_download
from annotation.members.permissions import FORM, POST, READERS, study_view
from annotation.models import Study
from judging.ablation.judges import ablation_judges
from judging.ablation.services import FEWER_CALLS, AblationEstimate, estimate_ablation, queue_ablation
from judging.core.fields import errors_on
from judging.models import JudgeRun
from reporting.ablation import files
from reporting.ablation.charts import by_calls, by_samples
from reporting.ablation.files import grid_has_own_rows, row_name
from reporting.ablation.forms import PART_NAMES, AblationForm
from reporting.ablation.study_ablation import ablation, runs_by_judge
from reporting.core.pictures import Picture, chart_response, picture, theme_of

CONTENT_TYPES = {"json": "application/json", "csv": "text/csv; charset=utf-8"}
PICTURES: dict[str, Any] = {
    "samples": (
        by_samples,
        ["samples"],
        _("Curve for each endpoint: accuracy by the number of tables, with intervals. The numbers are in the table."),
    ),
    "calls": (
        by_calls,
        ["methods", "schemes", "aspects", "budgets", "samples", "grid"],
        _("Points: accuracy of each way of judging by the calls that it takes. The numbers are in the tables."),
    ),
}
OPTIONAL_COLUMNS = ("accuracy", "difference_to_direct", "agreement_with_majority")
WITH_TABLES = ("schemes", "samples", "grid")
ACTIVE = (JudgeRun.Status.QUEUED, JudgeRun.Status.RUNNING)
POLL_SECONDS = 5  # how often the page refreshes active runs


@study_view(*READERS, methods=FORM)
def show(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the ablation; for a posted form, estimate its calls and cost without starting anything."""
    if request.method == "POST":
        form, expected = AblationForm(request.POST, study=study), None
        if form.is_valid():
            with errors_on(form):
                expected = estimate_ablation(form.cleaned_data["ablation"], calls=FEWER_CALLS)
        return _page(request, study, form, expected, status=200 if expected else 422)
    if request.htmx:  # type: ignore[attr-defined]
        return TemplateResponse(request, "reporting/ablation/ablation.html#progress", _progress(study))
    return _page(request, study, AblationForm(study=study))


@study_view(*READERS, methods=POST)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    """Queue a run of each configuration."""
    form = AblationForm(request.POST, study=study)
    if form.is_valid():
        chosen = form.cleaned_data
        with errors_on(form):
            runs = queue_ablation(chosen["ablation"], in_flight=chosen["in_flight"], max_cost=chosen["max_cost"])
            started = ngettext("%(count)d run was created.", "%(count)d runs were created.", len(runs))
            messages.success(request, started % {"count": len(runs)})
            return redirect("reporting:ablation", study.slug)
    return _page(request, study, form, status=422)


@study_view(*READERS)
def download(request: HttpRequest, study: Study, *, form: str) -> HttpResponse:
    """Return the numbers of the page as JSON or CSV."""
    numbers = ablation(study)
    if form == "json":
        content = json.dumps(numbers, ensure_ascii=False, allow_nan=False)
    else:
        content = "".join(csv_lines(files.csv_rows(numbers), files.COLUMNS))
    return as_download(HttpResponse(content, content_type=CONTENT_TYPES[form]), f"{study.slug}-ablation.{form}")


@study_view(*READERS)
def chart(request: HttpRequest, study: Study, *, name: str, form: str) -> HttpResponse:
    """Return a chart; `theme` is light or dark."""
    theme = theme_of(request)
    draw, parts, _alt = PICTURES[name]
    return chart_response(draw(ablation(study, parts=parts, tables=False), theme), form)


def _page(
    request: HttpRequest,
    study: Study,
    form: AblationForm,
    expected: AblationEstimate | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    asked = {"form": form, "expected": expected, "estimate": expected.total if expected else None}
    if request.htmx:  # type: ignore[attr-defined]
        return TemplateResponse(
            request, "reporting/ablation/ablation.html#start", {"study": study, **asked}, status=status
        )
    numbers = ablation(study)
    context = {
        **_progress(study),
        **asked,
        "found": numbers,
        "sections": _sections(numbers),
        "pictures": [_picture(study, name) for name in PICTURES] if any(numbers["parts"].values()) else [],
        "files": list(CONTENT_TYPES),
    }
    return TemplateResponse(request, "reporting/ablation/ablation.html", context, status=status)


def _sections(numbers: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts that have rows; the grid only where it has rows of its own."""
    return [
        {
            "part": part,
            "title": PART_NAMES[part],
            "differing": numbers["differing"].get(part, []),
            "rows": [{**row, "name": row_name(row), "run": _latest(row), "cost": _cost(row)} for row in rows],
            **{f"has_{name}": any(row[name]["value"] is not None for row in rows) for name in OPTIONAL_COLUMNS},
            "has_tables": part in WITH_TABLES and any(row["support"]["n"] for row in rows),
        }
        for part, rows in numbers["parts"].items()
        if rows and (part != "grid" or grid_has_own_rows(numbers))
    ]


def _cost(row: dict[str, Any]) -> Decimal | None:
    value = row["cost_per_verdict"]["value"]
    return None if value is None else Decimal(str(value))


def _latest(row: dict[str, Any]) -> int | None:
    runs = row["status"]["runs"]
    return runs[-1]["run"] if runs else None


def _progress(study: Study) -> dict[str, Any]:
    """Return the progress of the runs, those that are not done first."""
    runs = runs_by_judge(study)
    rows: list[dict[str, Any]] = [
        {"judge": judge, "run": run, "state": JudgeRun.Status(run["status"]).label}
        for judge, _configuration in ablation_judges(study)
        for run in runs.get(judge.name, [])
    ]
    rows.sort(key=lambda row: (row["run"]["status"] == JudgeRun.Status.DONE, row["run"]["run"]))
    return {
        "study": study,
        "runs": rows,
        "done": sum(row["run"]["status"] == JudgeRun.Status.DONE for row in rows),
        "active": any(row["run"]["status"] in ACTIVE for row in rows),
        "every": POLL_SECONDS,
    }


def _picture(study: Study, name: str) -> Picture:
    def address(form: str, **query: str) -> str:
        path = reverse("reporting:ablation-chart", kwargs={"slug": study.slug, "name": name, "form": form})
        return f"{path}?{urlencode(query)}" if query else path

    return picture(PICTURES[name][2], address)
