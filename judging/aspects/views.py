"""The page of a study's aspects: the current ones and their versions, editing and distilling."""

from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from annotation.core.http import attempt, is_htmx
from annotation.members.permissions import POST, READERS, account_of, study_view
from annotation.models import Study
from judging.aspects.aspect_sets import current_aspects, edit_aspects, versions_of
from judging.aspects.forms import AspectsForm, DistilForm
from judging.calls.dry_run import CallsEstimate
from judging.core.estimating import estimate_page, start_page
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
        edited = attempt(form, lambda: edit_aspects(study, by=account_of(request).username, **form.cleaned_data))
        if edited:
            version, is_new = edited
            messages.success(request, f"{version} {'is the current version' if is_new else 'is this list already'}.")
            return redirect("judging:aspects", study.slug)
    return _page(request, study, form=form, status=422)


@study_view(*READERS, methods=POST)
def estimate(request: HttpRequest, study: Study) -> HttpResponse:
    """Estimate the distillation, and offer to start it. No call is made."""
    form = DistilForm(request.POST, study=study)
    return estimate_page(request, form, study, _page, "judging/aspects/aspects.html#distil", name="distil_form")


@study_view(*READERS, methods=POST)
def distil(request: HttpRequest, study: Study) -> HttpResponse:
    """Queue the distillation of aspects."""
    form = DistilForm(request.POST, study=study)
    return start_page(request, form, study, _page, name="distil_form", by=account_of(request).username)


def _page(
    request: HttpRequest,
    study: Study,
    *,
    form: AspectsForm | None = None,
    distil_form: DistilForm | None = None,
    estimate: CallsEstimate | None = None,
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
        "distil_form": distil_form or DistilForm(study=study),
        "estimate": estimate,
    }
    return TemplateResponse(request, "judging/aspects/aspects.html", context, status=status)


def cost_of(version: AspectSet) -> tuple[Decimal | None, str]:
    """Return the cost of a version, `None` if unknown, and its currency."""
    cost = version.made_by.get("cost")
    return None if cost is None else Decimal(cost), version.made_by.get("currency", "")
