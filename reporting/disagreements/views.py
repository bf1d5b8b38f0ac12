"""The page of disagreements."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from analysis.types import FloatArray
from annotation.members.permissions import READERS, study_view
from annotation.models import Study
from reporting.core.questions import question_choice
from reporting.disagreements.choosing import PageFilters, asked_of, chosen, read_table, sizes
from reporting.disagreements.opened import opened
from reporting.disagreements.pair_table import JUDGE, PEOPLE, REVISED, PairTable
from reporting.findings.data.asked import judge_names, query_of, selection_of

A_PAGE = 20
KINDS = {
    JUDGE: "A judge and the majority of people",
    PEOPLE: "People with each other",
    REVISED: "Before and after the second stage",
}


@study_view(*READERS)
def show(request: HttpRequest, study: Study) -> HttpResponse:
    """List the pairs on which raters disagree, each with its texts, votes and rationales."""
    page_filters = asked_of(study, request.GET)
    table = read_table(study, page_filters.filters)
    distances = sizes(table, page_filters)
    page = Paginator(chosen(table, page_filters, distances).tolist(), A_PAGE).get_page(request.GET.get("page"))
    ends = {1: ", the least separable", table.bins: ", the most separable"}
    context = {
        "study": study,
        "asked": page_filters,
        "kinds": [(name, label) for name, label in KINDS.items() if name != REVISED or study.is_two_stage],
        "datasets": sorted({item.dataset for item in table.configurations}),
        "systems": sorted({name for item in table.configurations for name in item.systems}),
        "chosen_datasets": _one_or_several(page_filters.datasets),
        "several_datasets": len(page_filters.datasets) > 1,
        "chosen_systems": (*page_filters.systems, "", "")[:2],
        "chosen_raters": page_filters.raters or ("",),
        "judges": judge_names(study),
        "chosen_judges": _one_or_several(page_filters.filters.judges or ()),
        "several_judges": len(page_filters.filters.judges or ()) > 1,
        "other_filters": parse_qsl(query_of(replace(page_filters.filters, judges=None))),
        "selection": selection_of(replace(page_filters.filters, judges=None).as_json()),
        "bins": [(number, f"bin {number}{ends.get(number, '')}") for number in range(1, 1 + table.bins)],
        "page": page,
        "rows": rows_of(study, page_filters, table, distances, list(page)),
        "query": page_filters.query(),
        "question": question_choice(
            study,
            page_filters.filters.question,
            lambda item: (
                replace(page_filters, filters=replace(page_filters.filters, question=item)).query() or "question="
            ),
        ),
    }
    return TemplateResponse(request, "reporting/disagreements/disagreements.html", context)


def _one_or_several(names: Sequence[str]) -> str | Sequence[str]:
    """Return what a filter's row marks as chosen: a list can be chosen in an address only."""
    return names if len(names) > 1 else "".join(names)


def rows_of(
    study: Study, page_filters: PageFilters, table: PairTable, distances: dict[str, FloatArray], rows: Sequence[int]
) -> list[dict[str, Any]]:
    """Return what the page shows of each pair."""
    filters = page_filters.filters
    positions = [
        (table.configurations[table.configuration[row]], int(table.instance[row]), int(table.index[row]))
        for row in rows
    ]
    pairs = opened(study, positions, question=filters.question_number, batches=filters.batches, judges=filters.judges)
    counts = table.counts[list(rows)].astype(int).tolist()
    return [
        {
            "opened": opened_pair,
            "votes": count,
            "separability": _bin(table, row),
            "sizes": [(KINDS[kind], float(size[row])) for kind, size in distances.items() if size[row] > 0],
            "judges": {
                name: table.judges[f"judge:{name}"][row]
                for name in opened_pair.judges
                if f"judge:{name}" in table.judges
            },
        }
        for opened_pair, count, row in zip(pairs, counts, rows, strict=True)
        if opened_pair is not None
    ]


def _bin(table: PairTable, row: int) -> tuple[float, float] | None:
    """Return the edges of a pair's separability bin."""
    index, edges = int(table.bin[row]), table.configurations[table.configuration[row]].edges
    return (edges[index], edges[index + 1]) if index >= 0 else None
