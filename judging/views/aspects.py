"""The aspects that a study's texts are compared under: which hold, where they come from, and making others."""

from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.access import READERS, account_of, study_view
from annotation.models import Study
from judging.aspect_forms import AspectsForm, DistilForm
from judging.errors import JudgingError
from judging.models import AspectSet
from judging.services.aspect_sets import edit_aspects, forecast_distilling, resolve_offline, versions_of
from judging.services.aspect_tasks import queue_distilling, work_on
from judging.services.talks import Forecast

MOST_VERSIONS = 50


@require_safe
@study_view(*READERS)
def aspects(request: HttpRequest, study: Study) -> HttpResponse:
    """Show which aspects hold and their versions, with forms to change them and to have others distilled."""
    if request.htmx:  # type: ignore[attr-defined]
        context = {"study": study, "work": work_on(study)}
        return TemplateResponse(request, "judging/aspects.html#work", context)
    return _page(request, study)


@require_POST
@study_view(*READERS)
def edit(request: HttpRequest, study: Study) -> HttpResponse:
    """Keep a list as the next version."""
    form = AspectsForm(request.POST)
    if form.is_valid():
        try:
            version, is_new = edit_aspects(study, by=account_of(request).username, **form.cleaned_data)
        except JudgingError as error:
            form.add_error(None, str(error))
        else:
            made, kept = _("%(version)s holds now."), _("%(version)s is this list already.")
            messages.success(request, (made if is_new else kept) % {"version": version})
            return redirect("judging:aspects", study.slug)
    return _page(request, study, form=form, status=422)


@require_POST
@study_view(*READERS)
def estimate(request: HttpRequest, study: Study) -> HttpResponse:
    """Say what distilling would take, and offer to start it; nobody is asked."""
    form, found = DistilForm(request.POST), None
    if form.is_valid():
        chosen = {name: form.cleaned_data[name] for name in ("endpoint", "pairs", "seed", "params")}
        try:
            found = forecast_distilling(study, **chosen)
        except JudgingError as error:
            form.add_error(None, str(error))
    status = 200 if found else 422
    if request.htmx:  # type: ignore[attr-defined]
        context = {"study": study, "distil_form": form, "estimate": found}
        return TemplateResponse(request, "judging/aspects.html#distil", context, status=status)
    return _page(request, study, distil_form=form, found=found, status=status)


@require_POST
@study_view(*READERS)
def distil(request: HttpRequest, study: Study) -> HttpResponse:
    """Have a worker distil aspects."""
    form = DistilForm(request.POST)
    if form.is_valid():
        try:
            queued = queue_distilling(study, by=account_of(request).username, **form.cleaned_data)
        except JudgingError as error:
            form.add_error(None, str(error))
        else:
            if not queued:
                messages.info(request, _("A worker is at it already."))
            return redirect("judging:aspects", study.slug)
    return _page(request, study, distil_form=form, status=422)


def _page(
    request: HttpRequest,
    study: Study,
    *,
    form: AspectsForm | None = None,
    distil_form: DistilForm | None = None,
    found: Forecast | None = None,
    status: int = 200,
) -> HttpResponse:
    versions = versions_of(study)
    latest = versions.first()
    holding, name = resolve_offline(study)
    initial = {"aspects": "\n".join(holding), "seen": latest.version if latest else 0}
    context: dict[str, Any] = {
        "study": study,
        "aspects": holding,
        "name": name,
        "latest": latest,
        "versions": [(version, *cost_of(version)) for version in versions[:MOST_VERSIONS]],
        "work": work_on(study),
        "form": form or AspectsForm(initial=initial),
        "distil_form": distil_form or DistilForm(),
        "estimate": found,
    }
    return TemplateResponse(request, "judging/aspects.html", context, status=status)


def cost_of(version: AspectSet) -> tuple[Decimal | None, str]:
    """Return what a version cost, `None` where that is unknown, and in which currency."""
    cost = version.made_by.get("cost")
    return None if cost is None else Decimal(cost), version.made_by.get("currency", "")
