"""The leaderboard's page, and the same as JSON and CSV."""

import json
from dataclasses import replace

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from annotation.core.files.spreadsheet import csv_lines
from annotation.core.http import as_download, is_htmx
from annotation.members.permissions import READERS, study_view
from annotation.models import Study
from reporting.core.questions import question_choice
from reporting.core.text import rater_name
from reporting.findings.answer.answer_text import TEXTS
from reporting.findings.data.asked import filters_of, query_of, selection_of
from reporting.findings.data.inputs import Filters
from reporting.findings.page import figure_of
from reporting.findings.sections.rankings import rankings_section
from reporting.findings.snapshots import snapshot_of
from reporting.findings.views import later, snapshot_context, snapshot_news
from reporting.leaderboard.leaderboard import COLUMNS, as_rows, leaderboard
from reporting.leaderboard.text import by_dataset_table, next_text, ranks_by_rater

PICTURES = ("preferences", "win-matrix", "ratings")


@study_view(*READERS)
def show(request: HttpRequest, study: Study) -> HttpResponse:
    """Show ranks with intervals, and the votes needed to settle the next place. htmx asks for newer findings."""
    filters = filters_of(study, request.GET)
    snapshot = snapshot_of(study, filters)
    snapshot_of_findings = snapshot_context(request, study, filters, snapshot)
    if is_htmx(request):
        return snapshot_news(request, snapshot_of_findings)
    numbers = snapshot.numbers
    if numbers is None:
        return TemplateResponse(request, "reporting/findings/being_computed.html", snapshot_of_findings)
    leaders = leaderboard(study, filters, numbers)
    sections = {item["rater"]: item for item in rankings_section(numbers)["raters"]}
    context = {
        **snapshot_of_findings,
        "raters": [
            {
                **sections[item["rater"]],
                "next": "" if rater_name(item["rater"]) in numbers.get("baselines", ()) else next_text(item),
                "by_dataset": by_dataset_table(at, item, leaders["datasets"]),
            }
            for at, item in enumerate(leaders["raters"])
            if item["rater"] in sections  # without votes there is no rank
        ],
        "side_by_side": ranks_by_rater(leaders["raters"]),
        "figures": [figure_of(study, name, numbers, filters) for name in PICTURES],
        "slices": _slices(study, filters),
        "files": ("csv", "json"),
        "scripted": numbers["pooled"].get("scripted"),
        "collecting": numbers.get("horizon") and TEXTS["collecting"],
        "selection": selection_of(numbers["filters"]),
        "question": question_choice(
            study, filters.question, lambda item: query_of(replace(filters, question=item)) or "question="
        ),
    }
    return TemplateResponse(request, "reporting/leaderboard/leaderboard.html", context)


@study_view(*READERS)
def download(request: HttpRequest, study: Study, *, form: str) -> HttpResponse:
    """Return the numbers of the page."""
    filters = filters_of(study, request.GET)
    numbers = snapshot_of(study, filters).numbers
    if numbers is None:
        return later()
    leaders = leaderboard(study, filters, numbers)
    if form == "json":
        response = HttpResponse(
            json.dumps(leaders, ensure_ascii=False, allow_nan=False), content_type="application/json"
        )
    else:
        response = HttpResponse("".join(csv_lines(as_rows(leaders), COLUMNS)), content_type="text/csv; charset=utf-8")
    return as_download(response, f"{study.slug}-leaderboard.{form}")


def _slices(study: Study, filters: Filters) -> list[tuple[str, str, bool]]:
    """Return (data set or nothing for all, query, whether it is shown), where there are several."""
    names = list(study.instances.order_by("dataset").values_list("dataset", flat=True).distinct())
    if len(names) < 2:
        return []
    return [
        (name or "All data sets", query_of(replace(filters, datasets=datasets)), filters.datasets == datasets)
        for name, datasets in [("", None), *((name, (name,)) for name in names)]
    ]
