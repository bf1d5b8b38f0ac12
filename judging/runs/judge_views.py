"""The page of a study's judges: their runs, adding a judge, estimating and starting a run."""

from typing import Any

from django.contrib import messages
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from annotation.members.permissions import POST, READERS, study_view
from annotation.models import Study
from judging.core.fields import errors_on
from judging.core.visibility import judges_seen_by
from judging.methods import find_method
from judging.models import JudgeRun
from judging.runs.estimates import estimate as estimate_run
from judging.runs.forms import JudgeForm, RunForm, runnable_methods
from judging.runs.judges import add_judge
from judging.runs.services import queue_run
from judging.runs.status import count_runs
from judging.runs.usage import usage_by_run
from judging.wordings.prompt_files import read_folder

MOST_UNUSED = 50


@study_view(*READERS)
def judges(request: HttpRequest, study: Study) -> HttpResponse:
    """List a study's judges and their runs, with forms to add a judge and to start a run."""
    return _judges_page(request, study)


@study_view(*READERS, methods=POST)
def new_judge(request: HttpRequest, study: Study) -> HttpResponse:
    """Add a judge, for all studies of the group."""
    form = JudgeForm(request.POST, study=study, judges=judges_seen_by(request.user))
    if not form.is_valid():
        return _judges_page(request, study, judge_form=form, status=422)
    judge, is_new = add_judge(**form.cleaned_data)
    made, kept = _("Judge %(judge)s added."), _("Judge %(judge)s is there already, with these settings.")
    messages.success(request, (made if is_new else kept) % {"judge": judge})
    return redirect("judging:judges", study.slug)


@study_view(*READERS, methods=POST)
def estimate(request: HttpRequest, study: Study) -> HttpResponse:
    """Estimate a run and offer to start it; no call is made."""
    form = RunForm(request.POST, study=study, judges=judges_seen_by(request.user))
    found = None
    if form.is_valid():
        chosen = {name: form.cleaned_data[name] for name in ("judge", "batch", "only", "limit", "way")}
        with errors_on(form):
            found = estimate_run(study=study, **chosen)
    status = 200 if found else 422
    context = {"study": study, "run_form": form, "estimate": found}
    if request.htmx:  # type: ignore[attr-defined]
        return TemplateResponse(request, "judging/runs/judges.html#start", context, status=status)
    return _judges_page(request, study, run_form=form, estimate=found, status=status)


@study_view(*READERS, methods=POST)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    """Queue a run, new or again."""
    form = RunForm(request.POST, study=study, judges=judges_seen_by(request.user))
    if form.is_valid():
        with errors_on(form):
            return redirect("judging:run", study.slug, queue_run(study=study, **form.cleaned_data).pk)
    return _judges_page(request, study, run_form=form, status=422)


def _judges_page(
    request: HttpRequest,
    study: Study,
    *,
    judge_form: JudgeForm | None = None,
    run_form: RunForm | None = None,
    estimate: Any = None,
    status: int = 200,
) -> HttpResponse:
    read_folder()  # offers new files too
    seen = judges_seen_by(request.user).select_related("endpoint", "prompt_file")
    runs = list(study.judge_runs.select_related("judge__endpoint", "judge__prompt_file", "batch"))
    counts, spent = count_runs(study), usage_by_run(study)
    unused = seen.filter(~Exists(JudgeRun.objects.filter(judge=OuterRef("pk"))))
    context = {
        "study": study,
        "runs": [(run, counts.get(run.pk), spent.get(run.pk)) for run in runs],
        "unused": unused[:MOST_UNUSED],
        "methods": [_method(name) for name in runnable_methods()],
        "judge_form": judge_form or JudgeForm(study=study, judges=seen),
        "run_form": run_form or RunForm(study=study, judges=seen, initial={"judge": request.GET.get("judge")}),
        "estimate": estimate,
    }
    return TemplateResponse(request, "judging/runs/judges.html", context, status=status)


def _method(name: str) -> dict[str, Any]:
    """Describe a method: the first line of its docstring, and its options."""
    method = find_method(name)
    about = (type(method).__doc__ or "").strip().partition("\n")[0]
    return {"name": name, "about": about, "options": dict(method.options), "asks": method.needs_endpoint}
