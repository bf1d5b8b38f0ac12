"""The pages of one run: progress, figures, judgments; pausing, resuming and cancelling it."""

from time import perf_counter
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from annotation.members.permissions import POST, READERS, study_view
from annotation.models import Study
from judging.jobs import leases
from judging.models import Completion, JudgeRun, Judgment
from judging.runs.figures import figures_of
from judging.runs.forms import JudgmentFilterForm
from judging.runs.services import cancel_run, pause_run, resume_run, run_again
from judging.runs.status import count_judgments, pairs_without_source
from judging.runs.usage import calls_by_kind, failures_by_kind, pace_of, usage_of

EXAMPLES, A_PAGE = 5, 50
FASTEST, SLOWEST = 2, 300  # seconds between two polls of a run's progress
SHARE_OF_TIME = 20  # counting takes at most a twentieth of the server's time, however large the run is
ACTIONS = {"pause": pause_run, "resume": resume_run, "cancel": cancel_run, "again": run_again}
UNDER_WAY = (JudgeRun.Status.QUEUED, JudgeRun.Status.RUNNING)


@require_GET
@study_view(*READERS)
def run(request: HttpRequest, study: Study, run_id: int) -> HttpResponse:
    """Show one run with live progress, the figures on its judge, and examples of failures."""
    found = _find(study, run_id)
    progress = _progress(study, found)
    if request.htmx:  # type: ignore[attr-defined]
        return TemplateResponse(request, "judging/runs/run.html#progress", progress)
    context = {
        **progress,
        "figures": figures_of(found),
        "kinds": calls_by_kind(found),
        "examples": _examples(found),
        "latest": _cells(found).filter(status=Judgment.Status.PARSED).order_by("-judged_at", "-pk")[:EXAMPLES],
        "without_source": pairs_without_source(found),
    }
    return TemplateResponse(request, "judging/runs/run.html", context)


@study_view(*READERS, methods=POST)
def steer(request: HttpRequest, study: Study, run_id: int) -> HttpResponse:
    """Pause, resume, cancel or restart a run, by the button pressed."""
    found = _find(study, run_id)
    action = request.POST.get("action", "")
    if action not in ACTIONS:
        return TemplateResponse(
            request, "error.html", {"message": _("A run can be paused, resumed, cancelled or run again.")}, status=422
        )
    ACTIONS[action](run=found)
    notices = {
        "pause": _("The run is paused: calls under way end, no new one begins."),
        "resume": _("The run continues as soon as a worker takes it."),
        "again": _("The run starts again as soon as a worker takes it up."),
        "cancel": _("The run is cancelled; what was answered is kept."),
    }
    messages.success(request, notices[action])
    return redirect("judging:run", study.slug, found.pk)


@study_view(*READERS)
def run_judgments(request: HttpRequest, study: Study, run_id: int) -> HttpResponse:
    """List a run's judgments, filtered by outcome, order, question or data set."""
    found = _find(study, run_id)
    datasets = sorted(study.instances.order_by().values_list("dataset", flat=True).distinct())
    form = JudgmentFilterForm(request.GET, datasets=datasets)
    chosen = form.filters()
    rows = _cells(found).filter(**chosen).order_by("pk")
    if "status" not in chosen:
        rows = rows.exclude(status=Judgment.Status.PENDING)
    page = Paginator(rows, A_PAGE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    context = {"study": study, "run": found, "form": form, "page": page, "query": query.urlencode()}
    return TemplateResponse(request, "judging/runs/run_judgments.html", context)


def _find(study: Study, run_id: int) -> JudgeRun:
    runs = study.judge_runs.select_related("judge__endpoint", "judge__prompt_file", "batch", "study")
    return get_object_or_404(runs, pk=run_id)


def _progress(study: Study, found: JudgeRun) -> dict[str, Any]:
    """Return a run's progress; the longer that takes, the less often the page polls."""
    began, now = perf_counter(), timezone.now()
    counts = count_judgments(found.judgments.all())
    endpoint = found.judge.endpoint
    at_work = [worker for worker in found.workers.all() if leases.is_alive(worker)]
    active = found.status in UNDER_WAY
    progress = {
        "study": study,
        "run": found,
        "counts": counts,
        "spent": usage_of(found.judgments.all(), endpoint.currency if endpoint else ""),
        "pace": pace_of(found, pending=counts.pending, now=now) if active else None,
        "failures": failures_by_kind(found) if counts.errors else [],
        "workers": at_work,
        "in_flight": sum(worker.in_flight for worker in at_work),
        "active": active,
        "lost": found.status == JudgeRun.Status.RUNNING and not at_work,
    }
    took = perf_counter() - began
    return {**progress, "every": max(FASTEST, min(SLOWEST, round(took * SHARE_OF_TIME)))}


def _cells(found: JudgeRun) -> QuerySet[Judgment]:
    related = ("pair__matchup__instance", "pair__matchup__system_a", "pair__matchup__system_b")
    # Source texts are shown on a judgment's own page only.
    return found.judgments.select_related(*related).defer("pair__matchup__instance__source")


def _examples(found: JudgeRun) -> list[tuple[str, list[Judgment]]]:
    """Return the first judgments of each status without a verdict, with their answers."""
    texts = Prefetch(
        "completions", Completion.objects.only("text", "finish_reason", "sample", "kind").order_by("kind", "sample")
    )
    kinds = (Judgment.Status.UNPARSED, Judgment.Status.REFUSED, Judgment.Status.ERROR)
    return [
        (str(kind.label), list(_cells(found).filter(status=kind).order_by("pk").prefetch_related(texts)[:EXAMPLES]))
        for kind in kinds
    ]
