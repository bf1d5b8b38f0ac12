"""A study's judges: what each has done, adding one, and starting a run after seeing what it will take."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.access import READERS, study_view
from annotation.errors import UnknownName
from annotation.models import Study
from judging.errors import JudgingError
from judging.forms import JudgeForm, RunForm, runnable_methods
from judging.judges import find_method
from judging.services.estimates import estimate as estimate_run
from judging.services.judges import add_judge
from judging.services.prompt_files import read_folder
from judging.services.runs import queue_run
from judging.services.status import count_runs
from judging.sharing import judges_seen_by
from judging.spending import spent_by_run

MOST_IDLE = 50


@require_safe
@study_view(*READERS)
def judges(request: HttpRequest, study: Study) -> HttpResponse:
    """List a study's judges and what they have done, with forms to add one and to start a run."""
    return _judges_page(request, study)


@require_POST
@study_view(*READERS)
def new_judge(request: HttpRequest, study: Study) -> HttpResponse:
    """Add a judge; it is then there for every study of the group."""
    form = JudgeForm(request.POST, study=study, judges=judges_seen_by(request.user))
    if not form.is_valid():
        return _judges_page(request, study, judge_form=form, status=422)
    judge, is_new = add_judge(**form.cleaned_data)
    made, kept = _("Judge %(judge)s added."), _("Judge %(judge)s is there already, with these settings.")
    messages.success(request, (made if is_new else kept) % {"judge": judge})
    return redirect("judging:judges", study.slug)


@require_POST
@study_view(*READERS)
def estimate(request: HttpRequest, study: Study) -> HttpResponse:
    """Say what a run would take, and offer to start it; nothing is made and nobody is asked."""
    form = RunForm(request.POST, study=study, judges=judges_seen_by(request.user))
    found = None
    if form.is_valid():
        chosen = {name: form.cleaned_data[name] for name in ("judge", "batch", "only", "limit", "way")}
        try:
            found = estimate_run(study=study, **chosen)
        except (JudgingError, UnknownName) as error:
            form.add_error(None, str(error))
    status = 200 if found else 422
    context = {"study": study, "run_form": form, "estimate": found}
    if request.htmx:  # type: ignore[attr-defined]
        return TemplateResponse(request, "judging/judges.html#start", context, status=status)
    return _judges_page(request, study, run_form=form, estimate=found, status=status)


@require_POST
@study_view(*READERS)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    """Start a run, or start it again; a worker does the work."""
    form = RunForm(request.POST, study=study, judges=judges_seen_by(request.user))
    if not form.is_valid():
        return _judges_page(request, study, run_form=form, status=422)
    try:
        run = queue_run(study=study, **form.cleaned_data)
    except (JudgingError, UnknownName) as error:
        form.add_error(None, str(error))
        return _judges_page(request, study, run_form=form, status=422)
    return redirect("judging:run", study.slug, run.pk)


def _judges_page(
    request: HttpRequest,
    study: Study,
    *,
    judge_form: JudgeForm | None = None,
    run_form: RunForm | None = None,
    estimate: Any = None,
    status: int = 200,
) -> HttpResponse:
    read_folder()  # what was put there meanwhile is offered as well
    seen = judges_seen_by(request.user).select_related("endpoint", "prompt_file")
    runs = list(study.judge_runs.select_related("judge__endpoint", "judge__prompt_file", "batch"))
    counts, spent = count_runs(study), spent_by_run(study)
    idle = seen.exclude(pk__in={run.judge_id for run in runs})
    context = {
        "study": study,
        "runs": [(run, counts.get(run.pk), spent.get(run.pk)) for run in runs],
        "idle": idle[:MOST_IDLE],
        "methods": [_method(name) for name in runnable_methods()],
        "judge_form": judge_form or JudgeForm(study=study, judges=seen),
        "run_form": run_form or RunForm(study=study, judges=seen, initial={"judge": request.GET.get("judge")}),
        "estimate": estimate,
    }
    return TemplateResponse(request, "judging/judges.html", context, status=status)


def _method(name: str) -> dict[str, Any]:
    """Say what a method does: the first line of its description, and the options that it heeds."""
    method = find_method(name)
    about = (type(method).__doc__ or "").strip().partition("\n")[0]
    return {"name": name, "about": about, "options": dict(method.options), "asks": method.needs_endpoint}
