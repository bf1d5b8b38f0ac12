"""Endpoints: readers see their models and prices, site admins add, change and test them."""

from functools import partial

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.http import attempt, is_htmx
from annotation.members.permissions import READERS, account_of, has_any_role
from judging.endpoints.forms import EndpointForm, LimitsForm
from judging.endpoints.services import add_endpoint, edit_endpoint, supported_by
from judging.endpoints.tasks import is_being_tested, queue_test
from judging.models import Endpoint

LISTED = ("name", "model", "price_prompt", "price_completion", "currency", "tested_at")


@login_required
@require_safe
def endpoints(request: HttpRequest) -> HttpResponse:
    """List the endpoints: names, models, prices and what they support. Addresses for site admins only."""
    if not has_any_role(request.user, *READERS):
        raise PermissionDenied
    rows = [
        {
            **{name: getattr(object_, name) for name in LISTED},
            "supports": [thing.label for thing in supported_by(object_) if thing.works],
        }
        for object_ in Endpoint.objects.all()
    ]
    return TemplateResponse(request, "judging/endpoints/endpoints.html", {"endpoints": rows})


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_endpoint(request: HttpRequest) -> HttpResponse:
    """Add an endpoint."""
    only_site_admins(request)
    form = EndpointForm(request.POST if request.method == "POST" else None)
    if form.is_valid() and (added := attempt(form, lambda: add_endpoint(**form.cleaned_data))):
        endpoint, is_new = added
        outcome = "added. Test it now" if is_new else "exists already"
        messages.success(request, f"Endpoint {endpoint.name} {outcome}.")
        return redirect("judging:endpoint", endpoint.name)
    status = 422 if form.is_bound else 200
    return TemplateResponse(request, "judging/endpoints/endpoint_new.html", {"form": form}, status=status)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def endpoint(request: HttpRequest, endpoint_name: str) -> HttpResponse:
    """Show an endpoint and the results of its last test, and change its prices, limits and headers."""
    only_site_admins(request)
    endpoint_row = get_object_or_404(Endpoint, name=endpoint_name)
    if request.method != "POST":
        if is_htmx(request):
            return _tested(request, endpoint_row)
        return _page(request, endpoint_row, LimitsForm.of(endpoint_row))
    form = LimitsForm(request.POST)
    edit = partial(edit_endpoint, endpoint=endpoint_row)
    if form.is_valid() and attempt(form, lambda: edit(**form.cleaned_data)) is not None:
        messages.success(request, f"Endpoint {endpoint_row.name} is changed.")
        return redirect("judging:endpoint", endpoint_row.name)
    return _page(request, endpoint_row, form, status=422)


@require_POST
@login_required
def test_endpoint(request: HttpRequest, endpoint_name: str) -> HttpResponse:
    """Queue a test of an endpoint."""
    only_site_admins(request)
    endpoint_row = get_object_or_404(Endpoint, name=endpoint_name)
    queue_test(endpoint=endpoint_row)
    if is_htmx(request):
        return _tested(request, endpoint_row)
    return redirect("judging:endpoint", endpoint_row.name)


def only_site_admins(request: HttpRequest) -> None:
    """Refuse all others: an endpoint decides where the server sends keys and texts."""
    if not account_of(request).is_superuser:
        raise PermissionDenied


def _page(request: HttpRequest, endpoint_row: Endpoint, form: LimitsForm, *, status: int = 200) -> HttpResponse:
    context = {**_test_of(endpoint_row), "form": form, "judges": endpoint_row.judges.order_by("name")}
    return TemplateResponse(request, "judging/endpoints/endpoint.html", context, status=status)


def _tested(request: HttpRequest, endpoint_row: Endpoint) -> HttpResponse:
    return TemplateResponse(request, "judging/endpoints/endpoint.html#tested", _test_of(endpoint_row))


def _test_of(endpoint_row: Endpoint) -> dict[str, object]:
    return {"endpoint": endpoint_row, "supported": supported_by(endpoint_row), "pending": is_being_tested(endpoint_row)}
