"""A study's judges and their runs."""

from django.contrib import messages
from django.db.models import Prefetch
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST, require_safe

from annotation.access import READERS, study_view
from annotation.models import Study
from judging.forms import JudgeForm, RunForm
from judging.models import Completion, JudgeRun, Judgment
from judging.services import leases
from judging.services.judges import add_judge
from judging.services.runs import queue_run
from judging.services.status import count_judgments, count_runs, pairs_without_source
from judging.sharing import judges_seen_by

EXAMPLES = 20


@require_safe
@study_view(*READERS)
def judges(request: HttpRequest, study: Study) -> HttpResponse:
    """List the judges' runs on a study, with forms to add a judge and to start a run."""
    return _judges_page(request, study)


@require_POST
@study_view(*READERS)
def new_judge(request: HttpRequest, study: Study) -> HttpResponse:
    """Add a judge; it is then there for every study of the group."""
    form = JudgeForm(request.POST, judges=judges_seen_by(request.user))
    if not form.is_valid():
        return _judges_page(request, study, judge_form=form, status=422)
    judge, is_new = add_judge(**form.cleaned_data)
    made, kept = _("Judge %(judge)s added."), _("Judge %(judge)s is there already, with these settings.")
    messages.success(request, (made if is_new else kept) % {"judge": judge})
    return redirect("judging:judges", study.slug)


@require_POST
@study_view(*READERS)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    """Start a run, or resume it; a worker does the work."""
    form = RunForm(request.POST, study=study, judges=judges_seen_by(request.user))
    if not form.is_valid():
        return _judges_page(request, study, run_form=form, status=422)
    run = queue_run(study=study, **form.cleaned_data)
    return redirect("judging:run", study.slug, run.pk)


@require_GET
@study_view(*READERS)
def run(request: HttpRequest, study: Study, run_id: int) -> HttpResponse:
    """Show one run with live progress, and its judgments without a verdict."""
    found = study.judge_runs.select_related("judge__endpoint", "batch").filter(pk=run_id).first()
    if found is None:
        raise Http404(f"no run {run_id} in {study.slug}")
    progress = {
        "study": study,
        "run": found,
        "counts": count_judgments(found.judgments.all()),
        "active": _is_active(found),
        "lost": found.status == JudgeRun.Status.RUNNING and not leases.is_alive(found),
    }
    if request.htmx:  # type: ignore[attr-defined]
        return TemplateResponse(request, "judging/run.html#progress", progress)
    texts = Prefetch("completions", Completion.objects.only("text", "finish_reason", "sample").order_by("sample"))
    cells = found.judgments.select_related("pair__matchup__instance")
    failed = cells.filter(status__in=["unparsed", "refused", "error"]).order_by("status", "pk")
    return TemplateResponse(
        request,
        "judging/run.html",
        {
            **progress,
            "without_source": pairs_without_source(found),
            "failed": failed.prefetch_related(texts)[:EXAMPLES],
            "latest": cells.filter(status=Judgment.Status.PARSED).order_by("-judged_at", "-pk")[:EXAMPLES],
        },
    )


def _is_active(found: JudgeRun) -> bool:
    """Tell whether the run's numbers may still move without anybody's doing."""
    return found.status in (JudgeRun.Status.QUEUED, JudgeRun.Status.RUNNING)


def _judges_page(
    request: HttpRequest,
    study: Study,
    *,
    judge_form: JudgeForm | None = None,
    run_form: RunForm | None = None,
    status: int = 200,
) -> HttpResponse:
    seen = judges_seen_by(request.user)
    runs = list(study.judge_runs.select_related("judge__endpoint", "batch"))
    counts = count_runs(study)
    context = {
        "study": study,
        "runs": [(one, counts.get(one.pk)) for one in runs],
        "judge_form": judge_form or JudgeForm(judges=seen),
        "run_form": run_form or RunForm(study=study, judges=seen),
    }
    return TemplateResponse(request, "judging/judges.html", context, status=status)
