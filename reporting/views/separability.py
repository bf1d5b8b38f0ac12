"""How distinguishable systems are: the page, its pictures, and the same numbers as JSON.

Its address is not `separability/`, to which a post has it computed: that one changes a study, these pages only read.
"""

import json
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from annotation.access import MANAGERS, READERS, study_view
from annotation.configurations import Configuration, configurations
from annotation.errors import UnknownName
from annotation.models import Study
from annotation.services.separability import blind_texts
from reporting import separability_charts as charts
from reporting.charts import Spec, short, to_png, to_svg
from reporting.separability import runs_by_configuration
from reporting.separability_list import ORDERS, examples, page_of
from reporting.separability_numbers import SCENARIOS, describe, distinguishable, distinguishable_on
from reporting.separability_rows import THRESHOLDS, Look, chosen_configurations, compared, similarity_chosen
from reporting.separability_stability import stability_of
from reporting.themes import THEMES

A_PAGE = 10
BATCH_SIZE = 20  # instances that the links to a new batch begin with
SCENARIO_NAMES = {
    "apart": _("1. Two groups apart: each system is like itself and unlike the other"),
    "scattered": _("2. Both scattered: neither is like itself, nor like the other"),
    "one_steady": _("3. One steady: one is like itself, the other is not, and they are unlike"),
    "alike": _("4. All alike: every text is like every other"),
    "other": _("None of them: a high cross-alignment beside a low self-alignment"),
    "missing": _("Undefined: a system with a single generation"),
}
ALT = {
    "histograms": _(
        "Bars: how many instances at each separability, by configuration. The numbers are in the table below."
    ),
    "similarities": _(
        "Bars: how many instances at each separability, for each similarity. The numbers are in the table below."
    ),
    "scatter": _(
        "Points: instances by self-alignment and cross-alignment, marked by scenario. The counts are in the table below."
    ),
    "consistency": _(
        "Curves: fitted mean consistency by separability for each rater. The numbers are in the table below."
    ),
    "temperatures": _(
        "Points with intervals: mean separability at each temperature. The numbers are in the tables below."
    ),
    "stability": _(
        "Points with intervals: how far separability moves with fewer samples. The numbers are in the table below."
    ),
}


@require_safe
@study_view(*READERS)
def show(request: HttpRequest, study: Study) -> HttpResponse:
    """Show how distinguishable the systems are; of one configuration also scenarios, instances and stability."""
    look = look_of(study, request.GET)
    chosen = chosen_configurations(study, look)
    page = Paginator(chosen, A_PAGE).get_page(request.GET.get("page"))
    single = len(chosen) == 1
    found = distinguishable_on(
        study, look, list(page), each=single, pooled=not single and page.paginator.num_pages == 1
    )
    known = configurations(study)
    context = {
        "study": study,
        "found": found,
        "page": page,
        "query": query_of(look),
        "single": single,
        "datasets": sorted({one.dataset for one in known}),
        "systems": sorted({name for one in known for name in (one.system_a.name, one.system_b.name)}),
        "rows": [_row(one, look) for one in found["configurations"]],
        "may_manage": Study.objects.seen_by(request.user, *MANAGERS).filter(pk=study.pk).exists(),
        "pictures": {name: _picture(study, name, look, page) for name in ("histograms", "consistency", "temperatures")},
        "blind": _blind(study, found),
    }
    if single:
        context |= _details(request, study, look, chosen[0], found)
    advice = found["configurations"][0]["advice"] if single else found["pooled_advice"]
    return TemplateResponse(request, "reporting/separability.html", {**context, "advice": advice})


@require_safe
@study_view(*READERS)
def as_json(request: HttpRequest, study: Study) -> JsonResponse:
    """Return the numbers that the page shows."""
    found = distinguishable(study, look_of(study, request.GET))
    return JsonResponse(found, json_dumps_params={"ensure_ascii": False, "allow_nan": False})


@require_safe
@study_view(*READERS)
def chart(request: HttpRequest, study: Study, *, name: str, form: str) -> HttpResponse:
    """Draw a picture, or give its specification; `theme` is light or dark."""
    theme = request.GET.get("theme", "light")
    if theme not in THEMES or name not in ALT:
        raise Http404(f"no picture {name} in {theme}")
    spec = _spec(study, name, request.GET, theme)
    if form == "png":
        response = HttpResponse(to_png(spec), content_type="image/png")
    elif form == "json":
        content = json.dumps(spec, ensure_ascii=False, allow_nan=False)
        response = HttpResponse(content, content_type="application/json")
    else:
        response = HttpResponse(to_svg(spec), content_type="image/svg+xml")
    # Even when opened by itself the picture may run, load and link to nothing.
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-cache"
    return response


def look_of(study: Study, query: QueryDict) -> Look:
    """Read `dataset`, `system` (once or twice), `similarity` and `threshold`.

    Raises: UnknownName for a threshold that there is not; names are checked where they are looked up.
    """
    threshold = query.get("threshold") or THRESHOLDS[0]
    if threshold not in THRESHOLDS:
        raise UnknownName(f"there is no threshold {threshold}; known: {', '.join(THRESHOLDS)}")
    systems = tuple(dict.fromkeys(name for name in query.getlist("system") if name))
    return Look(query.get("dataset", ""), systems, query.get("similarity", ""), threshold)


def query_of(look: Look, **more: str) -> str:
    """Write what is looked at, and more, as the query of an address."""
    query = list(more.items())
    if look.dataset:
        query.append(("dataset", look.dataset))
    query += [("system", name) for name in look.systems]
    if look.similarity:
        query.append(("similarity", look.similarity))
    if look.threshold != THRESHOLDS[0]:
        query.append(("threshold", look.threshold))
    return urlencode(query)


def _spec(study: Study, name: str, query: QueryDict, theme: str) -> Spec:
    look = look_of(study, query)
    chosen = chosen_configurations(study, look)
    page = list(Paginator(chosen, A_PAGE).get_page(query.get("page")))
    if name == "histograms":
        return charts.histograms(distinguishable_on(study, look, page, each=False, pooled=False), theme)
    if name == "temperatures":
        return charts.temperatures(distinguishable_on(study, look, page, each=False, pooled=False), theme)
    if name == "consistency" and len(chosen) != 1:
        advice = distinguishable_on(study, look, page, each=False)["pooled_advice"] if len(chosen) <= A_PAGE else None
        return charts.consistency_curve(advice, "All configurations on one scale", theme)
    if len(chosen) != 1:
        raise Http404(f"the picture {name} is of one configuration, {len(chosen)} are looked at")
    named = chosen[0]
    title = f"{short(named.dataset)}: A = {short(named.system_a.name)}, B = {short(named.system_b.name)}"
    if name == "consistency":
        advice = distinguishable_on(study, look, chosen)["configurations"][0]["advice"]
        return charts.consistency_curve(advice, title, theme)
    runs = runs_by_configuration(study)
    similarity_chosen(runs, look)
    one = compared(named, runs, look.similarity)
    if name == "similarities":
        return charts.similarity_histograms(describe(one, look), theme)
    if name == "scatter":
        return charts.self_and_cross(one, look, theme)
    return charts.stability_curve(stability_of(one, look), title, theme)


def _details(
    request: HttpRequest, study: Study, look: Look, configuration: Configuration, found: dict[str, Any]
) -> dict[str, Any]:
    """What is shown of one configuration only."""
    one = compared(configuration, runs_by_configuration(study), look.similarity)
    main = one.by(look.similarity)
    if main is None:
        return {"one": found["configurations"][0], "main": None}
    described = found["configurations"][0]
    part = next(part for part in described["similarities"] if part["label"] == main.label)
    order = request.GET.get("order", "") if request.GET.get("order") in ORDERS else ORDERS[0]
    scenario = request.GET.get("scenario", "") if request.GET.get("scenario") in SCENARIOS else ""
    list_page, listed = page_of(
        one, main, kind=look.threshold, order=order, scenario=scenario, page=request.GET.get("list_page")
    )
    found_examples = examples(main, look.threshold)
    wants_stability = "stability" in request.GET
    names = ("similarities", "scatter", *(("stability",) if wants_stability else ()))
    narrowed = {"order": order, **({"scenario": scenario} if scenario else {})}
    return {
        "one": described,
        "main": part,
        "shapes": {name: _picture(study, name, look, None) for name in names},
        "scenarios": [
            {
                "name": name,
                "title": title,
                "count": part["scenarios"]["counts"][name],
                "example": found_examples.get(name),
                "query": query_of(look, order=order, scenario=name),
            }
            for name, title in SCENARIO_NAMES.items()
        ],
        "listed": [(row, SCENARIO_NAMES[row.scenario]) for row in listed],
        "list_page": list_page,
        "list_query": query_of(look, **narrowed),
        "orders": {name: query_of(look, **{**narrowed, "order": name}) for name in ORDERS},
        "order": order,
        "scenario": SCENARIO_NAMES.get(scenario, ""),
        "stability": stability_of(one, look) if wants_stability else None,
        "stability_query": query_of(look, stability="1"),
        "batch_links": _batch_links(study, configuration, main.label),
    }


def _blind(study: Study, found: dict[str, Any]) -> list[tuple[str, int]]:
    """List the similarities that are shown and can't see some of the study's texts, with how many these are."""
    parts = (part for one in found["configurations"] for part in one["similarities"])
    names = sorted({part["similarity"] for part in parts})
    return [(name, count) for name in names if (count := blind_texts(study, name))]


def _row(one: dict[str, Any], look: Look) -> dict[str, Any]:
    """One configuration in the table of all, with the address that shows it alone."""
    part = next((part for part in one["similarities"] if part["label"] == one["similarity"]), None)
    alone = Look(one["dataset"], (one["system_a"], one["system_b"]), look.similarity, look.threshold)
    return {"one": one, "part": part, "query": query_of(alone)}


def _picture(study: Study, name: str, look: Look, page: Page[Any] | None) -> dict[str, str]:
    more = {"page": str(page.number)} if page is not None and page.number > 1 else {}

    def address(form: str, **theme: str) -> str:
        path = reverse("reporting:separability-chart", kwargs={"slug": study.slug, "name": name, "form": form})
        return f"{path}?{query_of(look, **theme, **more)}"

    themes = {theme: address("svg", theme=theme) for theme in THEMES}
    return {"alt": str(ALT[name]), **themes, "png": address("png"), "spec": address("json")}


def _batch_links(study: Study, configuration: Configuration, similarity: str) -> list[tuple[Promise, str]]:
    """Ways of choosing by separability, each with the address of a form that begins with it."""
    ways = {"top": _("The most separable ones"), "stratified": _("As many from every bin of separability")}
    ways["importance"] = _("At random, more separable ones more often")
    path = reverse("annotation:new-batch", kwargs={"slug": study.slug})
    named = {"dataset": configuration.dataset, "a": configuration.system_a.name, "b": configuration.system_b.name}
    begin = {"number": str(BATCH_SIZE), "similarity": similarity}
    return [(name, f"{path}?{urlencode({**named, **begin, 'how': how})}") for how, name in ways.items()]
