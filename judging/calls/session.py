"""The database side of an engine's work: starts procedures, prepares requests, processes answers, stores results.

A pool advances many procedures as far as there are answers; what is missing becomes requests. Its session runs in one
thread, step by step, while the event loop in another makes the calls. What is started, and where results go, is up to the
subclasses: cells of a run, a single procedure, texts of a system.
"""

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from annotation.core.tasks.stopping import StopFlag
from judging.calls.budget import CallSizes
from judging.calls.cases import CallState, Case, Cell, FailedCall, FailureRate, StoredAnswer
from judging.calls.presentations import prompt_version
from judging.calls.requests import MAX_SAMPLES, Reading, Request, Requests
from judging.calls.store import REPLY_FIELDS, PendingWrites, Result, cached_rows, stored_answers
from judging.core.constants import FILTERED
from judging.jobs import leases
from judging.jobs.leases import HeartbeatReply
from judging.jobs.progress import OnProgress, Progress
from judging.methods import AskingMethod, Reply, Setting
from judging.models import Completion, Judgment

MIN_START, MAX_START = 16, 512  # cases started at a time: few, so that workers finish together
MAX_START_TO_ASK = 64  # cases that need calls; answers wait while they are prepared
MAX_OPEN = 2048  # cases in memory: thousands may wait for one shared answer
Asked = tuple[Case, CallState, Request]


class ProcedurePool:
    """The cases of one process. What changes is collected in `writes`.

    under_way : cases that have started and not ended
    ended     : cases that have a result, unless that is among the writes
    refusals  : those that the cases which start again have paid for; they get them again, though no other may
    takes_schema : the endpoint has rejected no call for its JSON schema so far
    replaying : cases get stored answers only, which may be those to calls without their schema
    """

    def __init__(self, requests: Requests, *, replaying: bool = False) -> None:
        self.requests = requests
        self.replaying = replaying
        self.takes_schema = True
        self.writes = PendingWrites()
        self.under_way = 0
        self.ended: list[Case] = []
        self.refusals: dict[str, StoredAnswer] = {}
        self._asking: dict[str, tuple[Request, list[tuple[Case, CallState]]]] = {}
        self._unwritten: dict[str, StoredAnswer] = {}
        self._charged: Counter[str] = Counter()  # unusable answers that were charged for, by request

    def add_answers(self, answers: Iterable[StoredAnswer]) -> None:
        """Add answers that are not in the cache."""
        self._unwritten.update((stored.key, stored) for stored in answers)

    def add_cases(self, cases: list[Case]) -> list[Case]:
        """Add cases that were started."""
        self.under_way += len(cases)
        return cases

    def answer(self, stored: StoredAnswer) -> list[Case]:
        """Apply an answer to the cells that wait for it, and bill the first of them. Return their cases."""
        stored.request, waiting = self._asking.pop(stored.key, (stored.request, []))
        self._unwritten[stored.key] = stored
        self.writes.answers.append(stored)
        for number, (case, state) in enumerate(waiting):
            self.takes_schema = self.takes_schema and not state.fell_back
            case.take(state, stored, paid=number == 0)
            if number == 0:
                self._bill(case, stored)
        return [case for case, _ in waiting]

    def charge(self, stored: StoredAnswer) -> Request | None:
        """Bill the first waiting cell for an unusable answer, which is stored and never reused.

        Returns the request to send again; `None` once it was sent `MAX_SAMPLES` times.
        """
        stored.refused = True
        stored.request, waiting = self._asking.get(stored.key, (stored.request, []))
        self.writes.answers.append(stored)
        for case, _ in waiting[:1]:
            case.pay(stored)
            self._bill(case, stored)
        self._charged[stored.key] += 1
        return stored.request if waiting and self._charged[stored.key] < MAX_SAMPLES else None

    def _bill(self, case: Case, stored: StoredAnswer) -> None:
        self.writes.links.append((case.cell.pk, stored))
        cached = case.cached if case.recorded else case.cell.cached
        self.writes.bills[case.cell.pk] = (case.fetched + cached, case.usage)

    def falls_back(self, key: str) -> bool:
        """Tell whether a call that is rejected will be sent without its JSON schema."""
        _, waiting = self._asking.get(key, (None, []))
        return any(state.call.plain is not None for _, state in waiting)

    def fail(self, failed: FailedCall) -> list[Case]:
        """End the cells that wait for a failed call.

        Those whose rejected call had a JSON schema ask without it; those for which it is optional continue.
        """
        _, waiting = self._asking.pop(failed.key, (None, []))
        for case, state in waiting:
            state.waiting = False
            if failed.cause == FILTERED:
                case.refuse(state, failed.reason, cause=FILTERED)
            elif failed.rejected and state.call.plain is not None:
                state.fall_back()
            elif failed.rejected and state.call.optional:
                case.skip_call(state, failed.reading)
            elif not case.ended:
                case.end(failed.reading)
        return [case for case, _ in waiting]

    def advance(self, cases: Iterable[Case]) -> list[Request]:
        """Advance cases as far as cached answers allow and return the requests to send, each once."""
        requests: list[Request] = []
        running = list({id(case): case for case in cases}.values())
        while running:
            for case in running:
                if case.reading is not None and not case.recorded:
                    case.recorded = True
                    self.under_way -= 1
                    self.end_case(case, case.reading)
            open_calls = [(case, state, self._request(case, state)) for case in running for state in case.open_calls()]
            if self.replaying:
                open_calls = self._as_answered(open_calls)
            answers_stored = self.look_up([request for _, _, request in open_calls if request.key not in self._asking])
            advanced: dict[int, Case] = {}
            for case, state, request in open_calls:
                if (stored := answers_stored.get(request.key)) is not None:
                    case.take(state, stored, paid=False)
                    advanced[id(case)] = case
                elif state.last_resort is not None:
                    case.give_up(state)
                    advanced[id(case)] = case
                else:
                    state.waiting = True
                    if request.key not in self._asking:
                        self._asking[request.key] = (request, [])
                        requests.append(request)
                    self._asking[request.key][1].append((case, state))
            running = list(advanced.values())
        return requests

    def look_up(self, requests: Iterable[Request]) -> dict[str, StoredAnswer]:
        """Return the known answers by cache key."""
        by_key = {request.key: request for request in requests}
        results = {key: self._unwritten[key] for key in by_key if key in self._unwritten}
        results = {key: stored for key, stored in results.items() if not stored.refused}
        results |= {key: self.refusals[key] for key in by_key if key in self.refusals}
        missing = [request for key, request in by_key.items() if key not in results]
        results.update((stored.key, stored) for stored in self.cached(missing))
        return results

    def cached(self, requests: Sequence[Request]) -> Iterator[StoredAnswer]:
        """Yield the answers in the cache."""
        for key, pk, *reply in cached_rows([request.key for request in requests], "pk", *REPLY_FIELDS):
            yield StoredAnswer(key, Reply(*reply), pk)

    def take_writes(self) -> PendingWrites:
        """Return the pending writes and start over. To be called once the last ones were written."""
        writes, self.writes = self.writes, PendingWrites()
        for result in writes.results:
            writes.bills.pop(result.pk, None)
        self._unwritten = {}
        return writes

    def drop_waiting(self) -> None:
        """Drop the cells that wait for answers, for other workers to restart. The answers are still stored."""
        self._asking.clear()
        self.under_way = 0

    def _as_answered(self, questions: list[Asked]) -> list[Asked]:
        """Leave out the schema of calls that have no answer with it."""
        stored = self.look_up([request for _, state, request in questions if state.call.plain is not None])
        for _, state, request in questions:
            if state.call.plain is not None and request.key not in stored:
                state.fall_back()
        return [(case, state, self._request(case, state)) for case, state, _ in questions]

    def _request(self, case: Case, state: CallState) -> Request:
        if state.call.plain is not None and not self.takes_schema:
            state.fall_back()
        return self.requests.request(state.call, repeat=case.cell.repeat, attempt=state.attempt)

    def end_case(self, case: Case, reading: Reading) -> None:
        """Note a result."""
        self.ended.append(case)


class JudgmentPool(ProcedurePool):
    """The procedures of a judge's cells. Their results are among the writes."""

    def __init__(self, method: AskingMethod, setting: Setting, requests: Requests, *, replaying: bool = False) -> None:
        super().__init__(requests, replaying=replaying)
        self.method = method
        self.setting = setting

    def start(self, cells: Iterable[Cell]) -> list[Case]:
        """Start the procedures of cells. Those that were begun before keep the refusals that they have paid for."""
        cells = list(cells)
        if begun := [cell.pk for cell in cells if cell.paid]:
            completions = Completion.objects.filter(cache_key=None, judgments__in=begun).distinct()
            self.refusals.update((stored.key, stored) for stored in stored_answers(completions))
        return self.add_cases([Case(cell, self.method.ask(cell.shown, self.setting)) for cell in cells])

    def end_case(self, case: Case, reading: Reading) -> None:
        """Add the result to the writes."""
        # A cell without an answer will be asked again: only the answers that it paid for stay linked.
        used = () if reading.status == Judgment.Status.ERROR else tuple(case.used)
        calls = case.fetched + case.cached
        setting = self.setting.without_schema() if case.fell_back else self.setting
        version = prompt_version(self.method, setting, case.cell.shown)
        result = Result(case.cell.pk, case.cell.order, reading, calls, case.cached, case.usage, used, version)
        self.writes.results.append(result)


@dataclass
class StepResult:
    """The result of one step.

    follow_up, first : requests to send now: of cases in progress, which have priority, and of new ones
    stored    : keys of the answers that are stored now
    failed    : keys of the calls that failed
    taken     : number of cases started
    exhausted : there are no more cases to start
    heartbeat : the reply to a heartbeat, if one was sent
    halt      : why the work can't continue
    """

    follow_up: list[Request] = field(default_factory=list)
    first: list[Request] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    taken: int = 0
    exhausted: bool = False
    heartbeat: HeartbeatReply | None = None
    halt: Exception | None = None


class Session(ABC):
    """One process's cases.

    in_flight : calls at once, before the first heartbeat
    """

    max_start_to_ask = MAX_START_TO_ASK

    def __init__(
        self, pool: ProcedurePool, *, in_flight: int, stop: StopFlag, progress: Progress, on_progress: OnProgress
    ) -> None:
        self.pool = pool
        self.in_flight = in_flight
        self.stop = stop
        self.progress = progress
        self.on_progress = on_progress
        self.exhausted = False
        self.failure_rate = FailureRate()
        self._start_size = MIN_START
        self._next_heartbeat = 0.0

    def step(
        self,
        answers: Sequence[StoredAnswer | FailedCall] = (),
        *,
        count: int = 0,
        under_way: int = 0,
        outstanding: Decimal = Decimal(0),
        needed: Decimal = Decimal(0),
        send_heartbeat: bool = False,
    ) -> StepResult:
        """Process answers, start new cases for `count` more calls, and store the results.

        under_way, outstanding : calls in flight, and what they may cost, for the heartbeat
        needed : what the next call may cost, for want of which it is held back
        send_heartbeat : send one even if none is due
        """
        result = StepResult()
        advanced = self._take(answers, result)
        result.follow_up += self.pool.advance(advanced)
        if count > len(result.follow_up) and not self.exhausted and self.pool.under_way < MAX_OPEN:
            count = max(count, self.in_flight // 4)  # each start has a fixed cost
            cases = self.start_cases(max(self._start_size, min(count, self.max_start_to_ask)))
            result.taken, result.first = len(cases), self.pool.advance(cases)
            # Many at a time while the cache answers them, else only a little ahead of the calls.
            self._start_size = MIN_START if result.first else min(MAX_START, 2 * self._start_size)
        result.halt = self.store(self.pool.take_writes()) or result.halt
        result.exhausted = self.exhausted
        if send_heartbeat or time.monotonic() >= self._next_heartbeat:
            result.heartbeat = self.send_heartbeat(in_flight=under_way, outstanding=outstanding, needed=needed)
            self._next_heartbeat = time.monotonic() + leases.HEARTBEAT_SECONDS
            if result.heartbeat.lost:
                self.pool.drop_waiting()
                result.follow_up, result.first, self.exhausted = [], [], False
            self.on_progress(self.progress)
        return result

    def _take(self, answers: Sequence[StoredAnswer | FailedCall], result: StepResult) -> list[Case]:
        advanced: list[Case] = []
        for answer in answers:
            if isinstance(answer, FailedCall):
                result.failed.append(answer.key)
                request = self.pool.charge(answer.charged) if answer.charged else None
                if request and answer.again:
                    result.follow_up.append(request)
                    continue
                if not (answer.rejected and answer.cause != FILTERED and self.pool.falls_back(answer.key)):
                    result.halt = self.note_failure(answer) or result.halt
                advanced += self.pool.fail(answer)
            else:
                result.stored.append(answer.key)
                self.failure_rate.note_answer()
                advanced += self.pool.answer(answer)
        return advanced

    def note_failure(self, failed: FailedCall) -> Exception | None:
        """Return why the work can't continue after a failed call, if it can't."""
        return self.failure_rate.note_failure(failed)

    def release_cases(self) -> None:
        """Release the open cases for other workers: this one's share of calls is 0."""
        self.pool.drop_waiting()

    @abstractmethod
    def learn_sizes(self, sizes: CallSizes) -> None:
        """Learn the sizes of calls from earlier ones, for a cap on costs."""

    @abstractmethod
    def start_cases(self, limit: int) -> list[Case]:
        """Start up to so many cases, and set `exhausted` if there are no more."""

    @abstractmethod
    def store(self, writes: PendingWrites) -> Exception | None:
        """Store answers and results in one transaction. Return why the work can't continue, if it can't."""

    @abstractmethod
    def send_heartbeat(self, *, in_flight: int, outstanding: Decimal, needed: Decimal) -> HeartbeatReply:
        """Return the share of calls and money."""
