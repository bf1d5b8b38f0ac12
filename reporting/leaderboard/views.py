"""The leaderboard's page, and the same as JSON and CSV."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import pluralize
from django.template.response import TemplateResponse

from annotation.core.counting import fixed, number_of, rounded_up
from annotation.core.files.spreadsheet import csv_lines
from annotation.core.http import as_download, is_htmx
from annotation.core.tables import Cell, DataTable, Row
from annotation.members.permissions import READERS, study_view
from annotation.models import Study
from reporting.core.questions import question_choice
from reporting.core.text import rater_name
from reporting.findings.answer.answer_text import TEXTS
from reporting.findings.data.asked import filters_of, query_of, selection_of
from reporting.findings.data.inputs import Filters
from reporting.findings.page import figure_of
from reporting.findings.sections.rankings import MOST_BESIDE, rank_text, rankings_section
from reporting.findings.snapshots import snapshot_of
from reporting.findings.views import later, snapshot_context, snapshot_news
from reporting.leaderboard.leaderboard import COLUMNS, as_rows, leaderboard

Leaderboard = Mapping[str, Any]
MOST_NAMED = 4


def by_dataset_table(at: int, of_rater: Leaderboard, datasets: Sequence[Leaderboard]) -> DataTable | None:
    """Return the ranks in each data set side by side, or None for a single one."""
    if not datasets:
        return None
    columns: list[dict[str, str] | None] = []
    for data_set in datasets:
        own = next((ranked for ranked in data_set["raters"] or () if ranked["rater"] == of_rater["rater"]), None)
        columns.append(own and {row["system"]: rank_text(row[own["measure"]]) for row in own["systems"]})
    waiting = [data_set["raters"] is None for data_set in datasets]
    rows: list[Row] = [
        (
            (row["system"],),
            [
                "being computed" if waits else (column or {}).get(row["system"])
                for column, waits in zip(columns, waiting, strict=True)
            ],
        )
        for row in of_rater["systems"]
    ]
    caption = f"Ranks by data set with {rater_name(of_rater['rater'])}"
    return DataTable(f"datasets-{at}", caption, ["System", *(data_set["dataset"] for data_set in datasets)], rows)


def ranks_by_rater(raters: Sequence[Leaderboard]) -> DataTable | None:
    """Return each system's rank by the first raters side by side, and how far others move it, or None for a single rater."""
    listed = [rater for rater in raters if any(row[rater["measure"]]["rank"] for row in rater["systems"])][:MOST_BESIDE]
    if len(listed) < 2:
        return None
    first, *others = [{row["system"]: row[rater["measure"]]["rank"] for row in rater["systems"]} for rater in listed]
    rows: list[Row] = [
        (
            (system,),
            [rank, *(value for ranks in others for value in (ranks.get(system), _moved(rank, ranks.get(system))))],
        )
        for system, rank in first.items()
    ]
    name, *names = [rater_name(rater["rater"]) for rater in listed]
    columns = ["System", name, *(column for other in names for column in (other, "Change"))]
    more = len(raters) - len(listed)
    caption = f"Ranks side by side; change: places up (+) or down from the rank by {name}"
    return DataTable(
        "ranks-by-rater", caption + (f"; {more} more below" if more else ""), columns, rows, most=len(rows)
    )


def _moved(rank: int | None, other: int | None) -> Cell | None:
    if rank is None or other is None:
        return None
    return Cell(fixed(rank - other, 0, signed=rank != other), {"class": "num", "data-value": rank - other})


def _names(names: Sequence[str]) -> str:
    """List the first names."""
    more = len(names) - MOST_NAMED
    listed = ", ".join(names[:MOST_NAMED])
    if more <= 0:
        return listed
    return f"{listed} and {more} other{pluralize(more)}"


def next_text(of_rater: Leaderboard) -> str:
    """Say how many places are settled, and how many more comparisons would settle the next one."""
    next_place = of_rater["next_place"]
    if next_place is None:
        return ""
    if next_place["place"] is None:
        return "Every place is settled." if next_place["more"] == 0 else f"No place is settled: {next_place['why']}."
    open_ = (
        f"Place {next_place['place']} is the next to be settled: {next_place['system']} is not shown to be better than "
        f"{_names(next_place['others'])}."
    )
    if next_place["more"] is None:
        return f"{open_} How many more comparisons this takes is unknown: {next_place['why']}."
    return (
        f"{open_} About {number_of(rounded_up(next_place['more']), 'further comparison')}, spread like the "
        f"{next_place['comparisons']} so far, would settle it with a chance of {next_place['chance']:.0%}, if differences stay."
    )


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
