"""The page on how distinguishable systems are, its charts, and its numbers as JSON.

Its URL is not `separability/`: that one computes separability, and these views only read.
"""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse

from annotation.batches.forms import HOW, IMPORTANCE, STRATIFIED, TOP
from annotation.core.errors import UnknownName
from annotation.members.permissions import READERS, may_manage, study_view
from annotation.models import Study
from annotation.questions.questions import MAIN
from annotation.separability.services import count_ignored_texts
from annotation.studies.configurations import Configuration, configurations
from annotation.studies.questions import question_named
from reporting.core.charts import Spec, shorten
from reporting.core.pictures import Picture, chart_response, picture, theme_of, width_of
from reporting.core.questions import question_choice
from reporting.core.raters import everyone_of
from reporting.findings.data.reading import is_collecting
from reporting.separability import charts
from reporting.separability.arrays import (
    THRESHOLDS,
    ConfigurationAlignments,
    RunAlignments,
    SeparabilityFilters,
)
from reporting.separability.distributions import SCENARIOS, describe, separability_numbers
from reporting.separability.instance_list import ORDERS, examples, instance_page
from reporting.separability.reading import (
    distinguishable,
    distinguishable_on,
    read_ratings,
    read_separability,
    selected_configurations,
)
from reporting.separability.stability import stability_of

PAGE_SIZE = 10
BATCH_SIZE = 20  # instances that the links to a new batch begin with
SCENARIO_NAMES = {
    "apart": "1. Two groups apart: each system is like itself and unlike the other",
    "scattered": "2. Both scattered: neither is like itself, nor like the other",
    "one_steady": "3. One steady: one is like itself, the other is not, and they are unlike",
    "alike": "4. All alike: every text is like every other",
    "other": "None of them: a high cross-alignment beside a low self-alignment",
    "missing": "Undefined: a system with a single generation",
}
ALT = {
    "histograms": "Bars: how many instances at each separability, by configuration. The numbers are in the table below.",
    "similarities": "Bars: how many instances at each separability, for each similarity. The numbers are in the table below.",
    "scatter": "Points: instances by self-alignment and cross-alignment, marked by scenario. The counts are in the table below.",
    "consistency": "Curves: fitted mean consistency by separability for each rater. The numbers are in the table below.",
    "temperatures": "Points with intervals: mean separability at each temperature. The numbers are in the tables below.",
    "stability": "Points with intervals: how far separability moves with fewer samples. The numbers are in the table below.",
}


@study_view(*READERS)
def show(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the systems' separability, and for one configuration scenarios, instances and stability."""
    filters = filters_of(study, request.GET)
    selected = selected_configurations(study, filters)
    page = Paginator(selected, PAGE_SIZE).get_page(request.GET.get("page"))
    single = len(selected) == 1
    pooled = not single and page.paginator.num_pages == 1
    rated = read_ratings(study, list(page), filters.question_number) if single or pooled else ()
    data = read_separability(study, filters, list(page), rated)
    numbers = separability_numbers(data, filters, each=single, pooled=pooled)
    existing = configurations(study, checks=False)
    names = sorted({part["similarity"] for item in numbers["configurations"] for part in item["similarities"]})
    context = {
        "study": study,
        "found": numbers,
        "page": page,
        "query": query_of(filters),
        "question": question_choice(
            study, filters.question, lambda item: query_of(replace(filters, question=item)) or "question="
        ),
        "single": single,
        "datasets": sorted({item.dataset for item in existing}),
        "systems": sorted({name for item in existing for name in (item.system_a.name, item.system_b.name)}),
        "measured": [
            (row, part) for item in numbers["configurations"] for row, part in _rows(item, filters, every=single)
        ],
        "may_manage": may_manage(request.user, study),
        "pictures": {
            name: _picture(study, name, filters, page) for name in ("histograms", "consistency", "temperatures")
        },
        "blind": [(name, count) for name in names if (count := count_ignored_texts(study, name))],
        "collecting": is_collecting(study, None),
    }
    if single:
        context |= _details(request, study, filters, selected[0], data.parts[0], numbers)
    advice = numbers["configurations"][0]["advice"] if single else numbers["pooled_advice"]
    return TemplateResponse(request, "reporting/separability/separability.html", {**context, "advice": advice})


@study_view(*READERS)
def as_json(request: HttpRequest, study: Study) -> JsonResponse:
    """Return the numbers of the page."""
    numbers = distinguishable(study, filters_of(study, request.GET))
    return JsonResponse(numbers, json_dumps_params={"ensure_ascii": False, "allow_nan": False})


@study_view(*READERS)
def chart(request: HttpRequest, study: Study, *, name: str, form: str) -> HttpResponse:
    """Return a chart, or its specification. `theme` is light or dark."""
    theme = theme_of(request)
    if name not in ALT:
        raise Http404(f"no picture {name}")
    return chart_response(_spec(study, name, request.GET, theme), form, width_of(request))


def filters_of(study: Study, query: QueryDict) -> SeparabilityFilters:
    """Read `dataset`, `system` (once or twice), `similarity`, `threshold` and `question`.

    Raises: UnknownName for an unknown threshold or question; other names are checked where they are used.
    """
    threshold = query.get("threshold") or THRESHOLDS[0]
    if threshold not in THRESHOLDS:
        raise UnknownName(f"there is no threshold {threshold}; known: {', '.join(THRESHOLDS)}")
    systems = tuple(dict.fromkeys(name for name in query.getlist("system") if name))
    return SeparabilityFilters(
        query.get("dataset", ""),
        systems,
        query.get("similarity", ""),
        threshold,
        question=question_named(study, query.get("question", "")),
    )


def query_of(filters: SeparabilityFilters, **more: str) -> str:
    """Encode filters, and further parameters, as a URL query."""
    query = list(more.items())
    if filters.dataset:
        query.append(("dataset", filters.dataset))
    query += [("system", name) for name in filters.systems]
    if filters.similarity:
        query.append(("similarity", filters.similarity))
    if filters.threshold != THRESHOLDS[0]:
        query.append(("threshold", filters.threshold))
    if filters.question_number != MAIN and filters.question:
        query.append(("question", filters.question.key))
    return urlencode(query)


def _spec(study: Study, name: str, query: QueryDict, theme: str) -> Spec:
    filters = filters_of(study, query)
    selected = selected_configurations(study, filters)
    page = list(Paginator(selected, PAGE_SIZE).get_page(query.get("page")))
    if name == "histograms":
        return charts.histograms(distinguishable_on(study, filters, page, each=False, pooled=False), theme)
    if name == "temperatures":
        return charts.temperatures(distinguishable_on(study, filters, page, each=False, pooled=False), theme)
    if name == "consistency" and len(selected) != 1:
        advice = (
            distinguishable_on(study, filters, page, each=False)["pooled_advice"]
            if len(selected) <= PAGE_SIZE
            else None
        )
        return charts.consistency_curve(
            advice, everyone_of(study), _about_ratings("All configurations on one scale", filters), theme
        )
    if len(selected) != 1:
        raise Http404(f"the picture {name} is of one configuration; {len(selected)} are selected")
    named = selected[0]
    title = f"{shorten(named.dataset)}: A = {shorten(named.system_a.name)}, B = {shorten(named.system_b.name)}"
    if name == "consistency":
        advice = distinguishable_on(study, filters, selected)["configurations"][0]["advice"]
        return charts.consistency_curve(advice, everyone_of(study), _about_ratings(title, filters), theme)
    (alignments,) = read_separability(study, filters, [named]).parts
    if name == "similarities":
        return charts.similarity_histograms(describe(alignments, filters), theme)
    if name == "scatter":
        return charts.self_and_cross(alignments, filters, theme)
    return charts.stability_curve(stability_of(study, alignments, filters), title, theme)


def _about_ratings(title: str, filters: SeparabilityFilters) -> str:
    """Add the key of the question that the ratings are about, where there are several."""
    return title if filters.question is None else f"{title} – {filters.question.key}"


def _details(
    request: HttpRequest,
    study: Study,
    filters: SeparabilityFilters,
    configuration: Configuration,
    alignments: ConfigurationAlignments,
    numbers: dict[str, Any],
) -> dict[str, Any]:
    """Return the context of a single configuration."""
    main = alignments.by_similarity(filters.similarity)
    if main is None:
        return {"one": numbers["configurations"][0], "main": None}
    described = numbers["configurations"][0]
    part = next(part for part in described["similarities"] if part["label"] == main.label)
    order = request.GET.get("order", "") if request.GET.get("order") in ORDERS else ORDERS[0]
    scenario = request.GET.get("scenario", "") if request.GET.get("scenario") in SCENARIOS else ""
    list_page, listed = instance_page(
        alignments, main, kind=filters.threshold, order=order, scenario=scenario, page=request.GET.get("list_page")
    )
    wants_stability = "stability" in request.GET
    names = ("similarities", "scatter", *(("stability",) if wants_stability else ()))
    narrowed = {"order": order, **({"scenario": scenario} if scenario else {})}
    return {
        "one": described,
        "main": part,
        "shapes": {name: _picture(study, name, filters, None) for name in names},
        "scenarios": _scenarios(main, part, filters, order),
        "listed": [(row, SCENARIO_NAMES[row.scenario]) for row in listed],
        "list_page": list_page,
        "list_query": query_of(filters, **narrowed),
        "orders": {name: query_of(filters, **{**narrowed, "order": name}) for name in ORDERS},
        "order": order,
        "scenario": SCENARIO_NAMES.get(scenario, ""),
        "stability": stability_of(study, alignments, filters) if wants_stability else None,
        "stability_query": query_of(filters, stability="1"),
        "batch_links": _batch_links(study, configuration, main.label),
    }


def _scenarios(
    main: RunAlignments, part: dict[str, Any], filters: SeparabilityFilters, order: str
) -> list[dict[str, Any]]:
    """Describe each scenario: how many instances it has, one of them, and the query that lists them."""
    by_scenario = examples(main, filters.threshold)
    return [
        {
            "name": name,
            "title": title,
            "count": part["scenarios"]["counts"][name],
            "example": by_scenario.get(name),
            "query": query_of(filters, order=order, scenario=name),
        }
        for name, title in SCENARIO_NAMES.items()
    ]


def _rows(
    configuration: dict[str, Any], filters: SeparabilityFilters, *, every: bool
) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Return rows of the overview, each with the query that selects its configuration and the numbers of a similarity.

    every : all similarities, not the selected one alone
    """
    alone = SeparabilityFilters(
        configuration["dataset"],
        (configuration["system_a"], configuration["system_b"]),
        filters.similarity,
        filters.threshold,
        question=filters.question,
    )
    row = {"one": configuration, "query": query_of(alone)}
    similarities = configuration["similarities"]
    return [
        (row, part)
        for part in similarities or [None]
        if not part or every or part["label"] == configuration["similarity"]
    ]


def _picture(study: Study, name: str, filters: SeparabilityFilters, page: Page[Any] | None) -> Picture:
    more = {"page": str(page.number)} if page is not None and page.number > 1 else {}

    def address(form: str, **theme: str) -> str:
        path = reverse("reporting:separability-chart", kwargs={"slug": study.slug, "name": name, "form": form})
        return f"{path}?{query_of(filters, **theme, **more)}"

    return picture(ALT[name], address)


def _batch_links(study: Study, configuration: Configuration, similarity: str) -> list[tuple[str, str]]:
    """Return the selections by separability, each with the URL of a prefilled batch form."""
    path = reverse("annotation:new-batch", kwargs={"slug": study.slug})
    named = {"dataset": configuration.dataset, "a": configuration.system_a.name, "b": configuration.system_b.name}
    begin = {"number": str(BATCH_SIZE), "similarity": similarity}
    names = dict(HOW)
    return [
        (names[how], f"{path}?{urlencode({**named, **begin, 'how': how})}") for how in (TOP, STRATIFIED, IMPORTANCE)
    ]
