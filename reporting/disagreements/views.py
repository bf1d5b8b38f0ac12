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
from reporting.disagreements.all_pairs import JUDGE, PEOPLE, REVISED
from reporting.disagreements.choosing import PageFilters, asked_of, chosen, sizes
from reporting.disagreements.opened import opened
from reporting.disagreements.pair_table import PairTable
from reporting.disagreements.reading import read_table
from reporting.findings.data.asked import judge_names, query_of
from reporting.findings.data.selection import selection_of

A_PAGE = 20
KINDS = {
    JUDGE: "A judge against the people’s majority",
    PEOPLE: "People among themselves",
    REVISED: "Before and after the second stage",
}


@study_view(*READERS)
def show(request: HttpRequest, study: Study) -> HttpResponse:
    """List the pairs on which raters disagree, each with its texts, votes and rationales."""
    asked = asked_of(study, request.GET)
    table = read_table(study, asked.filters)
    apart = sizes(table, asked)
    page = Paginator(chosen(table, asked, apart).tolist(), A_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "asked": asked,
        "kinds": [(name, label) for name, label in KINDS.items() if name != REVISED or study.is_two_stage],
        "datasets": sorted({one.dataset for one in table.configurations}),
        "systems": sorted({name for one in table.configurations for name in one.systems}),
        "chosen_datasets": _one_or_several(asked.datasets),
        "several_datasets": len(asked.datasets) > 1,
        "chosen_systems": (*asked.systems, "", "")[:2],
        "chosen_raters": asked.raters or ("",),
        "judges": judge_names(study),
        "chosen_judges": _one_or_several(asked.filters.judges or ()),
        "several_judges": len(asked.filters.judges or ()) > 1,
        "other_filters": parse_qsl(query_of(replace(asked.filters, judges=None))),
        "selection": selection_of(replace(asked.filters, judges=None).as_json()),
        "bins": _bin_names(table.bins),
        "page": page,
        "rows": rows_of(study, asked, table, apart, list(page)),
        "query": asked.query(),
        "question": question_choice(
            study,
            asked.filters.question,
            lambda one: replace(asked, filters=replace(asked.filters, question=one)).query() or "question=",
        ),
    }
    return TemplateResponse(request, "reporting/disagreements/disagreements.html", context)


def _one_or_several(chosen: Sequence[str]) -> str | Sequence[str]:
    """Return what a filter's row marks as chosen: a list can be chosen in an address only."""
    return chosen if len(chosen) > 1 else "".join(chosen)


def _bin_names(bins: int) -> list[tuple[int, str]]:
    ends = {1: ", the least separable", bins: ", the most separable"}
    return [(number, f"bin {number}{ends.get(number, '')}") for number in range(1, 1 + bins)]


def rows_of(
    study: Study, asked: PageFilters, table: PairTable, apart: dict[str, FloatArray], rows: Sequence[int]
) -> list[dict[str, Any]]:
    """Return what the page shows of each pair."""
    filters = asked.filters
    places = [
        (table.configurations[table.configuration[row]], int(table.instance[row]), int(table.index[row]))
        for row in rows
    ]
    found = opened(study, places, question=filters.question_number, batches=filters.batches, judges=filters.judges)
    counts = table.counts[list(rows)].astype(int).tolist()
    return [
        {
            "opened": one,
            "votes": count,
            "separability": _bin(table, row),
            "kinds": [KINDS[kind] for kind, size in apart.items() if size[row] > 0],
            "size": max(float(size[row]) for size in apart.values()),
            "judges": {
                name: table.judges[f"judge:{name}"][row] for name in one.judges if f"judge:{name}" in table.judges
            },
        }
        for one, count, row in zip(found, counts, rows, strict=True)
        if one is not None
    ]


def _bin(table: PairTable, row: int) -> tuple[float, float] | None:
    """Return the edges of a pair's separability bin."""
    place, edges = int(table.bin[row]), table.configurations[table.configuration[row]].edges
    return (edges[place], edges[place + 1]) if place >= 0 else None
