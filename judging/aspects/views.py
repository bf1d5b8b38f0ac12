"""The page of a study's aspects: the current ones and their versions, editing and distilling."""

from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from annotation.core.http import is_htmx
from annotation.members.permissions import POST, READERS, account_of, study_view
from annotation.models import Study
from judging.aspects.aspect_sets import current_aspects, edit_aspects, estimate_distilling, versions_of
from judging.aspects.forms import AspectsForm, DistilForm
from judging.aspects.services import queue_distilling
from judging.calls.dry_run import CallsEstimate
from judging.core.fields import errors_on
from judging.models import AspectSet, Distillation

MOST_VERSIONS = 50


@study_view(*READERS)
def aspects(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the current aspects and all versions, with forms to edit and to distil them."""
    if is_htmx(request):
        context = {"study": study, "work": Distillation.objects.filter(study=study).select_related("endpoint").first()}
        return TemplateResponse(request, "judging/aspects/aspects.html#work", context)
    return _page(request, study)


@study_view(*READERS, methods=POST)
def edit(request: HttpRequest, study: Study) -> HttpResponse:
    """Store a list as the next version."""
    form = AspectsForm(request.POST)
    if form.is_valid():
        with errors_on(form):
            version, is_new = edit_aspects(study, by=account_of(request).username, **form.cleaned_data)
            messages.success(request, f"{version} {'is the current version' if is_new else 'is this list already'}.")
            return redirect("judging:aspects", study.slug)
    return _page(request, study, form=form, status=422)


@study_view(*READERS, methods=POST)
def estimate(request: HttpRequest, study: Study) -> HttpResponse:
    """Estimate the distillation, and offer to start it. No call is made."""
    form, estimated = DistilForm(request.POST), None
    if form.is_valid():
        settings = {name: form.cleaned_data[name] for name in ("endpoint", "pairs", "seed", "params")}
        with errors_on(form):
            estimated = estimate_distilling(study, **settings)
    status = 200 if estimated else 422
    if is_htmx(request):
        context = {"study": study, "distil_form": form, "estimate": estimated}
        return TemplateResponse(request, "judging/aspects/aspects.html#distil", context, status=status)
    return _page(request, study, distil_form=form, estimated=estimated, status=status)


@study_view(*READERS, methods=POST)
def distil(request: HttpRequest, study: Study) -> HttpResponse:
    """Queue the distillation of aspects."""
    form = DistilForm(request.POST)
    if form.is_valid():
        with errors_on(form):
            if not queue_distilling(study, by=account_of(request).username, **form.cleaned_data):
                messages.info(request, "It is under way already.")
            return redirect("judging:aspects", study.slug)
    return _page(request, study, distil_form=form, status=422)


def _page(
    request: HttpRequest,
    study: Study,
    *,
    form: AspectsForm | None = None,
    distil_form: DistilForm | None = None,
    estimated: CallsEstimate | None = None,
    status: int = 200,
) -> HttpResponse:
    versions = versions_of(study)
    latest = versions.first()
    current, name = current_aspects(study)
    initial = {"aspects": "\n".join(current), "seen": latest.version if latest else 0}
    context: dict[str, Any] = {
        "study": study,
        "aspects": current,
        "name": name,
        "latest": latest,
        "versions": [(version, *cost_of(version)) for version in versions[:MOST_VERSIONS]],
        "work": Distillation.objects.filter(study=study).select_related("endpoint").first(),
        "form": form or AspectsForm(initial=initial),
        "distil_form": distil_form or DistilForm(),
        "estimate": estimated,
    }
    return TemplateResponse(request, "judging/aspects/aspects.html", context, status=status)


def cost_of(version: AspectSet) -> tuple[Decimal | None, str]:
    """Return the cost of a version, `None` if unknown, and its currency."""
    cost = version.made_by.get("cost")
    return None if cost is None else Decimal(cost), version.made_by.get("currency", "")
