"""The findings page, its charts, and the same numbers as JSON."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.cache import get_conditional_response
from django.utils.http import http_date, quote_etag

from annotation.core.http import is_htmx
from annotation.members.permissions import READERS, study_view
from annotation.models import Study
from annotation.models.separability import names_of
from reporting.core.pictures import chart_response, theme_of, width_of
from reporting.core.questions import question_choice
from reporting.findings.data.asked import filters_of, offered, query_of, selection_of
from reporting.findings.data.inputs import Filters
from reporting.findings.page import body, picture_spec
from reporting.findings.pictures import KINDS as PICTURES
from reporting.findings.pictures import OF_CONFIGURATION
from reporting.findings.snapshots import Snapshot, snapshot_of

if TYPE_CHECKING:
    from rest_framework.request import Request

BEING_COMPUTED = "These findings are being computed; ask again in some seconds."
RETRY = {"Retry-After": "10"}


@study_view(*READERS)
def show(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the findings with their charts, and the next steps. htmx asks for newer findings."""
    filters = filters_of(study, request.GET)
    snapshot = snapshot_of(study, filters)
    snapshot_values = snapshot_context(request, study, filters, snapshot)
    if is_htmx(request):
        return snapshot_news(request, snapshot_values)
    if not snapshot.version:
        return TemplateResponse(request, "reporting/findings/being_computed.html", snapshot_values)
    values = filters.as_json()
    choices = offered(study, values)
    context = {
        **snapshot_values,
        "body": body(study, filters, snapshot, request.GET, stages=bool(choices["stages"])),
        "filters": values,
        "selection": selection_of(values),
        "offered": choices,
        "similarities": names_of(study.separability_runs.all()),
        "exports": [(kind, form) for kind in ("ratings", "judgments", "history", "flags") for form in ("csv", "jsonl")],
        "question": question_choice(
            study, filters.question, lambda item: query_of(replace(filters, question=item)) or "question="
        ),
    }
    return TemplateResponse(request, "reporting/findings/findings.html", context)


def snapshot_context(request: HttpRequest, study: Study, filters: Filters, snapshot: Snapshot) -> dict[str, Any]:
    """Return what a page of kept findings says about them: as of when they are, and whether there are newer ones."""
    # A page that waits asks for news of other findings than those that it shows.
    read = snapshot.version
    displayed = request.GET.get("shown", "") if is_htmx(request) else read
    return {
        "study": study,
        "snapshot": snapshot,
        "query": query_of(filters),
        "news": query_of(filters, shown=displayed),
        "newer": read != displayed,
    }


def snapshot_news(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Answer a page that asks for newer findings. A page without findings is loaded again."""
    response = TemplateResponse(request, "reporting/findings/_snapshot.html", context)
    if context["snapshot"].version and not request.GET.get("shown"):
        response["HX-Refresh"] = "true"
    return response


@study_view(*READERS)
def as_json(request: HttpRequest, study: Study) -> HttpResponse:
    """Return the numbers that the page shows."""
    snapshot = snapshot_of(study, filters_of(study, request.GET))
    return send_changed(request, snapshot, partial(send_stored, snapshot)) or later()


def send_stored(snapshot: Snapshot) -> HttpResponse:
    """Return the numbers as they are stored."""
    return HttpResponse(snapshot.as_json, content_type="application/json")


def send_changed(
    request: "HttpRequest | Request", snapshot: Snapshot, make: Callable[[], HttpResponse]
) -> HttpResponse | None:
    """Return what `make` makes of kept findings, with an `ETag`: 304 where the client has it, or None before the first findings."""
    if snapshot.read_at is None:
        return None
    state = f"{snapshot.version} {request.get_full_path()}"
    etag = quote_etag(hashlib.sha256(state.encode()).hexdigest()[:32])
    response = get_conditional_response(request, etag=etag) or make()
    response["ETag"], response["Last-Modified"] = etag, http_date(int(snapshot.read_at.timestamp()))
    return response


def later() -> HttpResponse:
    """Ask to come again when the worker has computed findings."""
    return HttpResponse(BEING_COMPUTED, status=503, content_type="text/plain", headers=RETRY)


@study_view(*READERS)
def chart(request: HttpRequest, study: Study, *, name: str, form: str) -> HttpResponse:
    """Return one chart. `of` (its data set), `a` and `b` name the configuration, `theme` is light or dark, `width` one of WIDTHS."""
    theme, width = theme_of(request), width_of(request)
    if name not in PICTURES:
        raise Http404(f"no picture {name}")
    filters = filters_of(study, request.GET)
    snapshot = snapshot_of(study, filters)
    if not snapshot.version:
        return later()
    of = (
        (request.GET.get("of", request.GET.get("dataset", "")), request.GET.get("a", ""), request.GET.get("b", ""))
        if name in OF_CONFIGURATION
        else None
    )
    spec = picture_spec(study, filters, snapshot, name, theme, of)
    if spec is None:
        raise Http404("there is no such configuration, or these batches have nothing of it")
    return chart_response(spec, form, width)
