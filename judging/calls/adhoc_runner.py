"""Running a procedure outside of a judge's run, with a bounded number of calls in flight.

As in a run, an answer is stored before its place in the rate limiter is released: stopping at any moment loses at most
the calls in flight, and running the same procedure again repeats no answered call.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Generic, NoReturn

from asgiref.sync import async_to_sync, sync_to_async

from judging.calls.adhoc import AdhocProcedure, AdhocRequests, T, read_into, refusal_in
from judging.calls.budget import Budget, CallSizes
from judging.calls.cases import CallState, StoredAnswer, Usage, unanswered
from judging.calls.requests import Request, Requests
from judging.calls.results import MAX_SAMPLES
from judging.calls.store import REPLY_FIELDS, USAGE_FIELDS, cached_rows, write_answers
from judging.core.constants import FAILURES_IN_A_ROW
from judging.core.errors import (
    AccessDenied,
    CallFailed,
    CapReached,
    RejectedCall,
    RunStopped,
    TransientFailure,
    UnparsedVerdict,
)
from judging.core.pricing import check_cap, cost_of, money
from judging.endpoints.chat_answers import Answer
from judging.endpoints.client_factory import MakeClient, checked, retrying_client
from judging.endpoints.rate_limiter import RateLimiter
from judging.endpoints.retrying import RetryingClient
from judging.jobs import leases
from judging.jobs.progress import OnProgress, Progress, ignore_progress
from judging.jobs.stopping import StopFlag
from judging.methods import Call, Reply
from judging.models import Endpoint

IN_FLIGHT = 8


class Interrupted(RunStopped):
    """The procedure was stopped on request; its answers are stored."""


@dataclass
class ProcedureUsage:
    """What a procedure took.

    calls  : answers that were paid for; `cached`: answers from the cache
    total  : tokens and money of the calls; `None` where a part is unknown
    failed : optional calls without an answer
    """

    calls: int = 0
    cached: int = 0
    total: Usage = field(default_factory=Usage)
    failed: int = 0


@dataclass(frozen=True)
class ProcedureResult(Generic[T]):
    """What a procedure returned, and what it took."""

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
    asked = requests or AdhocRequests(endpoint)

    async def in_loop() -> ProcedureResult[T]:
        client = make_client(endpoint)
        conversation = ProcedureRunner(
            endpoint, asked, client, in_flight=in_flight, max_cost=max_cost, since=since, on_progress=on_progress
        )
        try:
            return await conversation.run_procedure(procedure, stop or StopFlag())
        finally:
            await client.close()

    try:
        with checked(endpoint):
            return async_to_sync(in_loop)()
    finally:
        procedure.close()


class ProcedureRunner:
    """Runs one procedure in the event loop; database work is handed to threads."""

    def __init__(
        self,
        endpoint: Endpoint,
        requests: Requests,
        client: RetryingClient,
        *,
        in_flight: int,
        max_cost: Decimal | None,
        since: datetime | None,
        on_progress: OnProgress,
    ) -> None:
        self.endpoint = endpoint
        self.requests = requests
        self.client = client
        self.since = since
        self.on_progress = on_progress
        self.usage = ProcedureUsage()
        self.progress = Progress(currency=endpoint.currency)
        self.sizes = CallSizes()
        self.budget = Budget(endpoint, self.sizes)
        self.budget.granted = self.budget.cap = max_cost
        self.limiter = RateLimiter(in_flight, clock=client.clock)
        self._asking: dict[str, tuple[Request, list[CallState]]] = {}
        self._ready: deque[Request] = deque()
        self._tasks: dict[asyncio.Task[Reply | CallFailed], Request] = {}
        self._storing: set[asyncio.Future[None]] = set()
        self._counted: set[int] = set()  # stored answers, by their primary keys
        self._failed_in_a_row = 0
        self._answered: set[str] = set()  # kinds of calls with at least one answer
        self._charged: Counter[str] = Counter()  # unusable answers that were charged for, by request
        self._problem = ""
        self._next_limit_check = 0.0

    async def run_procedure(self, procedure: AdhocProcedure[T], stop: StopFlag) -> ProcedureResult[T]:
        """Make the calls of one round after another."""
        stopping = asyncio.create_task(stop.wait())
        try:
            calls = next(procedure)
            while True:
                calls = procedure.send(await self._ask_round(calls, stopping))
        except StopIteration as end:
            return ProcedureResult(end.value, self.usage)
        except UnparsedVerdict as error:
            last = f"; the last one that was of no use: {self._problem}" if self._problem else ""
            raise UnparsedVerdict(f"{error}{last}") from error
        finally:
            await self._cancel(stopping)

    async def _cancel(self, stopping: "asyncio.Task[None]") -> None:
        """Cancel the calls in flight, and finish storing the answers received."""
        under_way = [stopping, *self._tasks]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        await asyncio.gather(*self._storing, return_exceptions=True)

    async def _ask_round(self, calls: Sequence[Call], stopping: "asyncio.Task[None]") -> list[Any]:
        call_states = [CallState(call) for call in calls]
        self.progress.total += len(call_states)
        before = self.progress.done
        while True:
            await self._use_cache(call_states)
            self.progress.done = before + sum(state.done for state in call_states)
            self._report_progress()
            if all(state.done for state in call_states):
                if unanswered(call_states, self._answered):
                    self._stop_at(self._problem)
                return [state.value for state in call_states]
            if stopping.done():
                raise Interrupted("stopped on request; the same again resumes without repeating a call")
            await self._share_limits()
            self._send()
            await self._collect(stopping)

    async def _use_cache(self, call_states: Sequence[CallState]) -> None:
        """Apply cached answers and queue the other calls, each distinct request once."""
        while opened := [state for state in call_states if not state.done and not state.waiting]:
            asked = [(state, self.requests.request(state.call, repeat=0, attempt=state.attempt)) for state in opened]
            known = await sync_to_async(self._look_up)([request.key for _, request in asked])
            for state, request in asked:
                if (reply := known.get(request.key)) is not None:
                    self._apply(state, reply)
                    continue
                if request.key not in self._asking:
                    self._asking[request.key] = (request, [])
                    self._ready.append(request)
                self._asking[request.key][1].append(state)
                state.waiting = True

    def _look_up(self, keys: Sequence[str]) -> dict[str, Reply]:
        found: dict[str, Reply] = {}
        for key, pk, created_at, *values in cached_rows(keys, "pk", "created_at", *REPLY_FIELDS, *USAGE_FIELDS):
            found[key] = Reply(*values[: len(REPLY_FIELDS)])
            if pk not in self._counted:
                self._counted.add(pk)
                paid = self.since is not None and created_at >= self.since
                self._count_cached(Usage(*values[len(REPLY_FIELDS) :]), paid=paid)
        return found

    def _count_cached(self, usage: Usage, *, paid: bool) -> None:
        if not paid:
            self.usage.cached += 1
            return
        self.usage.calls += 1
        self.usage.total.add(usage)
        if self.budget.granted is not None:
            self.budget.granted -= usage.cost or Decimal(0)

    async def _share_limits(self) -> None:
        """Set the rate limits to this process's share of the endpoint's."""
        limits = (self.endpoint.requests_per_minute, self.endpoint.tokens_per_minute)
        if limits == (None, None) or time.monotonic() < self._next_limit_check:
            return
        self._next_limit_check = time.monotonic() + leases.HEARTBEAT_SECONDS
        self.limiter.set_limits(*limits, shared_by=1 + await sync_to_async(self._count_sharers)())

    def _count_sharers(self) -> int:
        """Count the other processes that use the endpoint: workers of judge runs."""
        return leases.count_workers(self.endpoint)

    def _send(self) -> None:
        """Start as many calls as limits and budget allow."""
        while self._ready and len(self._tasks) < self.limiter.concurrency.maximum:
            if not self.budget.reserve(self._ready[0]):
                if not self._tasks:
                    self._stop_at_cap()
                return
            request = self._ready.popleft()
            self._tasks[asyncio.create_task(self._ask(request))] = request

    def _spent(self) -> Decimal | None:
        """Return what counts towards the cap so far; `None` if a part is unknown."""
        return self.usage.total.cost

    def _stop_at_cap(self) -> None:
        raise CapReached(
            f"the cap of {money(self.budget.cap, self.endpoint.currency)} is reached: "
            f"{money(self._spent(), self.endpoint.currency)} spent, and the rest may not be enough for another "
            "call; what was answered is kept: give a higher cap to go on"
        )

    async def _collect(self, stopping: "asyncio.Task[None]") -> None:
        """Wait for answers, at most for one heartbeat interval, and apply them."""
        ended, _ = await asyncio.wait(
            [stopping, *self._tasks], timeout=leases.HEARTBEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        for task in [task for task in self._tasks if task in ended]:
            request = self._tasks.pop(task)
            outcome = task.result()
            if isinstance(outcome, TransientFailure) and outcome.charged is not None:
                self._charged[request.key] += 1
                if self._charged[request.key] < MAX_SAMPLES:
                    self._ready.append(request)
                    continue
            _, waiting = self._asking.pop(request.key)
            for state in waiting:
                state.waiting = False
            if isinstance(outcome, CallFailed):
                self._skip_or_stop(waiting, outcome)
            else:
                self._failed_in_a_row = 0
                for state in waiting:
                    self._apply(state, outcome)

    async def _ask(self, request: Request) -> Reply | CallFailed:
        """Make a call and store its answer."""
        guess = sum(self.sizes.guess(request))
        try:
            answer = await self.client.complete(request.body, limiter=self.limiter, tokens=guess)
        except CallFailed as error:
            if error.charged is None:
                self.budget.settle(request.key, None)
                self.budget.store(request.key)
            else:
                await self._store_answer(request, error.charged, guess, of_use=False)
            if isinstance(error, AccessDenied):
                raise RunStopped(f"the endpoint refuses access: {error}") from None
            return error
        reply = await self._store_answer(request, answer, guess, of_use=True)
        self.limiter.release()
        return reply

    async def _store_answer(self, request: Request, answer: Answer, guess: int, *, of_use: bool) -> Reply:
        """Store an answer and count what it took; an unusable one is stored like a refusal."""
        counts = (answer.prompt_tokens, answer.completion_tokens)
        self.sizes.learn(request, *counts)
        self.limiter.tokens.take(self.client.clock.now(), sum(count or 0 for count in counts) - guess)
        usage = Usage(*counts, cost_of(self.endpoint, *counts))
        reply = Reply(answer.text, answer.finish_reason, answer.response)
        refused = not of_use or bool(refusal_in(self._asking[request.key][1][0].call, reply))
        stored = StoredAnswer(
            request.key, reply, usage=usage, request=request, latency_ms=answer.latency_ms, refused=refused
        )
        await self._store(stored)
        self._count_paid(stored)
        return reply

    async def _store(self, stored: StoredAnswer) -> None:
        """Write an answer, shielded from cancellation of the call."""
        storing = asyncio.ensure_future(sync_to_async(write_answers)([stored], self.requests.base_url))
        self._storing.add(storing)
        storing.add_done_callback(self._storing.discard)
        await asyncio.shield(storing)

    def _count_paid(self, stored: StoredAnswer) -> None:
        """Count a call whose answer has been stored."""
        self.budget.settle(stored.key, stored.usage.cost)
        self.budget.store(stored.key)
        self.usage.calls += 1
        self.usage.total.add(stored.usage)
        if stored.pk is not None:
            self._counted.add(stored.pk)
        if stored.usage.cost is None and self.budget.granted is not None:
            raise RunStopped("the endpoint doesn't say how many tokens a call took: its cost can't be capped")

    def _apply(self, state: CallState, reply: Reply) -> None:
        self._answered.add(state.call.kind)
        declined = read_into(state, reply)
        if state.done and state.value is None:
            self._problem = declined or reply.text[-200:]

    def _skip_or_stop(self, call_states: Sequence[CallState], failure: CallFailed) -> None:
        """Skip optional calls whose request alone was rejected; stop on any other failure."""
        self.usage.failed += 1
        self._failed_in_a_row += 1
        self._problem = str(failure)
        alone = isinstance(failure, RejectedCall) and failure.request_only
        needed = not alone or not all(state.call.optional for state in call_states)
        if needed or self._failed_in_a_row >= FAILURES_IN_A_ROW:
            self._stop_at(failure)
        for state in call_states:
            state.done, state.lost = True, str(failure)

    def _stop_at(self, failure: object) -> NoReturn:
        raise RunStopped(f"a question got no answer: {failure}; the same again asks only for what is missing")

    def _report_progress(self) -> None:
        progress = self.progress
        progress.calls, progress.cached, progress.cost = self.client.calls, self.usage.cached, self.usage.total.cost
        progress.errors = self.client.errors
        progress.in_flight, progress.allowed = self.limiter.in_flight, self.limiter.concurrency.allowed
        self.on_progress(progress)
