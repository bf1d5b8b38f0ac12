"""The pages of a study's judges and of one run: adding a judge, estimating, starting and steering runs, their results."""

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef, Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET
from django_htmx.http import HttpResponseClientRefresh

from annotation.core.http import attempt, is_htmx
from annotation.members.permissions import POST, READERS, study_view
from annotation.models import Study
from annotation.questions.questions import MAIN
from annotation.studies.questions import named_questions
from judging.calls.budget import longest_allowed
from judging.core.estimating import estimate_page
from judging.core.visibility import judges_seen_by
from judging.jobs import leases
from judging.methods import find_method
from judging.methods.sc2.record import MAKING
from judging.models import Completion, JudgeRun, Judgment
from judging.models.runs import LEFT_OUT
from judging.outcomes.provenance import provenance_of_run
from judging.review.comparing import PEOPLE
from judging.runs.figures import figures_of
from judging.runs.forms import JudgeForm, JudgmentFilterForm, JuryForm, RunForm
from judging.runs.judges import add_judge
from judging.runs.juries import add_jury
from judging.runs.method_groups import METHOD_GROUPS, OfferedMethod
from judging.runs.reopening import queue_retry
from judging.runs.services import cancel_run, pause_run, resume_run, run_again
from judging.runs.status import count_runs, counts_of_run, pairs_without_source, together
from judging.runs.usage import (
    calls_by_kind,
    failures_by_cause,
    failures_by_kind,
    pace_of,
    reported_costs,
    usage_by_run,
    usage_of,
)
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
    messages.success(request, f"Judge {judge} {'added' if is_new else 'exists already with these settings'}.")
    query = urlencode({"judge": judge.name})
    return redirect(f"{reverse('judging:judges', args=[study.slug])}?{query}#start")


@study_view(*READERS, methods=POST)
def new_jury(request: HttpRequest, study: Study) -> HttpResponse:
    """Add a jury of judges that have run on the study, and show it."""
    form = JuryForm(request.POST, study=study, judges=judges_seen_by(request.user))
    if form.is_valid() and (run := attempt(form, lambda: add_jury(study=study, **form.cleaned_data))):
        return redirect("judging:run", study.slug, run.pk)
    return _judges_page(request, study, jury_form=form, status=422)


@study_view(*READERS, methods=POST)
def estimate(request: HttpRequest, study: Study) -> HttpResponse:
    """Estimate a run and offer to start it. No call is made."""
    form = RunForm(request.POST, study=study, judges=judges_seen_by(request.user))
    return estimate_page(request, form, study, _judges_page, "judging/runs/judges.html#start", name="run_form")


@study_view(*READERS, methods=POST)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    """Queue a run, new or again."""
    form = RunForm(request.POST, study=study, judges=judges_seen_by(request.user))
    if form.is_valid() and (run := attempt(form, form.queue)):
        return redirect("judging:run", study.slug, run.pk)
    return _judges_page(request, study, run_form=form, status=422)


def _judges_page(
    request: HttpRequest,
    study: Study,
    *,
    judge_form: JudgeForm | None = None,
    run_form: RunForm | None = None,
    jury_form: JuryForm | None = None,
    estimate: Any = None,
    status: int = 200,
) -> HttpResponse:
    read_folder()  # offers new files too
    visible = judges_seen_by(request.user).select_related("endpoint", "table_endpoint", "prompt_file")
    stored = study.judge_runs.select_related("judge__endpoint", "judge__table_endpoint", "judge__prompt_file", "batch")
    runs = [run for run in stored if not run.judge.is_candidate]  # these stand with their tuning
    unused = visible.filter(~Exists(JudgeRun.objects.filter(judge=OuterRef("pk"))))
    run_form = run_form or RunForm(study=study, judges=visible, initial={"judge": request.GET.get("judge")})
    context = {
        "study": study,
        "runs": _rows(study, runs),
        "unused": unused[:MOST_UNUSED],
        "methods": {group: [_method(item) for item in offered] for group, offered in METHOD_GROUPS.items()},
        "judge_form": judge_form or JudgeForm(study=study, judges=visible),
        "jury_form": jury_form or JuryForm(study=study, judges=visible),
        "run_form": run_form,
        "may_start": bool(runs) or len(run_form["judge"]) > 1,  # a choice besides none
        "estimate": estimate,
    }
    return TemplateResponse(request, "judging/runs/judges.html", context, status=status)


def _rows(study: Study, runs: Sequence[JudgeRun]) -> list[tuple[Any, ...]]:
    """Return the rows of the list of runs: run, question, counts and usage.

    Runs have a row for each of their questions; the first one has the usage. A study's only question is not named.
    """
    counts, spent, questions = count_runs(study), usage_by_run(study), named_questions(study)
    counts |= {
        (run.pk, number): count for run in runs if run.judge.is_jury for number, count in counts_of_run(run).items()
    }
    return [
        (run, questions.get(number), counts.get((run.pk, number)), None if index else spent.get(run.pk))
        for run in runs
        for index, number in enumerate(run.questions)
    ]


def _method(offered: OfferedMethod) -> dict[str, Any]:
    """Describe a method: when to choose it, its calls, the first line of its docstring, and its options."""
    method = find_method(offered.name)
    description = (type(method).__doc__ or "").strip().partition("\n")[0]
    return {"offered": offered, "about": description, "options": dict(method.options)}


EXAMPLES, A_PAGE = 5, 50
FASTEST, SLOWEST = 2, 300  # seconds between two polls of a run's progress
SHARE_OF_TIME = 20  # counting takes at most a twentieth of the server's time, however large the run is
ACTIONS: Mapping[str, Callable[..., Any]] = {
    "pause": pause_run,
    "resume": resume_run,
    "cancel": cancel_run,
    "again": run_again,
    "retry": queue_retry,
}
UNDER_WAY = (JudgeRun.Status.QUEUED, JudgeRun.Status.RUNNING)


@require_GET
@study_view(*READERS)
def run(request: HttpRequest, study: Study, run_id: int) -> HttpResponse:
    """Show one run with live progress, the figures on its judge, and examples of failures."""
    judge_run = _find(study, run_id)
    progress = _progress(study, judge_run)
    if is_htmx(request):
        if not progress["active"]:
            return HttpResponseClientRefresh()  # the figures below are those of the start
        return TemplateResponse(request, "judging/runs/run.html#progress", progress)
    context = {
        **progress,
        "figures": [
            (named_questions(study).get(question), figures_of(judge_run, question=question))
            for question in judge_run.questions
        ],
        "kinds": calls_by_kind(judge_run),
        "provenance": provenance_of_run(judge_run, MAKING),
        "reported": reported_costs(judge_run),
        "examples": _examples(judge_run),
        "latest": _cells(judge_run).filter(status=Judgment.Status.PARSED).order_by("-judged_at", "-pk")[:EXAMPLES],
        "without_source": pairs_without_source(judge_run),
    }
    return TemplateResponse(request, "judging/runs/run.html", context)


@study_view(*READERS, methods=POST)
def steer(request: HttpRequest, study: Study, run_id: int) -> HttpResponse:
    """Pause, resume, cancel or restart a run, by the button pressed."""
    judge_run = _find(study, run_id)
    action = request.POST.get("action", "")
    if action not in ACTIONS:
        return TemplateResponse(
            request,
            "error.html",
            {"message": "A run can be paused, resumed, cancelled, run again or retried."},
            status=422,
        )
    by = {"by": request.user} if action == "retry" else {}
    ACTIONS[action](run=judge_run, **by)
    notices = {
        "pause": "The run is paused. Calls in flight end; no new one begins.",
        "resume": "The run continues as soon as a worker is free.",
        "again": "The run starts again as soon as a worker is free.",
        "retry": "Presentations without an answer are asked again.",
        "cancel": "The run is cancelled. Its answers are kept.",
    }
    messages.success(request, notices[action])
    return redirect("judging:run", study.slug, judge_run.pk)


@study_view(*READERS)
def run_judgments(request: HttpRequest, study: Study, run_id: int) -> HttpResponse:
    """List a run's judgments, filtered by outcome, order, question or data set."""
    judge_run = _find(study, run_id)
    if judge_run.judge.is_jury:  # has none of its own: its verdicts stand beside people's
        return redirect(f"{reverse('judging:compare', args=[study.slug])}?first={judge_run.judge.name}&second={PEOPLE}")
    datasets = sorted(study.instances.order_by().values_list("dataset", flat=True).distinct())
    form = JudgmentFilterForm(request.GET, study=study, datasets=datasets)
    filters = form.filters()
    rows = _cells(judge_run).filter(**filters).order_by("pk")
    if "status" not in filters:
        rows = rows.exclude(status=Judgment.Status.PENDING)
    page = Paginator(rows, A_PAGE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    context = {"study": study, "run": judge_run, "form": form, "page": page, "query": query.urlencode()}
    return TemplateResponse(request, "judging/runs/run_judgments.html", context)


def _find(study: Study, run_id: int) -> JudgeRun:
    runs = study.judge_runs.select_related(
        "judge__endpoint", "judge__table_endpoint", "judge__prompt_file", "batch", "study"
    )
    return get_object_or_404(runs, pk=run_id)


def _progress(study: Study, run: JudgeRun) -> dict[str, Any]:
    """Return a run's progress. The longer that takes, the less often the page polls."""
    began, now = perf_counter(), timezone.now()
    by_question, questions = counts_of_run(run), named_questions(study)
    counts = together(by_question.values())
    endpoint = run.judge.endpoint
    at_work = [worker for worker in run.workers.all() if leases.is_alive(worker)]
    active = run.status in UNDER_WAY
    progress = {
        "study": study,
        "run": run,
        "counts": counts,
        "counts_caption": (
            "Outcomes by question: A + tie + B + unparsed + refused + errors = asked"
            if len(by_question) > 1
            else f"A {counts.a} + tie {counts.tie} + B {counts.b} + unparsed {counts.unparsed} + "
            f"refused {counts.refused} + errors {counts.errors} = {counts.asked} asked"
        ),
        "by_question": [
            (questions.get(number), item, f"&question={questions[number].key}" if questions else "")
            for number, item in (by_question or {MAIN: counts}).items()
        ],
        "spent": usage_of(run.judgments.all(), endpoint.currency if endpoint else ""),
        "pace": pace_of(run, pending=counts.pending, now=now) if active else None,
        "failures": failures_by_kind(run) if counts.errors else [],
        "causes": failures_by_cause(run) if counts.errors or counts.refused else [],
        "workers": at_work,
        "in_flight": sum(worker.in_flight for worker in at_work),
        "limited": bool(longest_allowed(run.judge.params)),
        "active": active,
        "lost": run.status == JudgeRun.Status.RUNNING and not at_work,
    }
    took = perf_counter() - began
    return {**progress, "every": max(FASTEST, min(SLOWEST, round(took * SHARE_OF_TIME)))}


def _cells(run: JudgeRun) -> QuerySet[Judgment]:
    related = ("pair__matchup__instance", "pair__matchup__system_a", "pair__matchup__system_b")
    # Source texts are shown on a judgment's own page only.
    return run.judgments.select_related(*related).defer("pair__matchup__instance__source")


def _examples(run: JudgeRun) -> list[tuple[str, list[Judgment]]]:
    """Return the first judgments of each status without a verdict, with their answers."""
    stored = Completion.objects.exclude(LEFT_OUT).only("text", "finish_reason", "sample", "kind")
    texts = Prefetch("completions", stored.order_by("kind", "sample"))
    kinds = (Judgment.Status.UNPARSED, Judgment.Status.REFUSED, Judgment.Status.ERROR)
    return [
        (kind.label, list(_cells(run).filter(status=kind).order_by("pk").prefetch_related(texts)[:EXAMPLES]))
        for kind in kinds
    ]
