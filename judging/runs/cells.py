"""The cells of a run: claimed, loaded, filled by a worker's session, and read again where the parser is newer."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.core.database.bulk_sql import update_rows
from annotation.core.reasons import reason
from annotation.models import Study
from judging.calls.budget import CallSizes
from judging.calls.cases import Case, Cell, Usage
from judging.calls.presentations import PAIR_FIELDS, present
from judging.calls.requests import Requests, setting_of, unparsed
from judging.calls.session import JudgmentPool, Session
from judging.calls.store import (
    READING,
    PendingWrites,
    result_values,
    stamp_of,
    store_makings,
    stored_answers,
    tables_shown,
    write,
)
from judging.jobs import leases
from judging.jobs.leases import HeartbeatReply
from judging.jobs.progress import RunWork
from judging.methods import AskingMethod
from judging.models import Completion, JudgeRun, Judgment, RunWorker

OWN = (
    *("pk", "pair", "question", "order", "repeat", "negated"),
    *("calls", "cached", "prompt_tokens", "completion_tokens", "cost"),
)
FIELDS = (*OWN, *(f"pair__{name}" for name in PAIR_FIELDS))
CHUNK = 500
REPARSED = (*READING, "prompt_version", "parser_version", "judged_at")


def free_cells(run: JudgeRun) -> QuerySet[Judgment]:
    """Return the open cells that no worker has claimed."""
    return run.judgments.filter(status=Judgment.Status.PENDING, worker=None)


@transaction.atomic
def claim(run: JudgeRun, worker: RunWorker, *, limit: int) -> list[int]:
    """Claim the next free cells for a worker, skipping those that another worker has locked, or none for one that was removed.

    The worker's row is locked, so that its removal waits for the claim, and releases these cells too.
    """
    if run.judge.params.get("together"):
        JudgeRun.objects.select_for_update().get(pk=run.pk)  # in turn: the questions of one call go to one worker
    if not leases.lock_worker(worker.pk):
        return []
    ids = next_free(run, limit)
    if ids:
        Judgment.objects.filter(pk__in=ids).update(worker=worker)
    return ids


def next_free(run: JudgeRun, limit: int) -> list[int]:
    """Return and lock the next free cells: those that failed before come last."""
    free = free_cells(run).order_by("pk")
    if connection.features.has_select_for_update_skip_locked:
        free = free.select_for_update(skip_locked=True)
    ids = list(free.filter(cause="").values_list("pk", flat=True)[:limit])
    return ids + list(free.exclude(cause="").values_list("pk", flat=True)[: limit - len(ids)])


def load(run: JudgeRun, ids: Sequence[int]) -> list[Cell]:
    """Load cells of a run in the order of these primary keys."""
    order_of = {pk: position for position, pk in enumerate(ids)}
    # The study's questions as they are now: their words may have changed since the run began.
    fields = ("question", "question_key", "question_description", "ties_allowed", "strength", "tie_kinds", "criteria")
    questions = Study.objects.only(*fields).get(pk=run.study_id).questions
    rows = list(Judgment.objects.filter(pk__in=ids).order_by().values_list(*FIELDS))
    rows.sort(key=lambda row: order_of[row[0]])
    paid: dict[int, set[int]] = defaultdict(set)  # the answers that open cells have already paid for
    begun = [row[0] for row in rows if row[8:11] != (None, None, None)]
    links = Judgment.completions.through.objects.filter(judgment__in=begun)
    for judgment, completion in links.values_list("judgment", "completion"):
        paid[judgment].add(completion)
    tables = tables_shown(run.judge, (row[1] for row in rows))
    cells = []
    for row in rows:
        pk, pair, question, order, repeat, negated, calls, cached, *spent = row[: len(OWN)]
        presentation = present(
            run.judge,
            row[len(OWN) :],
            question=questions[question],
            order=order,
            repeat=repeat,
            negated=negated,
            table=tables.get(pair),
            together=[questions[number] for number in run.questions],
        )
        drawn = frozenset(paid.get(pk, ()))
        fetched = calls - cached if calls else len(drawn)  # 0 calls: left unfinished by an earlier version
        cells.append(Cell(pk, order, repeat, presentation, Usage(*spent) if drawn else Usage(), fetched, drawn, cached))
    return cells


class RunWorkerSession(Session):
    """One worker's cells."""

    pool: JudgmentPool

    def __init__(self, job: RunWork, method: AskingMethod) -> None:
        self.job = job
        self.run = job.run
        setting = setting_of(job.run.judge)
        requests = Requests(job.run.judge, method)
        super().__init__(
            JudgmentPool(method, setting, requests),
            in_flight=job.run.in_flight,
            stop=job.stop,
            progress=job.progress,
            on_progress=job.on_progress,
        )
        self.stamp = stamp_of(job.run, method, setting, worker=job.worker.pk)

    def learn_sizes(self, sizes: CallSizes) -> None:
        """Learn from the stored answers of a capped run."""
        if self.run.max_cost is not None:
            sizes.learn_from_run(self.run)

    def send_heartbeat(self, *, in_flight: int, outstanding: Decimal, needed: Decimal) -> HeartbeatReply:
        """Renew the lease. What other workers have filled is counted too."""
        heartbeat = leases.send_heartbeat(self.job.worker, in_flight=in_flight, outstanding=outstanding, needed=needed)
        if heartbeat.lost:
            self.stamp = replace(self.stamp, worker=self.job.worker.pk)
        if heartbeat.others:
            self.job.count_done()
        return heartbeat

    def release_cases(self) -> None:
        """Release the open cells."""
        super().release_cases()
        released = Judgment.objects.filter(worker=self.job.worker, status=Judgment.Status.PENDING).update(worker=None)
        if self.job.cells_left is not None:
            self.job.cells_left += released
        self.exhausted = False

    def start_cases(self, limit: int) -> list[Case]:
        """Claim cells, and start their procedures."""
        if self.job.cells_left is not None:
            limit = min(limit, self.job.cells_left)
        elif self.run.judge.params.get("together"):  # no other worker makes the same call
            limit += -limit % len(self.run.questions)
        ids = claim(self.run, self.job.worker, limit=limit) if limit else []
        if self.job.cells_left is not None:
            self.job.cells_left -= len(ids)
        self.exhausted = len(ids) < limit or not limit
        return self.pool.start(load(self.run, ids)) if ids else []

    def store(self, writes: PendingWrites) -> None:
        """Store answers and verdicts."""
        if not writes:
            return
        write(writes, self.stamp)
        self.job.report(
            (result.reading.status for result in writes.results), cached=sum(result.cached for result in writes.results)
        )


def reparse_run(run: JudgeRun, method: AskingMethod) -> int:
    """Parse a run's answers again where an older parser did and return how many cells were updated.

    Their cost and number of calls stay as they are.
    """
    stamp = stamp_of(run, method, setting_of(run.judge))
    old = run.judgments.exclude(status__in=[Judgment.Status.PENDING, Judgment.Status.ERROR])
    old = old.exclude(calls=0).exclude(parser_version=method.parser_version)
    count = 0
    for pool, cases in replayed(run, method, old):
        for case in cases:
            # Rather than ask again, end a case whose stored answers can't be parsed any more. One that waits for a first
            # attempt stays as the older parser read it.
            waiting = [state for state in case.call_states if state.waiting]
            if not case.ended and waiting and all(state.attempt for state in waiting):
                case.end(unparsed(case.used[-1].reply if case.used else None, reason("no_answer_stored")))
        pool.advance(cases)
        results, now = pool.take_writes().results, timezone.now()
        rows = (
            [*result_values(result), result.prompt_version, stamp.parser_version, now, result.pk] for result in results
        )
        with transaction.atomic():
            update_rows(Judgment, REPARSED, rows)
            store_makings(results, stamp.tables)
        count += len(results)
    return count


def replayed(
    run: JudgeRun, method: AskingMethod, cells: QuerySet[Judgment]
) -> Iterator[tuple[JudgmentPool, list[Case]]]:
    """Yield pools of a run's cells, as far as their stored answers, refusals included, take them today."""
    setting, requests = setting_of(run.judge), Requests(run.judge, method)
    ids = list(cells.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(ids), CHUNK):
        chunk = ids[start : start + CHUNK]
        pool = JudgmentPool(method, setting, requests, replaying=True)
        pool.add_answers(stored_answers(Completion.objects.filter(judgments__in=chunk).distinct()))
        cases = pool.start(load(run, chunk))
        pool.advance(cases)
        yield pool, cases
