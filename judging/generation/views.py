"""The pages for sampling a system's texts: the form, the estimate, the status and the sampled systems."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.response import TemplateResponse

from annotation.core.http import is_htmx
from annotation.members.permissions import POST, READERS, account_of, study_view
from annotation.models import Study
from judging.core.estimating import estimate_page, start_page
from judging.generation.forms import GenerateForm
from judging.generation.prompt_templates import TEMPLATES, find_template
from judging.generation.sampled_systems import as_dict, instances_with_texts, runs_of


@study_view(*READERS)
def generate(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the form, and every sampled system with its settings."""
    if is_htmx(request):
        return TemplateResponse(
            request, "judging/generation/generate.html#systems", {"study": study, **_systems(study)}
        )
    return _page(request, study, form=GenerateForm(study=study))


@study_view(*READERS, methods=POST)
def estimate(request: HttpRequest, study: Study) -> HttpResponse:
    """Estimate the sampling, and offer to start it. No call is made and nothing is stored."""
    form = GenerateForm(request.POST, study=study)
    return estimate_page(request, form, study, _page, "judging/generation/generate.html#start")


@study_view(*READERS, methods=POST)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    """Queue the sampling of the texts."""
    form = GenerateForm(request.POST, study=study)
    return start_page(request, form, study, _page, by=account_of(request).username)


@study_view(*READERS)
def systems_file(request: HttpRequest, study: Study) -> HttpResponse:
    """Return every sampled system with its settings as JSON."""
    counts = instances_with_texts(study)
    listed = [{**as_dict(run), "instances": counts.get(run.name, 0)} for run in runs_of(study)]
    return JsonResponse(
        {"study": study.slug, "systems": listed},
        json_dumps_params={"ensure_ascii": False, "indent": 2},
        headers={"Content-Disposition": f'attachment; filename="{study.slug}-systems.json"'},
    )


def _systems(study: Study) -> dict[str, Any]:
    counts = instances_with_texts(study)
    rows = [(run, counts.get(run.name, 0)) for run in runs_of(study)]
    return {"rows": rows, "instance_count": study.instances.count(), "busy": any(run.is_busy for run, _count in rows)}


def _page(
    request: HttpRequest, study: Study, *, form: GenerateForm, estimate: Any = None, status: int = 200
) -> HttpResponse:
    context: dict[str, Any] = {
        "study": study,
        "form": form,
        "estimate": estimate,
        "templates": [find_template(name) for name in TEMPLATES],
        **_systems(study),
    }
    return TemplateResponse(request, "judging/generation/generate.html", context, status=status)
