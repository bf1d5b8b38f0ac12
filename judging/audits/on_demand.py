"""A run whose presentations are added as a ranking needs them, the judge that answers them, and what it takes at most."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.core.database.bulk_sql import chunked, insert_rows
from annotation.core.reasons import reason
from annotation.core.tasks.processes import is_gone, this_process
from annotation.models import Study
from annotation.models.jobs import lease_expired
from annotation.questions.questions import MAIN
from judging.audits.services import SHARED
from judging.core.errors import BadSettings, RunBusy
from judging.core.pricing import check_cap
from judging.jobs.leases import has_live_worker
from judging.methods import AskingMethod, Baseline, find_method
from judging.models import Judge, JudgeRun, Judgment, RunHolder
from judging.runs.cells import free_cells
from judging.runs.estimates import RunEstimate, estimate
from judging.runs.judges import store_judge
from judging.runs.pair_filters import ON_DEMAND, PairFilter
from judging.runs.services import NEW_CELL_FIELDS, NEW_CELL_VALUES, check, locked_run, open_failed

Asked = tuple[int, str]  # a pair's primary key, and the order in which its texts are shown
Found = dict[Asked, Judgment]
LONGEST = 80 - len("-rank")


def asker(judge: Judge) -> Judge:
    """Return a judge like this one that shows pairs in the order that a ranking asks for, stored or not.

    It has a name of its own (`NAME-rank`): as the judge's, answers on chosen pairs would bias its findings.
    Raises: BadSettings if the judge can't be asked
    """
    method = find_method(judge.method)
    if not isinstance(method, AskingMethod | Baseline):
        raise BadSettings(f"judge {judge} can't be asked: its verdicts are imported")
    settings = {name: getattr(judge, name) for name in (*SHARED, "prompt_file", "params")}
    return Judge(name=f"{judge.name[:LONGEST]}-rank", order=Judge.OrderPolicy.BOTH, **settings)


def estimate_on_demand(study: Study, judge: Judge, limit: int, *, question: int = MAIN) -> RunEstimate:
    """Estimate so many presentations of any pairs, in proportion to all pairs of the study. No call is made."""
    like = asker(judge)
    stored = Judge.objects.select_related("endpoint", "prompt_file").filter(name=like.name).first()
    every = estimate(study=study, judge=stored or like, only=PairFilter(off_hits=True), questions=[question])
    share = limit / max(1, every.presentations)
    counts = ("calls", "cached", "prompt_tokens", "completion_tokens")
    return replace(
        every,
        presentations=limit,
        pending=limit,
        sampled=min(every.sampled, limit - 1),  # never exact: it is a bound
        kinds=(),
        cost=None if every.cost is None else every.cost * Decimal(share),
        **{name: round(share * getattr(every, name)) for name in counts},
    )


@transaction.atomic
def start_on_demand(
    *,
    study: Study,
    judge: Judge,
    question: int = MAIN,
    in_flight: int | None = None,
    max_cost: Decimal | None = None,
) -> JudgeRun:
    """Return the run of a judge's `asker`, new or as it is. Presentations that ended in an error are opened.

    Those that an earlier ranking was stopped before are removed: this one may not need them.

    Raises: BadSettings if the judge can't be asked about the study, or its cost can't be capped
    """
    if judge.is_jury:
        raise BadSettings(reason("jury_ranks_not", judge=judge.name))
    copied = store_judge(asker(judge))
    check(study, copied, [question])
    run = locked_run(study, copied, [question], only=ON_DEMAND, status=JudgeRun.Status.PAUSED)
    run.in_flight = in_flight or run.in_flight
    run.max_cost = run.max_cost if max_cost is None else max_cost
    check_cap(run.max_cost, *run.judge.endpoints)
    free_cells(run).filter(calls=0).delete()
    open_failed(run)
    run.save(update_fields=["in_flight", "max_cost"])
    return run


@contextmanager
def asking_alone(**settings: Any) -> Iterator[JudgeRun]:
    """Hold the run of `start_on_demand` while a ranking asks: two at once would remove and count each other's presentations.

    Raises: RunBusy while another process holds it; and as `start_on_demand`
    """
    with transaction.atomic():
        run = start_on_demand(**settings)  # locked
        check_free(run)
        lease = {"executor": this_process(), "renewed_at": timezone.now()}
        RunHolder.objects.update_or_create(run=run, defaults=lease)
    try:
        yield run
    finally:
        RunHolder.objects.filter(run=run, executor=lease["executor"]).delete()


def check_free(run: JudgeRun) -> None:
    """Check that no process holds a run.

    Raises: RunBusy
    """
    holder = RunHolder.objects.filter(run=run).first()
    if holder is None or is_gone(holder.executor):
        return
    if not lease_expired(holder.renewed_at) or has_live_worker(run):
        raise RunBusy(reason("asked_for_another", judge=str(run.judge), study=str(run.study)))


@transaction.atomic
def add_presentations(run: JudgeRun, questions: Iterable[Asked]) -> None:
    """Add the missing ones of these presentations to a run, and open it for workers."""
    (question,) = run.questions
    RunHolder.objects.filter(run=run).update(renewed_at=timezone.now())
    rows = [(run.pk, pair, order, 0, False, question, *NEW_CELL_VALUES.values()) for pair, order in questions]
    insert_rows(Judgment, NEW_CELL_FIELDS, rows)
    JudgeRun.objects.filter(pk=run.pk).exclude(status=JudgeRun.Status.RUNNING).update(
        status=JudgeRun.Status.QUEUED, message=""
    )


def answers_to(run: JudgeRun, questions: Iterable[Asked]) -> Found:
    """Return a run's judgments of these presentations that were asked."""
    remaining = set(questions)
    cells = run.judgments.for_question(run.questions[0]).exclude(status=Judgment.Status.PENDING)
    return {
        (cell.pair_id, cell.order): cell
        for part in chunked(sorted({pair for pair, _ in remaining}))
        for cell in cells.filter(pair__in=part).only("pair_id", "order", "status", "verdict", "p_b")
        if (cell.pair_id, cell.order) in remaining
    }
