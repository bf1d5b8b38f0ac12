"""Asking an endpoint outside of a judge's run: a procedure's calls, a bounded number of them in flight.

As in a run, every answer is in the cache before its place in flight is free again: stopping at any moment, by whatever
means, loses at most the calls in flight, and the same procedure again asks for nothing that was answered.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Generic

from asgiref.sync import async_to_sync, sync_to_async
from django.utils import timezone

from judging.credentials import check_key_env
from judging.errors import AccessDenied, CallFailed, EndpointRefused, RejectedCall, RunStopped, UnparsedVerdict
from judging.judges import Call, Reply
from judging.models import Completion, Endpoint, RunWorker
from judging.services import leases
from judging.services.budget import Budget, Sizes
from judging.services.cases import Ask, Spent, Stored
from judging.services.desk import FAILURES_IN_A_ROW
from judging.services.endpoints import check_host
from judging.services.engine import CapReached
from judging.services.execution import MakeClient, patient_client, refusal
from judging.services.gate import Gate
from judging.services.pricing import cost_of, money
from judging.services.progress import OnProgress, Progress, quiet
from judging.services.requests import Request, Requests
from judging.services.retrying import RetryingClient
from judging.services.statements import parts
from judging.services.stopping import StopFlag
from judging.services.store import write_answers
from judging.services.talks import PlainRequests, T, Talk, check_cap, refusal_in, take_in

log = logging.getLogger(__name__)
IN_FLIGHT = 8
CACHED = ("pk", "cache_key", "text", "finish_reason", "response", "created_at")
SPENT = ("prompt_tokens", "completion_tokens", "cost")


class Interrupted(RunStopped):
    """It was asked to stop; what was answered is stored."""


@dataclass
class Spend:
    """What a conversation took.

    calls  : answers that were paid for; `cached`: those that were there before
    spent  : tokens and money of the calls; `None` where a part of it is unknown
    failed : calls that came to nothing, the optional ones that it went on without
    """

    calls: int = 0
    cached: int = 0
    spent: Spent = field(default_factory=Spent)
    failed: int = 0


@dataclass(frozen=True)
class Held(Generic[T]):
    """What a procedure returned, and what that took."""

    result: T
    spend: Spend


def hold(
    talk: Talk[T],
    *,
    endpoint: Endpoint,
    requests: Requests | None = None,
    in_flight: int = IN_FLIGHT,
    max_cost: Decimal | None = None,
    since: datetime | None = None,
    stop: StopFlag | None = None,
    on_progress: OnProgress = quiet,
    make_client: MakeClient = patient_client,
) -> Held[T]:
    """Put a procedure's questions to an endpoint until it returns.

    max_cost : in the endpoint's currency; what stored answers cost from `since` on is taken from it as well
    Raises: RunStopped when going on makes no sense; Interrupted when `stop` was set; CapReached; UnparsedVerdict if an
    answer that the procedure needs can't be read. The same again goes on where this one ended.
    """
    check_cap(max_cost, endpoint)
    asked = requests or PlainRequests(endpoint)

    async def in_loop() -> Held[T]:
        client = make_client(endpoint)
        conversation = Conversation(
            endpoint, asked, client, in_flight=in_flight, max_cost=max_cost, since=since, on_progress=on_progress
        )
        try:
            return await conversation.hold(talk, stop or StopFlag())
        finally:
            await client.close()

    try:
        check_host(endpoint.base_url)
        check_key_env(endpoint.key_env)
        return async_to_sync(in_loop)()
    except EndpointRefused as error:
        log.warning("endpoint %s: %s", endpoint, error)
        raise RunStopped(f"endpoint {endpoint} {refusal(error)}; the server's log has the details") from None
    finally:
        talk.close()


class Conversation:
    """One procedure's way through its calls. It lives in the event loop; what it does with the database doesn't."""

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
        self.spend = Spend()
        self.progress = Progress(currency=endpoint.currency)
        self.sizes = Sizes()
        self.budget = Budget(endpoint, self.sizes)
        self.budget.granted = self.budget.cap = max_cost
        self.gate = Gate(in_flight, clock=client.clock)
        self._asking: dict[str, tuple[Request, list[Ask]]] = {}
        self._ready: deque[Request] = deque()
        self._tasks: dict[asyncio.Task[Reply | CallFailed], Request] = {}
        self._storing: set[asyncio.Future[None]] = set()
        self._counted: set[int] = set()  # stored answers, by their primary keys
        self._failed_in_a_row = 0
        self._problem = ""
        self._next_look = 0.0

    async def hold(self, talk: Talk[T], stop: StopFlag) -> Held[T]:
        """Go from one step of the procedure to the next."""
        stopping = asyncio.create_task(stop.wait())
        try:
            calls = next(talk)
            while True:
                calls = talk.send(await self._answers_to(calls, stopping))
        except StopIteration as end:
            return Held(end.value, self.spend)
        except UnparsedVerdict as error:
            last = f"; the last one that was of no use: {self._problem}" if self._problem else ""
            raise UnparsedVerdict(f"{error}{last}") from error
        finally:
            under_way = [stopping, *self._tasks]
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
            await asyncio.gather(*self._storing, return_exceptions=True)  # what has arrived is kept, whatever happened

    async def _answers_to(self, calls: Sequence[Call], stopping: "asyncio.Task[None]") -> list[Any]:
        asks = [Ask(call) for call in calls]
        self.progress.total += len(asks)
        before = self.progress.done
        while True:
            await self._take_stored(asks)
            self.progress.done = before + sum(ask.done for ask in asks)
            self._show()
            if all(ask.done for ask in asks):
                return [ask.value for ask in asks]
            if stopping.done():
                raise Interrupted("stopped on request; the same again resumes without repeating a call")
            await self._share_limits()
            self._send()
            await self._hear(stopping)

    async def _take_stored(self, asks: Sequence[Ask]) -> None:
        """Take in what the cache has, and get ready what it hasn't; the same question is asked once."""
        while opened := [ask for ask in asks if not ask.done and not ask.waiting]:
            asked = [(ask, self.requests.request(ask.call, repeat=0, attempt=ask.attempt)) for ask in opened]
            known = await sync_to_async(self._look_up)([request.key for _, request in asked])
            for ask, request in asked:
                if (reply := known.get(request.key)) is not None:
                    self._take(ask, reply)
                    continue
                if request.key not in self._asking:
                    self._asking[request.key] = (request, [])
                    self._ready.append(request)
                self._asking[request.key][1].append(ask)
                ask.waiting = True

    def _look_up(self, keys: Sequence[str]) -> dict[str, Reply]:
        found: dict[str, Reply] = {}
        for part in parts(list(dict.fromkeys(keys))):
            rows = Completion.objects.filter(cache_key__in=part).order_by().values_list(*CACHED, *SPENT)
            for pk, key, text, finish_reason, response, created_at, *spent in rows:
                found[key] = Reply(text, finish_reason, response)
                if pk not in self._counted:
                    self._counted.add(pk)
                    self._count_stored(Spent(*spent), paid=self.since is not None and created_at >= self.since)
        return found

    def _count_stored(self, spent: Spent, *, paid: bool) -> None:
        if not paid:
            self.spend.cached += 1
            return
        self.spend.calls += 1
        self.spend.spent.add(spent)
        if self.budget.granted is not None:
            self.budget.granted -= spent.cost or Decimal(0)

    async def _share_limits(self) -> None:
        """Keep to the endpoint's limits, of which the runs that ask it now have their shares."""
        limits = (self.endpoint.requests_per_minute, self.endpoint.tokens_per_minute)
        if limits == (None, None) or time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + leases.BEAT_SECONDS
        fresh = timezone.now() - leases.LEASE
        workers = RunWorker.objects.filter(run__judge__endpoint=self.endpoint, heartbeat_at__gte=fresh)
        sharers = 1 + await sync_to_async(workers.count)()
        self.gate.set_limits(*(None if limit is None else limit / sharers for limit in limits))

    def _send(self) -> None:
        """Send what may be sent."""
        while self._ready and len(self._tasks) < self.gate.flow.most:
            if not self.budget.reserve(self._ready[0]):
                if not self._tasks:
                    self._end_at_cap()
                return
            request = self._ready.popleft()
            self._tasks[asyncio.create_task(self._ask(request))] = request

    def _end_at_cap(self) -> None:
        raise CapReached(
            f"the cap of {money(self.budget.cap, self.endpoint.currency)} is reached: "
            f"{money(self.spend.spent.cost, self.endpoint.currency)} spent, and the rest may not be enough for another "
            "call; what was answered is kept: give a higher cap to go on"
        )

    async def _hear(self, stopping: "asyncio.Task[None]") -> None:
        """Wait for an answer, for a while."""
        ended, _ = await asyncio.wait(
            [stopping, *self._tasks], timeout=leases.BEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        for task in [task for task in self._tasks if task in ended]:
            request = self._tasks.pop(task)
            outcome = task.result()
            _, waiting = self._asking.pop(request.key)
            for ask in waiting:
                ask.waiting = False
            if isinstance(outcome, CallFailed):
                self._go_without(waiting, outcome)
            else:
                self._failed_in_a_row = 0
                for ask in waiting:
                    self._take(ask, outcome)

    async def _ask(self, request: Request) -> Reply | CallFailed:
        """Make a call and store its answer."""
        guess = sum(self.sizes.guess(request))
        try:
            answer = await self.client.complete(request.body, gate=self.gate, tokens=guess)
        except AccessDenied as error:
            raise RunStopped(f"the endpoint refuses access: {error}") from None
        except CallFailed as error:
            self.budget.settle(request.key, None)
            self.budget.store(request.key)
            return error
        counts = (answer.prompt_tokens, answer.completion_tokens)
        self.sizes.learn(request, *counts)
        self.gate.tokens.take(self.client.clock.now(), sum(count or 0 for count in counts) - guess)
        spent = Spent(*counts, cost_of(self.endpoint, *counts))
        reply = Reply(answer.text, answer.finish_reason, answer.response)
        refused = bool(refusal_in(self._asking[request.key][1][0].call, reply))
        stored = Stored(request.key, reply, spent=spent, request=request, latency_ms=answer.latency_ms, refused=refused)
        await self._store(stored)
        self._paid(stored)
        return reply

    async def _store(self, stored: Stored) -> None:
        """Write an answer; once begun, that is done to the end, whatever becomes of the call."""
        storing = asyncio.ensure_future(sync_to_async(write_answers)([stored], self.requests.base_url))
        self._storing.add(storing)
        storing.add_done_callback(self._storing.discard)
        await asyncio.shield(storing)

    def _paid(self, stored: Stored) -> None:
        """Count a call whose answer is in the database now, and give its place back."""
        self.budget.settle(stored.key, stored.spent.cost)
        self.budget.store(stored.key)
        self.gate.leave()
        self.spend.calls += 1
        self.spend.spent.add(stored.spent)
        if stored.pk is not None:
            self._counted.add(stored.pk)
        if stored.spent.cost is None and self.budget.granted is not None:
            raise RunStopped("the endpoint doesn't say how many tokens a call took: its cost can't be capped")

    def _take(self, ask: Ask, reply: Reply) -> None:
        declined = take_in(ask, reply)
        if ask.done and ask.value is None:
            self._problem = declined or reply.text[-200:]

    def _go_without(self, asks: Sequence[Ask], failure: CallFailed) -> None:
        """Go on without an answer where a question, and it alone, is refused; else nothing would be gained by it."""
        self.spend.failed += 1
        self._failed_in_a_row += 1
        self._problem = str(failure)
        needed = not isinstance(failure, RejectedCall) or not all(ask.call.optional for ask in asks)
        if needed or self._failed_in_a_row >= FAILURES_IN_A_ROW:
            raise RunStopped(f"a question got no answer: {failure}; the same again asks only for what is missing")
        for ask in asks:
            ask.done = True

    def _show(self) -> None:
        progress = self.progress
        progress.calls, progress.cached, progress.cost = self.client.calls, self.spend.cached, self.spend.spent.cost
        progress.errors = self.client.errors
        progress.in_flight, progress.allowed = self.gate.inside, self.gate.flow.allowed
        self.on_progress(progress)
