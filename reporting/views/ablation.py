"""Ways of judging side by side: the page with its tables and pictures, and asking for more of them."""

import json
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import READERS, study_view
from annotation.errors import UnknownName
from annotation.formats.spreadsheet import csv_lines
from annotation.models import Study
from judging.errors import JudgingError
from judging.models import JudgeRun
from judging.rounds import ablation_judges
from judging.services.ablation import FEWER_CALLS, Expected, expect, queue_ablation
from reporting import ablation_tables
from reporting.ablation import ablation, runs_by_judge
from reporting.ablation_charts import by_calls, by_samples
from reporting.ablation_form import PART_NAMES, AblationForm
from reporting.ablation_tables import is_more_than_the_others, name_of
from reporting.charts import to_png, to_svg
from reporting.themes import THEMES

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
SHOWN_WHERE_KNOWN = ("accuracy", "difference_to_direct", "agreement_with_majority")
WITH_TABLES = ("schemes", "samples", "grid")
UNDER_WAY = (JudgeRun.Status.QUEUED, JudgeRun.Status.RUNNING)
SECONDS = 5  # between two looks at runs that are under way


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(*READERS)
def show(request: HttpRequest, study: Study) -> HttpResponse:
    """Show what is there; of a form that is sent, say what it would take. Nothing is made and nobody is asked."""
    if request.method == "POST":
        form, expected = AblationForm(request.POST, study=study), None
        if form.is_valid():
            try:
                expected = expect(form.cleaned_data["ablation"], calls=FEWER_CALLS)
            except (JudgingError, UnknownName) as error:
                form.add_error(None, str(error))
        return _page(request, study, form, expected, status=200 if expected else 422)
    if request.htmx:  # type: ignore[attr-defined]
        return TemplateResponse(request, "reporting/ablation.html#progress", _progress(study))
    return _page(request, study, AblationForm(study=study))


@require_POST
@study_view(*READERS)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    """Start a run of each configuration; workers do the work."""
    form = AblationForm(request.POST, study=study)
    if form.is_valid():
        chosen = form.cleaned_data
        try:
            runs = queue_ablation(chosen["ablation"], in_flight=chosen["in_flight"], max_cost=chosen["max_cost"])
        except (JudgingError, UnknownName) as error:
            form.add_error(None, str(error))
        else:
            told = ngettext("%(count)d run is there now.", "%(count)d runs are there now.", len(runs))
            messages.success(request, told % {"count": len(runs)})
            return redirect("reporting:ablation", study.slug)
    return _page(request, study, form, status=422)


@require_safe
@study_view(*READERS)
def download(request: HttpRequest, study: Study, *, form: str) -> HttpResponse:
    """Send the numbers that the page shows."""
    found = ablation(study)
    if form == "json":
        content = json.dumps(found, ensure_ascii=False, allow_nan=False)
    else:
        content = "".join(csv_lines(ablation_tables.csv_rows(found), ablation_tables.COLUMNS))
    response = HttpResponse(content, content_type=CONTENT_TYPES[form])
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-ablation.{form}"'
    response["Cache-Control"] = "private, no-store"
    return response


@require_safe
@study_view(*READERS)
def chart(request: HttpRequest, study: Study, *, name: str, form: str) -> HttpResponse:
    """Draw a picture; `theme` is light or dark."""
    theme = request.GET.get("theme", "light")
    if theme not in THEMES or name not in PICTURES:
        raise Http404(f"no picture {name} in {theme}")
    draw, parts, _alt = PICTURES[name]
    spec = draw(ablation(study, parts=parts, tables=False), theme)
    if form == "png":
        response = HttpResponse(to_png(spec), content_type="image/png")
    else:
        response = HttpResponse(to_svg(spec), content_type="image/svg+xml")
    # Even when opened by itself the picture may run, load and link to nothing.
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-cache"
    return response


def _page(
    request: HttpRequest, study: Study, form: AblationForm, expected: Expected | None = None, *, status: int = 200
) -> HttpResponse:
    asked = {"form": form, "expected": expected, "estimate": expected.total if expected else None}
    if request.htmx:  # type: ignore[attr-defined]
        return TemplateResponse(request, "reporting/ablation.html#start", {"study": study, **asked}, status=status)
    found = ablation(study)
    context = {
        **_progress(study),
        **asked,
        "found": found,
        "sections": _sections(found),
        "pictures": [_picture(study, name) for name in PICTURES] if any(found["parts"].values()) else [],
        "files": list(CONTENT_TYPES),
    }
    return TemplateResponse(request, "reporting/ablation.html", context, status=status)


def _sections(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts that have rows; the grid where it holds more than the others."""
    return [
        {
            "part": part,
            "title": PART_NAMES[part],
            "differing": found["differing"].get(part, []),
            "rows": [{**row, "name": name_of(row), "run": _latest(row), "cost": _cost(row)} for row in rows],
            **{f"has_{name}": any(row[name]["value"] is not None for row in rows) for name in SHOWN_WHERE_KNOWN},
            "has_tables": part in WITH_TABLES and any(row["support"]["n"] for row in rows),
        }
        for part, rows in found["parts"].items()
        if rows and (part != "grid" or is_more_than_the_others(found))
    ]


def _cost(row: dict[str, Any]) -> Decimal | None:
    value = row["cost_per_verdict"]["value"]
    return None if value is None else Decimal(str(value))


def _latest(row: dict[str, Any]) -> int | None:
    runs = row["status"]["runs"]
    return runs[-1]["run"] if runs else None


def _progress(study: Study) -> dict[str, Any]:
    """Return how far the runs are, those that are not done first."""
    runs = runs_by_judge(study)
    rows: list[dict[str, Any]] = [
        {"judge": judge, "run": run, "state": JudgeRun.Status(run["status"]).label}
        for judge, _configuration in ablation_judges(study)
        for run in runs.get(judge.pk, [])
    ]
    rows.sort(key=lambda row: (row["run"]["status"] == JudgeRun.Status.DONE, row["run"]["run"]))
    return {
        "study": study,
        "runs": rows,
        "done": sum(row["run"]["status"] == JudgeRun.Status.DONE for row in rows),
        "active": any(row["run"]["status"] in UNDER_WAY for row in rows),
        "every": SECONDS,
    }


def _picture(study: Study, name: str) -> dict[str, str]:
    def address(form: str) -> str:
        return reverse("reporting:ablation-chart", kwargs={"slug": study.slug, "name": name, "form": form})

    themes = {theme: f"{address('svg')}?theme={theme}" for theme in THEMES}
    return {"alt": str(PICTURES[name][2]), **themes, "png": address("png")}
