"""The engine: advances a session's procedures by calls to an endpoint, a bounded number of them in flight.

An answer is stored before its place in the rate limiter is released: stopping at any moment repeats at most the calls
in flight. The event loop makes the calls in a thread of its own; everything else is done by the session
(`session.py`) in the starting thread: while it processes one batch of answers, the next ones arrive.
"""

import asyncio
import gc
import time
from collections import Counter, deque
from contextlib import suppress

from asgiref.sync import async_to_sync, sync_to_async

from judging.calls.budget import Transport
from judging.calls.cases import FailedCall, StoredAnswer
from judging.calls.requests import Request
from judging.calls.session import Session, StepResult
from judging.core.errors import CallFailed, StatusChanged
from judging.endpoints.chat_answers import ChatAnswer
from judging.endpoints.rate_limiter import RateLimiter
from judging.endpoints.retrying import MakeClient
from judging.jobs import leases
from judging.methods.sc2.record import MAKING
from judging.models import Endpoint

# Each step has a fixed cost, so they begin this share of a call's time apart, within bounds in seconds.
PAUSE, MIN_PAUSE, MAX_PAUSE = 0.02, 0.002, 0.02
# Calls that are sent together return together, queue for the session, and are sent together again. So calls are spaced
# by this share of the time between two answers, and by no more than so many seconds.
SPACING, MAX_SPACING = 0.4, 0.003
DRAIN_SECONDS = 120.0  # for the answers of the calls in flight, once the run was stopped
LATENCY_WEIGHT = 0.1  # of the last answer in the moving average


def carry_out(session: Session, endpoint: Endpoint, make_client: MakeClient, *, tables: Endpoint | None = None) -> None:
    """Carry out a session's procedures by calls to an endpoint. `tables`: another one for the calls that make tables.

    Raises: RunStopped if the work can't continue.
    """

    async def in_loop() -> None:
        await Engine(session, make_client, endpoint, tables).work()

    gc.collect()  # else what is left of the run before would stay for good
    gc.freeze()  # what is loaded stays: going through all of it would be a tenth of a run's processor time
    async_to_sync(in_loop)()


class Engine(Transport):
    """A session's calls in one process. Those to two endpoints share one rate limiter, under the tighter of their limits."""

    def __init__(
        self, session: Session, make_client: MakeClient, endpoint: Endpoint, tables: Endpoint | None = None
    ) -> None:
        super().__init__(session.progress, endpoint, tables)
        self.session = session
        self.client = make_client(endpoint)
        self.tables_client = make_client(tables) if tables else self.client
        self.clients = list({id(item): item for item in (self.client, self.tables_client)}.values())
        self.limiter = RateLimiter(session.in_flight, clock=self.client.clock)
        self._ready: deque[Request] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._answers: list[StoredAnswer | FailedCall] = []
        self._wake = asyncio.Event()
        self._starting = 0  # calls that have not reached the rate limiter yet
        self._mean_latency = 0.0  # seconds, moving average
        self._exhausted = False  # there are no more cases to start
        self._heartbeat_due = True
        self._budget_is_fresh = False  # no money was spent since the last heartbeat
        self._stopped_as = ""  # the status of a run that was stopped elsewhere
        self._before = (session.progress.calls, Counter(session.progress.errors))

    async def work(self) -> None:
        """Advance cases until there are none to start, or until asked to stop.

        Raises: RunStopped if the work can't continue.
        """
        stopping = asyncio.create_task(self._watch_stop())
        try:
            await self._work()
        finally:
            open_tasks = [stopping, *self._tasks]
            for task in open_tasks:
                task.cancel()
            await asyncio.gather(*open_tasks, return_exceptions=True)
            try:
                # Store the answers received, whatever happened.
                await sync_to_async(self.session.step)(self._answers)
            finally:
                for client in self.clients:
                    await client.close()
            self._report_progress()

    async def _work(self) -> None:
        await sync_to_async(self.session.learn_sizes)(self.sizes)
        await self._step(0)  # a heartbeat, for the worker's share of calls and money
        while not self.session.stop.is_set():
            if self.error is not None:
                raise self.error
            began = time.monotonic()
            count = self._calls_to_prepare()
            result = await self._step(count)
            if self._stopped_as:
                await self._drain()
                continue
            self._send()
            if result.exhausted and not (self._ready or self._tasks or self._answers):
                return
            if not self.limiter.concurrency.maximum and self._ready and not (self._tasks or self._answers):
                self._ready.clear()
                await sync_to_async(self.session.release_cases)()
            nothing_to_take = count and not result.taken
            if nothing_to_take or not self._calls_to_prepare():
                await self._wait(began)

    async def _drain(self) -> None:
        """Take the answers of the calls in flight, which cost already, and send no others.

        Raises: StatusChanged unless the run is continued meanwhile
        """
        self.limiter.hold(True)
        until = time.monotonic() + DRAIN_SECONDS
        while self._stopped_as and self.limiter.in_flight and not self.session.stop.is_set():
            if time.monotonic() >= until:
                break
            await self._wait(time.monotonic())
            await self._step(0)
        if self._stopped_as:
            raise StatusChanged(self._stopped_as)
        self.limiter.hold(False)

    def _calls_to_prepare(self) -> int:
        """Return how many calls to prepare: as many as may be in flight, fewer while answers wait to be processed."""
        if self._exhausted:
            return 0
        needed = self.limiter.free_places + len(self._answers) if self._answers else self.limiter.concurrency.allowed
        return max(0, needed - len(self._ready))

    async def _step(self, count: int) -> StepResult:
        """Run a step of the session, and apply its result."""
        answers, self._answers = self._answers, []
        result = await sync_to_async(self.session.step)(
            answers,
            count=count,
            under_way=self.limiter.in_flight,
            outstanding=self.budget.outstanding,
            needed=self.budget.needed,
            send_heartbeat=self._heartbeat_due,
        )
        self._heartbeat_due = False
        for key in (*result.stored, *result.failed):
            self.budget.store(key)
        self.limiter.release(len(result.stored))
        if result.heartbeat is not None and result.heartbeat.lost:
            self._ready.clear()
        self._ready.extendleft(reversed(result.follow_up))
        self._ready.extend(result.first)
        self._exhausted = result.exhausted
        self._report_progress()
        if result.halt:
            raise result.halt
        if (heartbeat := result.heartbeat) is not None:
            self._stopped_as = "" if heartbeat.should_continue else heartbeat.status
            if not self._stopped_as:
                self.limiter.set_maximum(heartbeat.in_flight)
                self.budget.set(heartbeat)
                self._budget_is_fresh = True
                if heartbeat.endpoint is not None:
                    self.limiter.set_limits(*heartbeat.limits)
        return result

    def _send(self) -> None:
        """Start as many calls as limits and budget allow.

        Raises: CapReached
        """
        most_open = 2 * self.limiter.concurrency.maximum  # including those that wait for a retry
        spacing = min(MAX_SPACING, SPACING * self._mean_latency / max(1, self.limiter.concurrency.allowed))
        for choice in range(
            min(self.limiter.free_places - self._starting, most_open - len(self._tasks), len(self._ready))
        ):
            if not self.budget.reserve(self._ready[0]):
                # Once no other call may cost less than was reserved, a heartbeat counts all workers' costs.
                if not (self._tasks or self._answers) and self.budget.is_short:
                    if not self._budget_is_fresh:
                        self._heartbeat_due = True
                        self._wake.set()
                    elif self.budget.alone:
                        raise self.cap_reached()
                return
            self._budget_is_fresh = False
            self._starting += 1
            task = asyncio.create_task(self._ask(self._ready.popleft(), after=choice * spacing))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _ask(self, request: Request, *, after: float) -> None:
        """Make a call after a delay, and queue its answer for the session."""
        if after:
            await asyncio.sleep(after)
        self._starting -= 1
        guess = sum(self.sizes.guess(request))
        try:
            client = self.tables_client if request.kind in MAKING else self.client
            answer = await client.complete(request.body, limiter=self.limiter, tokens=guess)
        except CallFailed as error:
            self._note_size(error.charged, guess)
            if (failed := self.take_failure(request, error)) is not None:
                self._answers.append(failed)
        except Exception as error:
            self.halt(error)
        else:
            self._note_size(answer, guess)
            self._answers.append(self.take_answer(request, answer))
        self._wake.set()

    def _note_size(self, answer: ChatAnswer | None, guess: int) -> None:
        """Learn an answer's latency, and correct the tokens that the rate limiter took for it."""
        if answer is None:
            return
        if answer.latency_ms is not None:
            self._mean_latency += LATENCY_WEIGHT * (answer.latency_ms / 1000 - self._mean_latency)
        tokens = (answer.prompt_tokens or 0) + (answer.completion_tokens or 0)
        self.limiter.tokens.take(self.client.clock.now(), tokens - guess)

    def _report_progress(self) -> None:
        calls, errors = self._before
        self.progress.calls = calls + sum(client.calls for client in self.clients)
        self.progress.errors = sum((client.errors for client in self.clients), errors)
        self.progress.in_flight, self.progress.allowed = self.limiter.in_flight, self.limiter.concurrency.allowed

    async def _watch_stop(self) -> None:
        await self.session.stop.wait()
        self._wake.set()

    async def _wait(self, began: float) -> None:
        """Wait to be woken, at most until the next heartbeat, and for a pause since the last step began."""
        with suppress(TimeoutError):
            async with asyncio.timeout(leases.HEARTBEAT_SECONDS):
                await self._wake.wait()
        self._wake.clear()
        pause = max(MIN_PAUSE, min(MAX_PAUSE, PAUSE * self._mean_latency))
        if (remaining := began + pause - time.monotonic()) > 0:
            await asyncio.sleep(remaining)
