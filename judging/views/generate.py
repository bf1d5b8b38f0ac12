"""Sampling a system's texts: how, what it will take, how far it is; and how those that are there were sampled."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.access import READERS, account_of, study_view
from annotation.errors import AnnotationError
from annotation.models import Study
from judging.generate_form import GenerateForm
from judging.models import GenerationRun
from judging.sampled import as_dict, instances_with_texts, runs_of
from judging.services.generating import run_to_be
from judging.services.generating_estimates import ON_A_PAGE, Expected, estimate_generating
from judging.services.generating_instances import check_where
from judging.services.generating_tasks import Work, is_at_work, queue_generating, work_of
from judging.services.generating_templates import find_template, template_names
from judging.services.talks import check_cap


@dataclass(frozen=True)
class Row:
    """A system that was sampled: how, for how many instances so far, and whether anybody is at it."""

    run: GenerationRun
    instances: int
    work: Work | None
    at_work: bool

    @property
    def is_busy(self) -> bool:
        """Tell whether more texts are to be expected."""
        return self.at_work or (self.work is not None and self.work.under_way)


@require_safe
@study_view(*READERS)
def generate(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the form, and every system that was sampled here with all its settings."""
    if request.htmx:  # type: ignore[attr-defined]
        return TemplateResponse(request, "judging/generate.html#systems", {"study": study, **_systems(study)})
    return _page(request, study, GenerateForm(study=study))


@require_POST
@study_view(*READERS)
def estimate(request: HttpRequest, study: Study) -> HttpResponse:
    """Say what it would take, and offer to start it; nobody is asked and nothing is stored."""
    form, found = GenerateForm(request.POST, study=study), None
    if form.is_valid():
        chosen = form.cleaned_data
        try:
            check_cap(chosen["max_cost"], chosen["sampling"].endpoint)
            check_where(study, chosen["where"])
            run = run_to_be(study, chosen["system"], chosen["sampling"])
            found = estimate_generating(run, chosen["where"], most=ON_A_PAGE)
        except AnnotationError as error:
            form.add_error(None, str(error))
    status = 200 if found else 422
    if request.htmx:  # type: ignore[attr-defined]
        context = {"study": study, "form": form, "estimate": found}
        return TemplateResponse(request, "judging/generate.html#start", context, status=status)
    return _page(request, study, form, found, status=status)


@require_POST
@study_view(*READERS)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    """Have a worker sample the texts."""
    form = GenerateForm(request.POST, study=study)
    if form.is_valid():
        names = ("where", "in_flight", "max_cost")
        chosen = {name: form.cleaned_data[name] for name in names}
        try:
            queued = queue_generating(
                study,
                form.cleaned_data["system"],
                form.cleaned_data["sampling"],
                by=account_of(request).username,
                **chosen,
            )
        except AnnotationError as error:
            form.add_error(None, str(error))
        else:
            if not queued:
                messages.info(request, _("A worker is at it already."))
            return redirect("judging:generate", study.slug)
    return _page(request, study, form, status=422)


@require_safe
@study_view(*READERS)
def systems_file(request: HttpRequest, study: Study) -> HttpResponse:
    """Give every system that was sampled here, with everything that decided its texts, as JSON."""
    counts = instances_with_texts(study)
    listed = [{**as_dict(run), "instances": counts.get(run.name, 0)} for run in runs_of(study)]
    return JsonResponse(
        {"study": study.slug, "systems": listed},
        json_dumps_params={"ensure_ascii": False, "indent": 2},
        headers={"Content-Disposition": f'attachment; filename="{study.slug}-systems.json"'},
    )


def _systems(study: Study) -> dict[str, Any]:
    counts, works = instances_with_texts(study), work_of(study)
    rows = [Row(run, counts.get(run.name, 0), works.get(run.pk), is_at_work(run)) for run in runs_of(study)]
    return {"rows": rows, "instance_count": study.instances.count(), "busy": any(row.is_busy for row in rows)}


def _page(
    request: HttpRequest,
    study: Study,
    form: GenerateForm,
    found: Expected | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {
        "study": study,
        "form": form,
        "estimate": found,
        "templates": [find_template(name) for name in template_names()],
        **_systems(study),
    }
    return TemplateResponse(request, "judging/generate.html", context, status=status)
