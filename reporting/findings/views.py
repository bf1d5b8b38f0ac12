"""The findings page, its charts, and the same numbers as JSON."""

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, cast

from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.template.response import TemplateResponse
from django.utils.http import http_date
from django.utils.translation import gettext as _
from django.utils.translation import override

from annotation.core.http import is_htmx
from annotation.members.permissions import READERS, study_view
from annotation.models import Event, Rating, Study
from annotation.studies.separability_runs import names_of
from reporting.core.pictures import chart_response, theme_of
from reporting.core.questions import question_choice
from reporting.exports.files import LINES
from reporting.findings.data.asked import chart_url, filters_of, query_of
from reporting.findings.data.inputs import Filters
from reporting.findings.data.selection import offered, selection_of
from reporting.findings.pictures import KINDS as PICTURES
from reporting.findings.pictures import OF_CONFIGURATION, OF_STUDY, WIDTHS, by_section, draw, figure
from reporting.findings.sections import page_sections
from reporting.findings.sections.configurations import configuration_section, data_section
from reporting.findings.sections.raters import raters_section
from reporting.findings.snapshots import Snapshot, snapshot_of

CONFIGURATIONS_PER_PAGE = 10
BEING_COMPUTED = "These findings are being computed; ask again in some seconds."
RETRY = {"Retry-After": "10"}


@study_view(*READERS)
def show(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the findings with their charts, and the next steps; for htmx, whether there are newer ones."""
    filters = filters_of(study, request.GET)
    snapshot = snapshot_of(study, filters)
    about = snapshot_context(request, study, filters, snapshot)
    if is_htmx(request):
        return snapshot_news(request, about)
    numbers = snapshot.numbers
    if numbers is None:
        return TemplateResponse(request, "reporting/findings/being_computed.html", about)
    configurations = numbers["configurations"]
    page = Paginator(configurations, CONFIGURATIONS_PER_PAGE).get_page(request.GET.get("page"))
    rated = Rating.objects.of_every_question().filter(display__assignment__hit__batch=OuterRef("pk"))
    batches = dict(study.batches.for_rating().values_list("name", Exists(rated)))
    context = {
        **about,
        "page": page,
        "found": numbers,
        "figures": by_section(OF_STUDY, lambda name: figure_of(study, name, numbers, filters)),
        **(page_sections(numbers) if configurations else {}),
        "configurations": [
            configuration_section(one, at, partial(_figures_of, study, numbers, filters))
            for at, one in enumerate(page, page.start_index())
        ],
        "raters": raters_section(study, numbers, request.GET, query_of(filters)),
        "amendments": [{**one, "label": Event.Kind(one["kind"]).label} for one in numbers["amendments"]],
        "next_steps": _next_steps(study, numbers),
        "all_chosen": [row for one in configurations for row in one["chosen"]],
        "selection": selection_of(numbers["filters"]),
        "offered": offered(study, numbers["filters"]),
        "similarities": names_of(study.separability_runs.all()),
        "data": data_section(numbers, batches),
        "rated": any(rater["ratings"] for one in configurations for rater in one["raters"]),
        "exports": [(kind, form) for kind in ("ratings", "judgments", "history", "flags") for form in LINES],
        "question": question_choice(
            study, filters.question, lambda one: query_of(replace(filters, question=one)) or "question="
        ),
    }
    return TemplateResponse(request, "reporting/findings/findings.html", context)


def snapshot_context(request: HttpRequest, study: Study, filters: Filters, snapshot: Snapshot) -> dict[str, Any]:
    """Return what a page of kept findings says about them: as of when they are, and whether there are newer ones."""
    # A page that waits asks for news of other findings than those that it shows.
    read = snapshot.version
    shown = request.GET.get("shown", "") if is_htmx(request) else read
    return {
        "study": study,
        "snapshot": snapshot,
        "query": query_of(filters),
        "news": query_of(filters, shown=shown),
        "newer": read != shown,
    }


def snapshot_news(request: HttpRequest, about: dict[str, Any]) -> HttpResponse:
    """Answer a page that asks whether there are newer findings; one that has shown none yet is loaded again."""
    response = TemplateResponse(request, "reporting/findings/_snapshot.html", about)
    if about["snapshot"].version and not request.GET.get("shown"):
        response["HX-Refresh"] = "true"
    return response


@study_view(*READERS)
def as_json(request: HttpRequest, study: Study) -> HttpResponse:
    """Return the numbers that the page shows."""
    snapshot = snapshot_of(study, filters_of(study, request.GET))
    if snapshot.numbers is None:
        return later()
    headers = {"Last-Modified": http_date(snapshot.read_at.timestamp())} if snapshot.read_at else None
    parameters = {"ensure_ascii": False, "allow_nan": False}
    return JsonResponse(snapshot.numbers, json_dumps_params=parameters, headers=headers)


def later() -> HttpResponse:
    """Ask to come again when the worker has computed findings."""
    return HttpResponse(BEING_COMPUTED, status=503, content_type="text/plain", headers=RETRY)


def _figures_of(
    study: Study, numbers: dict[str, Any], filters: Filters, one: dict[str, Any]
) -> dict[str, list[dict[str, Any]]]:
    return by_section(OF_CONFIGURATION, lambda name: figure_of(study, name, numbers, filters, one))


def figure_of(
    study: Study, name: str, numbers: dict[str, Any], filters: Filters, one: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return a picture of the study, or of one configuration."""
    named = {} if one is None else {"of": one["dataset"], "a": one["system_a"], "b": one["system_b"]}

    def address(form: str, **more: str) -> str:
        return chart_url(study, name, form, filters, **named, **more)

    spec = draw(name, numbers, configuration=one)
    return figure(name, numbers, spec, numbers["configurations"] if one is None else [one], address)


def _next_steps(study: Study, numbers: dict[str, Any]) -> list[str]:
    """List what a study still lacks for findings, in the order in which to do it."""
    configurations = numbers["configurations"]
    if not configurations:
        return [
            _("Read a file with texts of two systems, on the study's page or with %(command)s")
            % {"command": f"manage.py import_study FILE --study {study.slug}"}
        ]
    steps = []
    if any(one["separability"] is None for one in configurations):
        compute = _("Compute separability, on the study's page or with %(command)s")
        steps.append(compute % {"command": f"manage.py compute_separability {study.slug}"})
    if not any(one["raters"][0]["ratings"] for one in configurations):
        steps.append(_("Collect ratings: make a batch and let people rate it, or import ratings made elsewhere"))
    if not any(len(one["raters"]) > 1 for one in configurations):
        judge = _("Let a judge rate the same pairs, under Judges or with %(command)s")
        steps.append(judge % {"command": f"manage.py run_judge {study.slug} --judge NAME"})
    return steps


@study_view(*READERS)
def chart(request: HttpRequest, study: Study, *, name: str, form: str) -> HttpResponse:
    """Return one chart; `of` (its data set), `a` and `b` name the configuration, `theme` is light or dark, `width` column or page."""
    theme, width = theme_of(request), request.GET.get("width", "column")
    if name not in PICTURES or width not in WIDTHS:
        raise Http404(f"no picture {name}, or none {width} wide")
    filters = filters_of(study, request.GET)
    found = snapshot_of(study, filters).numbers
    if found is None:
        return later()
    one = _configuration_named(found, request.GET) if name in OF_CONFIGURATION else None
    # Columns of data have the same words for every reader.
    with override("en") if form == "csv" else nullcontext():
        spec = draw(name, found, theme, configuration=one, question=filters.question, width=width)
    return chart_response(spec, form)


def _configuration_named(numbers: dict[str, Any], query: QueryDict) -> dict[str, Any]:
    """Return one configuration's part of the findings: `of` names its data set, or `dataset` where that is filtered by.

    Raises: Http404 where there is none, or the filters leave it out.
    """
    dataset = query.get("of", query.get("dataset"))
    named = {"dataset": dataset, "system_a": query.get("a"), "system_b": query.get("b")}
    for one in numbers["configurations"]:
        if named.items() <= one.items():
            return cast("dict[str, Any]", one)
    raise Http404("there is no such configuration, or these batches have nothing of it")
