"""Procedures outside of a judge's run, by the engine of runs. Running one again repeats no answered call."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Generic, TypeVar

from annotation.core.errors import Interrupted
from annotation.core.reasons import Reason, reason
from annotation.core.tasks.stopping import StopFlag
from judging.calls.budget import CallSizes
from judging.calls.cases import Case, Cell, FailedCall, StoredAnswer, Usage
from judging.calls.engine import carry_out
from judging.calls.requests import AdhocRequests, Request, Requests
from judging.calls.session import ProcedurePool, Session
from judging.calls.store import REPLY_FIELDS, USAGE_FIELDS, PendingWrites, cached_rows, write_answers
from judging.core.errors import RunStopped, StatusChanged, UnparsedVerdict
from judging.core.pricing import check_cap
from judging.endpoints.retrying import MakeClient, checked, retrying_client
from judging.jobs import leases
from judging.jobs.bounds import check_bounds
from judging.jobs.leases import HeartbeatReply
from judging.jobs.progress import OnProgress, Progress, ignore_progress
from judging.methods import Call, Reply
from judging.models import Endpoint, JudgeRun, Judgment
from judging.models.jobs import BilledJob

T = TypeVar("T")
# Like a judge's procedure, with any type of result.
AdhocProcedure = Generator[Sequence[Call], list[Any], T]
IN_FLIGHT = 8
Row = TypeVar("Row", bound=BilledJob)
TAKEN_OVER = "taken_over"


@dataclass
class ProcedureUsage:
    """The usage of a procedure.

    calls  : answers that were paid for; `cached`: answers from the cache
    total  : tokens and money of the calls; `None` where a part is unknown
    failed : calls without an answer
    """

    calls: int = 0
    cached: int = 0
    total: Usage = field(default_factory=Usage)
    failed: int = 0

    def add_call(self, usage: Usage) -> None:
        """Add a call that was paid for."""
        self.calls += 1
        self.total.add(usage)


@dataclass(frozen=True)
class ProcedureResult(Generic[T]):
    """The result and usage of a procedure."""

    result: T
    usage: ProcedureUsage


def run_procedure(
    procedure: AdhocProcedure[T],
    *,
    endpoint: Endpoint,
    requests: Requests | None = None,
    in_flight: int = IN_FLIGHT,
    max_cost: Decimal | None = None,
    since: datetime | None = None,
    stop: StopFlag | None = None,
    on_progress: OnProgress = ignore_progress,
    make_client: MakeClient = retrying_client,
) -> ProcedureResult[T]:
    """Make a procedure's calls until it returns. Running it again resumes it.

    max_cost : in the endpoint's currency; stored answers from `since` on count towards it
    Raises: RunStopped if it can't continue; Interrupted if `stop` was set; CapReached; UnparsedVerdict if a required
    answer can't be read.
    """
    check_cap(max_cost, endpoint)
    session = ProcedureSession(
        procedure,
        endpoint,
        requests or AdhocRequests(endpoint),
        in_flight=in_flight,
        max_cost=max_cost,
        since=since,
        stop=stop or StopFlag(),
        on_progress=on_progress,
    )
    try:
        with checked(endpoint):
            carry_out(session, endpoint, make_client)
    finally:
        procedure.close()
    if session.case is None or session.case.reading is None:
        raise Interrupted
    return ProcedureResult(session.case.reading.outcome, session.usage)


class CountingPool(ProcedurePool):
    """Counts the answers from the cache, each once, and those from `since` on as paid for."""

    def __init__(self, requests: Requests, *, since: datetime | None) -> None:
        super().__init__(requests)
        self.since = since
        self.usage = ProcedureUsage()
        self.counted: set[int | None] = set()

    def cached(self, requests: Sequence[Request]) -> Iterator[StoredAnswer]:
        """Yield the answers in the cache."""
        fields = ("pk", "created_at", *REPLY_FIELDS, *USAGE_FIELDS)
        for key, pk, created_at, *values in cached_rows([request.key for request in requests], *fields):
            reply, usage = values[: len(REPLY_FIELDS)], Usage(*values[len(REPLY_FIELDS) :])
            if pk not in self.counted and self.since is not None and created_at >= self.since:
                self.usage.add_call(usage)
            elif pk not in self.counted:
                self.usage.cached += 1
            self.counted.add(pk)
            yield StoredAnswer(key, Reply(*reply), pk, usage)


class AdhocSession(Session):
    """Procedures of one process alone, which bears their cost.

    spent_before : what counts towards the cap besides
    """

    pool: CountingPool

    def __init__(
        self,
        endpoint: Endpoint,
        requests: Requests,
        *,
        in_flight: int,
        max_cost: Decimal | None,
        since: datetime | None,
        stop: StopFlag,
        on_progress: OnProgress,
        spent_before: Decimal = Decimal(0),
    ) -> None:
        pool = CountingPool(requests, since=since)
        super().__init__(pool, in_flight=in_flight, stop=stop, progress=Progress(), on_progress=on_progress)
        self.endpoint = endpoint
        self.max_cost = max_cost
        self.spent_before = spent_before
        self.usage = pool.usage
        self._calls_stored = 0

    def learn_sizes(self, sizes: CallSizes) -> None:
        """Nothing is known beforehand."""

    def note_failure(self, failed: FailedCall) -> Exception | None:
        """Stop unless the request alone was rejected."""
        self.usage.failed += 1
        return super().note_failure(failed) if failed.rejected else no_answer(failed.reason)

    def store(self, writes: PendingWrites) -> Exception | None:
        """Store answers, and count what they took."""
        write_answers(writes.answers)
        self.pool.counted.update(stored.pk for stored in writes.answers)
        for stored in writes.answers:
            self.usage.add_call(stored.usage)
        self._calls_stored += len(writes.answers)
        if self._calls_stored < self.usage.calls:  # paid before, and found in the cache: the budget is smaller
            self._calls_stored, self._next_heartbeat = self.usage.calls, 0.0
        self.progress.cached = self.usage.cached
        return None

    def send_heartbeat(self, *, in_flight: int, outstanding: Decimal, needed: Decimal) -> HeartbeatReply:
        """Return what may be spent, and the share of the endpoint's limits."""
        spent = self.spent_before + (self.usage.total.cost or Decimal(0))
        return HeartbeatReply(
            JudgeRun.Status.RUNNING,
            self.in_flight,
            reserved=None if self.max_cost is None else max(Decimal(0), self.max_cost - spent),
            cap=self.max_cost,
            spent=spent,
            endpoint=self.endpoint,
            tables=self.pool.requests.tables,
            limits=leases.limits_of(
                self.endpoint, self.pool.requests.tables, sharers=lambda item: 1 + self.count_sharers(item)
            ),
        )

    def count_sharers(self, endpoint: Endpoint) -> int:
        """Count the other processes that use an endpoint: workers of judge runs."""
        return leases.count_workers(endpoint)


class ProcedureSession(AdhocSession):
    """A single procedure."""

    def __init__(self, procedure: AdhocProcedure[T], endpoint: Endpoint, requests: Requests, **settings: Any) -> None:
        super().__init__(endpoint, requests, **settings)
        self.procedure = procedure
        self.case: Case | None = None

    def start_cases(self, limit: int) -> list[Case]:
        """Start the procedure."""
        self.exhausted = True
        self.case = Case(Cell(0), self.procedure)
        return self.pool.add_cases([self.case])

    def store(self, writes: PendingWrites) -> Exception | None:
        """Store answers. A procedure that ended without a result can't continue."""
        super().store(writes)
        if self.case is None:
            return None
        self.progress.total, self.progress.done = self.case.asked, self.case.asked - self.case.unanswered
        reading = self.case.reading
        if reading is None or reading.status == Judgment.Status.PARSED:
            return None
        if reading.status == Judgment.Status.ERROR:
            return no_answer(reading.failure)
        if reading.status == Judgment.Status.REFUSED:
            return UnparsedVerdict(reason("model_declined", why=reading.failure))
        if not self.case.used:
            return UnparsedVerdict(reading.failure)
        return UnparsedVerdict(reason("last_answer", why=reading.failure, text=self.case.used[-1].reply.text[-200:]))


def no_answer(error: Reason) -> RunStopped:
    """Return the error for a call without an answer."""
    return RunStopped(reason("no_answer", error=error))


class BilledSession(AdhocSession, Generic[Row]):
    """Procedures of one process that holds a job, whose row keeps what they cost.

    Once another process has taken the lease, nothing more is asked, and the row is that one's: it counts the answers that
    are stored and not billed yet.
    """

    def __init__(self, row: Row, endpoint: Endpoint, requests: Requests, **settings: Any) -> None:
        check_bounds(row)
        bounds: dict[str, Any] = {"in_flight": row.in_flight, "max_cost": row.max_cost}
        counted: dict[str, Any] = {"since": row.counted_until, "spent_before": row.cost or Decimal(0)}
        super().__init__(endpoint, requests, **bounds, **counted, **settings)
        self.row = row
        self._billed = ProcedureUsage()

    def work(self, make_client: MakeClient) -> None:
        """Carry out the procedures until all have ended.

        Raises: RunStopped if the work can't continue; Interrupted if `stop` was set; CapReached
        """
        tables = self.pool.requests.tables
        try:
            with checked(self.endpoint, tables):
                carry_out(self, self.endpoint, make_client, tables=tables)
        finally:
            self.store_ended()
        if self.pool.under_way or not self.exhausted:
            raise Interrupted

    def store_ended(self) -> None:
        """Store what is held back, if anything is."""

    def bill(self, row: Row, at: datetime) -> None:
        """Add what was taken since the last time to the locked row, which the caller saves. `at`: until when it is counted.

        Raises: StatusChanged if another process holds the row
        """
        if row.executor != self.row.executor:
            raise StatusChanged(reason(TAKEN_OVER))  # with the transaction in which the caller stores what it bills
        before, self._billed = self._billed, replace(self.usage, total=replace(self.usage.total))
        row.calls += self.usage.calls - before.calls
        row.cached += self.usage.cached - before.cached
        for name in USAGE_FIELDS:
            so_far, now = getattr(row, name), getattr(self.usage.total, name)
            is_known = so_far is not None and now is not None
            setattr(row, name, so_far + now - (getattr(before.total, name) or 0) if is_known else None)
        row.counted_until = at
