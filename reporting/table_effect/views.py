"""The page on the effect of comparison tables, its chart, and its numbers as JSON."""

from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html

from annotation.core.counting import counted
from annotation.members.permissions import READERS, study_view
from annotation.models import Study
from annotation.studies.configurations import configurations
from reporting.core.charts import Spec, column_spec, empty_chart
from reporting.core.pictures import chart_response, picture, theme_of, width_of
from reporting.findings.charts.dots import dot_rows, point
from reporting.findings.data.reading import is_collecting
from reporting.table_effect.arrays import TableEffectFilters
from reporting.table_effect.effects import effect_of
from reporting.table_effect.reading import second_votes, table_effect
from reporting.table_effect.reasons import reasons_at, reasons_in

REASONS_PER_PAGE = 50
ALL_ARMS = "@all"  # cannot be the name of an arm
CHANGES = {
    "wrong_to_right": "wrong → right",
    "tie_to_right": "tie → right",
    "wrong_to_tie": "wrong → tie",
    "right_to_tie": "right → tie",
    "tie_to_wrong": "tie → wrong",
    "right_to_wrong": "right → wrong",
    "wrong_to_wrong": "wrong → wrong, the other way",
    "unchanged": "unchanged",
}
MOVES = {
    "kept": "kept",
    "reversed": "A → B or B → A",
    "to_tie": "to a tie",
    "from_tie": "from a tie",
}
PICTURE_ALT = "Points with intervals: the mean before and after, for each arm. The numbers are in the table below."


@study_view(*READERS)
def show(request: HttpRequest, study: Study) -> HttpResponse:
    """Show votes before and after the second stage by arm, and the reasons."""
    filters, arm = filters_of(request.GET), request.GET.get("arm", ALL_ARMS)
    votes = second_votes(study, filters)
    numbers = effect_of(study.slug, votes, filters, is_two_stage=study.is_two_stage)
    positions = reasons_in(votes, None if arm == ALL_ARMS else arm)
    page = Paginator(positions.tolist(), REASONS_PER_PAGE).get_page(request.GET.get("page"))
    existing = configurations(study, checks=False)
    context = {
        "study": study,
        "found": numbers,
        "query": query_of(filters),
        "changes": _changes(numbers["arms"]),
        "moves": _moves(numbers["arms"]),
        "has_gold": any(arm["with_gold"] for arm in numbers["arms"]),
        "picture": _picture(study, filters),
        "left_out": {name.replace("_", " "): count for name, count in numbers["excluded"].items() if count},
        "collecting": is_collecting(study, None),
        "page": page,
        "reasons": [(item, CHANGES.get(item.change or "")) for item in reasons_at(votes, list(page))],
        "reason_arms": _reason_arms(numbers, filters, arm),
        "reason_query": query_of(filters, **({} if arm == ALL_ARMS else {"arm": arm})),
        "datasets": sorted({item.dataset for item in existing}),
        "systems": sorted({name for item in existing for name in (item.system_a.name, item.system_b.name)}),
        "batches": list(study.batches.for_rating().values_list("name", flat=True)),
    }
    return TemplateResponse(request, "reporting/table_effect/table_effect.html", context)


@study_view(*READERS)
def as_json(request: HttpRequest, study: Study) -> JsonResponse:
    """Return the numbers of the page."""
    numbers = table_effect(study, filters_of(request.GET))
    return JsonResponse(numbers, json_dumps_params={"ensure_ascii": False, "allow_nan": False})


@study_view(*READERS)
def chart(request: HttpRequest, study: Study, *, form: str) -> HttpResponse:
    """Return the chart, its data or its specification. `theme` is light or dark."""
    spec = before_and_after(table_effect(study, filters_of(request.GET)), theme_of(request))
    return chart_response(spec, form, width_of(request))


def filters_of(query: QueryDict) -> TableEffectFilters:
    """Read `dataset`, `system` (once or twice) and `batch` (repeated)."""
    systems, batches = (
        tuple(dict.fromkeys(item for item in query.getlist(name) if item)) for name in ("system", "batch")
    )
    return TableEffectFilters(query.get("dataset", ""), systems, batches or None)


def query_of(filters: TableEffectFilters, **more: str) -> str:
    """Encode filters, and further parameters, as a URL query."""
    query = list(more.items())
    if filters.dataset:
        query.append(("dataset", filters.dataset))
    query += [("system", name) for name in filters.systems]
    query += [("batch", name) for name in filters.batches or ()]
    return urlencode(query)


def _picture(study: Study, filters: TableEffectFilters) -> dict[str, Any]:
    def address(form: str, **more: str) -> str:
        path = reverse("reporting:table-effect-chart", kwargs={"slug": study.slug, "form": form})
        return f"{path}?{query_of(filters, **more)}"

    return picture(PICTURE_ALT, address)


def _changes(arms: list[dict[str, Any]]) -> list[tuple[str, list[tuple[str, Any]]]]:
    """Return each kind of change with its count and share in every arm, or none without gold labels."""
    if not any(arm["with_gold"] for arm in arms):
        return []
    notes = [f"{counted(arm['with_gold'], 'decisions with gold')}; {arm['without_gold']} left out" for arm in arms]
    return [(name, _by_arm(arms, notes, [arm["changes"][kind] for arm in arms])) for kind, name in CHANGES.items()]


def _moves(arms: list[dict[str, Any]]) -> list[tuple[str, list[tuple[str, Any]]]]:
    """Return each kind of change whatever is right, and all together, with its count and share in every arm."""
    notes = [counted(arm["decisions"], "decisions") for arm in arms]
    moves = [(name, _by_arm(arms, notes, [arm["moves"][kind] for arm in arms])) for kind, name in MOVES.items()]
    return [*moves, ("changed at all", _by_arm(arms, notes, [arm["revised"] for arm in arms]))]


def _by_arm(arms: list[dict[str, Any]], notes: list[str], shares: list[Any]) -> list[tuple[str, Any]]:
    headings = [
        format_html("{} <small>n = {}</small>", arm["arm"] or NO_ARM, note)
        for arm, note in zip(arms, notes, strict=True)
    ]
    return list(zip(headings, shares, strict=True))


def _reason_arms(numbers: dict[str, Any], filters: TableEffectFilters, selected_arm: str) -> list[dict[str, Any]]:
    """Return the arms by which reasons can be filtered, with their numbers."""
    total = sum(arm["with_reason"] for arm in numbers["arms"])
    arms = [(ALL_ARMS, total), *((arm["arm"], arm["with_reason"]) for arm in numbers["arms"])]
    return [
        {
            "arm": arm,
            "every": arm == ALL_ARMS,
            "count": count,
            "chosen": arm == selected_arm,
            "query": query_of(filters, **({} if arm == ALL_ARMS else {"arm": arm})),
        }
        for arm, count in arms
    ]


NO_PICTURE = "no decision has a gold label, or votes of others beside it"
NO_ARM = "no arm on record"
BEFORE, AFTER = "before", "after"
SCORE = ("score_before", "score_after", "Mean score (1 right, 0 tie, −1 wrong)")
AGREEMENT = ("agreement_before", "agreement_after", "Mean agreement with others’ first votes")
TITLE = "Before and after the comparison table"


def before_and_after(effect: dict[str, Any], theme: str) -> Spec:
    """Points: the mean score before and after the second stage, by arm, with intervals.

    Without any gold label it shows the mean agreement with the others' first votes instead.
    """
    for before, after, axis in (SCORE, AGREEMENT):
        rows = [
            point(arm["arm"] or NO_ARM, stage, {**arm[key], "n_instances": arm[key]["n"]})
            for arm in effect["arms"]
            for key, stage in ((before, BEFORE), (after, AFTER))
            if arm[key]["value"] is not None
        ]
        if rows:
            marks = [(0.0, True)] if before == SCORE[0] else []
            body, about_rows = dot_rows(rows, [BEFORE, AFTER], axis, theme, share=before != SCORE[0], marks=marks)
            note = [effect["note"]] if "note" in effect else []
            level = f"bars: {effect['filters']['level']:.0%} intervals over instances"
            return column_spec(body, [TITLE], [level, *about_rows, *note], theme)
    return empty_chart(TITLE, str(effect.get("why") or NO_PICTURE), theme)
