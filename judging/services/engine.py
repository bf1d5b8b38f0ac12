"""Fills the open cells of a run by asking its endpoint, with a bounded number of calls in flight.

Every answer is in the database before its place in flight is free again, so that stopping at any moment, by whatever
means, repeats at most the calls in flight. The event loop makes the calls, in a thread of its own; everything else is
the desk's (`desk.py`), in the thread that started it: while one group of answers is read and written, further calls go
out and their answers pile up for the next one.
"""

import asyncio
import time
from collections import Counter, deque
from contextlib import suppress

from asgiref.sync import sync_to_async

from judging.clients import Answer
from judging.errors import AccessDenied, CallFailed, RejectedCall, RunStopped
from judging.judges import AskingMethod, Reply
from judging.models import Endpoint
from judging.services import leases
from judging.services.budget import Budget, Sizes
from judging.services.cases import Spent, Stored
from judging.services.desk import Desk, Failed, Turn
from judging.services.gate import Gate
from judging.services.leases import Pulse
from judging.services.pricing import cost_of, money
from judging.services.progress import Job
from judging.services.requests import Request
from judging.services.retrying import RetryingClient

PAUSE = 0.002  # seconds, at least, from one turn to the next: each has its price, however small it is
# Calls that are sent together come back together, wait for each other at the desk, and are sent together again. So they
# are sent a little apart: by this share of the time between two answers, and by no more than so many seconds.
APART, MOST_APART = 0.4, 0.003
LATELY = 0.1  # weight of the last answer in how long answers take


class CapReached(RunStopped):
    """The run's money is spent; with a higher cap it goes on."""


class StatusChanged(RunStopped):
    """Somebody has paused, cancelled or ended the run."""


class Engine:
    """One run's work in one process."""

    def __init__(self, job: Job, method: AskingMethod, endpoint: Endpoint, client: RetryingClient) -> None:
        self.job = job
        self.progress = job.progress
        self.client = client
        self.desk = Desk(job, method)
        self.sizes = Sizes()
        self.budget = Budget(endpoint, self.sizes)
        self.gate = Gate(job.run.in_flight, clock=client.clock)
        self._ready: deque[Request] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._answers: list[Stored | Failed] = []
        self._news = asyncio.Event()
        self._coming = 0  # calls that were sent off and are not at the gate yet
        self._takes = 0.0  # seconds that answers take, lately
        self._over = False  # there is no further cell to take
        self._beat_now = True
        self._fresh = False  # no money was spent since the last heartbeat
        self._error: Exception | None = None
        self._before = (job.progress.calls, Counter(job.progress.errors))
        self.progress.currency = endpoint.currency

    async def work(self) -> None:
        """Fill cells until there is none to take, or until asked to stop.

        Raises: RunStopped when going on makes no sense.
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
                # What has arrived is kept, whatever happened.
                await sync_to_async(self.desk.turn)(self._answers)
            finally:
                await self.client.close()
            self._show()

    async def _work(self) -> None:
        if self.job.run.max_cost is not None:
            await sync_to_async(self.sizes.recall)(self.job.run)
        await self._turn(0)  # a heartbeat, which tells what may be done
        while not self.job.stop.is_set():
            if self._error is not None:
                raise self._error
            began = time.monotonic()
            wanted = self._wanted()
            turn = await self._turn(wanted)
            self._send()
            if turn.over and not (self._ready or self._tasks or self._answers):
                return
            if not self.gate.flow.most and self._ready and not (self._tasks or self._answers):
                self._ready.clear()
                await sync_to_async(self.desk.give_back)()
            nothing_to_take = wanted and not turn.taken
            if nothing_to_take or not self._wanted():
                await self._wait(began)

    def _wanted(self) -> int:
        """Return how many calls to get ready: as many as may be under way, in time; but answers that wait go before."""
        if self._over:
            return 0
        needed = self.gate.room + len(self._answers) if self._answers else self.gate.flow.allowed
        return max(0, needed - len(self._ready))

    async def _turn(self, wanted: int) -> Turn:
        """Have the desk do what there is to do, and heed what comes of it."""
        answers, self._answers = self._answers, []
        turn = await sync_to_async(self.desk.turn)(
            answers, wanted=wanted, under_way=self.gate.inside, owing=self.budget.owing, beat=self._beat_now
        )
        self._beat_now = False
        for key in (*turn.stored, *turn.failed):
            self.budget.store(key)
        self.gate.leave(len(turn.stored))
        if turn.pulse is not None and turn.pulse.lost:
            self._ready.clear()
        self._ready.extendleft(reversed(turn.further))
        self._ready.extend(turn.first)
        self._over = turn.over
        self._show()
        if turn.halt:
            raise RunStopped(turn.halt)
        if turn.pulse is not None:
            self._heed(turn.pulse)
        return turn

    def _heed(self, pulse: Pulse) -> None:
        """Do as a heartbeat says."""
        if not pulse.go_on:
            raise StatusChanged(pulse.status)
        self.gate.set_most(pulse.in_flight)
        self.budget.set(pulse)
        self._fresh = True
        if pulse.endpoint is not None:
            limits = (pulse.endpoint.requests_per_minute, pulse.endpoint.tokens_per_minute)
            self.gate.set_limits(*(None if limit is None else limit / pulse.sharers for limit in limits))

    def _send(self) -> None:
        """Send what may be sent."""
        most_open = 2 * self.gate.flow.most  # with those that wait for their next attempt
        apart = min(MOST_APART, APART * self._takes / max(1, self.gate.flow.allowed))
        for place in range(min(self.gate.room - self._coming, most_open - len(self._tasks), len(self._ready))):
            if not self.budget.reserve(self._ready[0]):
                self._mind_the_cap()
                return
            self._fresh = False
            self._coming += 1
            task = asyncio.create_task(self._ask(self._ready.popleft(), after=place * apart))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _mind_the_cap(self) -> None:
        """Stop when there is no money left for another call, once it is certain what all workers have spent."""
        if self._tasks or self._answers or not self.budget.is_short:
            return  # these may turn out cheaper than was set aside
        if not self._fresh:
            self._beat_now = True
            self._news.set()
        elif self.budget.alone:
            currency = self.progress.currency
            raise CapReached(
                f"the cap of {money(self.budget.cap, currency)} is reached: {money(self.budget.spent, currency)} spent, "
                "and the rest may not be enough for another call; give a higher cap to go on"
            )

    async def _ask(self, request: Request, *, after: float) -> None:
        """Make a call, a moment later, and put its answer on the desk."""
        if after:
            await asyncio.sleep(after)
        self._coming -= 1
        guess = sum(self.sizes.guess(request))
        try:
            answer = await self.client.complete(request.body, gate=self.gate, tokens=guess)
        except AccessDenied as error:
            self._halt(RunStopped(f"the endpoint refuses access: {error}"))
        except CallFailed as error:
            self.budget.settle(request.key, None)
            rejected = isinstance(error, RejectedCall)
            self._answers.append(Failed(request.key, reason_of(error, request), rejected))
        except Exception as error:
            self._halt(error)
        else:
            self._take(request, answer, guess)
        self._news.set()

    def _take(self, request: Request, answer: Answer, guess: int) -> None:
        counts = (answer.prompt_tokens, answer.completion_tokens)
        self.sizes.learn(request, *counts)
        if answer.latency_ms is not None:
            self._takes += LATELY * (answer.latency_ms / 1000 - self._takes)
        self.gate.tokens.take(self.client.clock.now(), sum(count or 0 for count in counts) - guess)
        cost = cost_of(self.budget.endpoint, *counts)
        self.budget.settle(request.key, cost)
        reply = Reply(answer.text, answer.finish_reason, answer.response)
        spent = Spent(*counts, cost)
        self._answers.append(Stored(request.key, reply, spent=spent, request=request, latency_ms=answer.latency_ms))
        progress = self.progress
        progress.cost = None if progress.cost is None or cost is None else progress.cost + cost
        if cost is None and self.budget.granted is not None:
            self._halt(RunStopped("the endpoint doesn't say how many tokens a call took: its cost can't be capped"))

    def _halt(self, error: Exception) -> None:
        self._error = self._error or error

    def _show(self) -> None:
        calls, errors = self._before
        self.progress.calls = calls + self.client.calls
        self.progress.errors = errors + self.client.errors
        self.progress.in_flight, self.progress.allowed = self.gate.inside, self.gate.flow.allowed

    async def _watch_stop(self) -> None:
        await self.job.stop.wait()
        self._news.set()

    async def _wait(self, began: float) -> None:
        """Wait for news, at most until the next heartbeat is due, and at least for a moment since the last turn."""
        with suppress(TimeoutError):
            async with asyncio.timeout(leases.BEAT_SECONDS):
                await self._news.wait()
        self._news.clear()
        if (rest := began + PAUSE - time.monotonic()) > 0:
            await asyncio.sleep(rest)


def reason_of(failure: CallFailed, request: Request) -> str:
    """Say why a call came to nothing, and what to do where that is known."""
    if isinstance(failure, RejectedCall) and request.body.get("logprobs") and "logprob" in str(failure):
        return f"{failure}; log-probabilities were asked for: a pointwise judge does without by weighted=false"
    return str(failure)
