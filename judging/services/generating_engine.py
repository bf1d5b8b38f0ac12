"""Sampling texts at an endpoint: a window of instances that moves through the study, a bounded number of calls in flight.

An answer is in the cache before its place in flight is free again, and the texts of an instance are stored together once
all of them are there. Stopping at any moment, by whatever means, loses at most the calls in flight.
"""

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import NoReturn

from asgiref.sync import async_to_sync, sync_to_async
from django.utils import timezone

from judging.credentials import check_key_env
from judging.errors import BadSettings, CallFailed, EndpointRefused, RunStopped, UnparsedVerdict
from judging.judges import Reply
from judging.models import GenerationRun, RunWorker
from judging.services import leases
from judging.services.cases import Ask, Spent, Stored
from judging.services.conversations import IN_FLIGHT, Conversation, Interrupted
from judging.services.endpoints import check_host
from judging.services.engine import CapReached
from judging.services.execution import MakeClient, patient_client, refusal
from judging.services.generating import SampleRequests, calls_of
from judging.services.generating_answers import SHOWN, read_text
from judging.services.generating_instances import Where, open_instances, standing_of
from judging.services.generating_store import Draw, Open, Tally, copied, keep, less, why_no_text
from judging.services.pricing import money
from judging.services.progress import OnProgress, quiet
from judging.services.reading import read_reply
from judging.services.retrying import RetryingClient
from judging.services.runs import MAX_IN_FLIGHT
from judging.services.stopping import StopFlag
from judging.services.talks import check_cap

log = logging.getLogger(__name__)
WINDOW = 500  # calls that are looked up or under way at the same time, at least
A_STORING = 100  # instances
STORE_SECONDS = 5.0
BEAT_SECONDS = 10.0
USELESS_IN_A_ROW = 50
# What sessions change; the run's study and endpoint are loaded beforehand, for the event loop asks no database.
MOVING = (
    *("calls", "cached", "prompt_tokens", "completion_tokens", "cost", "cut", "left_out", "left_out_count", "message"),
    *("longest", "counted_until", "heartbeat_at", "ended_at"),
)


def sample(
    run: GenerationRun,
    *,
    where: Where | None = None,
    in_flight: int = IN_FLIGHT,
    max_cost: Decimal | None = None,
    stop: StopFlag | None = None,
    tally: Tally | None = None,
    on_progress: OnProgress = quiet,
    make_client: MakeClient = patient_client,
) -> Tally:
    """Sample the texts of a run's system for all chosen instances that have none; return what came of it.

    max_cost : of the whole run, in the endpoint's currency; what it has spent before is taken from it
    tally    : is filled while it goes on, so that it is known however it ends
    Raises: BadSettings for a cap that can't be kept; RunStopped when going on makes no sense; Interrupted when `stop`
    was set; CapReached. The same again goes on where this one ended.
    """
    where, tally = where or Where(), tally or Tally()
    if not 1 <= in_flight <= MAX_IN_FLIGHT:
        raise BadSettings(f"calls in flight must be between 1 and {MAX_IN_FLIGHT}, got {in_flight}")
    check_cap(max_cost, run.endpoint)
    if max_cost is not None and run.cost is None:
        raise BadSettings("the cost can't be capped: what was spent so far is unknown, for there were no prices then")
    if (run.endpoint.base_url, run.endpoint.model) != (run.base_url, run.model):
        raise BadSettings(f"endpoint {run.endpoint} leads elsewhere than when this system's texts were begun")
    expected = standing_of(run.study, run.name, where).open * run.samples
    instances = open_instances(run.study, run.name, where)
    _begin(run)

    async def in_loop() -> None:
        client = make_client(run.endpoint)
        sampler = Sampler(run, client, tally, in_flight=in_flight, max_cost=max_cost, on_progress=on_progress)
        sampler.progress.total = expected
        try:
            await sampler.go_through(instances, stop or StopFlag())
        finally:
            await client.close()

    message = ""
    try:
        check_host(run.base_url)
        check_key_env(run.endpoint.key_env)
        async_to_sync(in_loop)()
    except EndpointRefused as error:
        log.warning("endpoint %s: %s", run.endpoint, error)
        message = f"endpoint {run.endpoint} {refusal(error)}; the server's log has the details"
        raise RunStopped(message) from None
    except (RunStopped, CapReached, BadSettings) as error:
        message = str(error)
        raise
    finally:
        _end(run, message)
    return tally


def _begin(run: GenerationRun) -> None:
    GenerationRun.objects.filter(pk=run.pk).update(
        left_out=[], left_out_count=0, message="", ended_at=None, heartbeat_at=timezone.now()
    )
    run.refresh_from_db(fields=MOVING)


def _end(run: GenerationRun, message: str) -> None:
    GenerationRun.objects.filter(pk=run.pk).update(message=message, ended_at=timezone.now(), heartbeat_at=None)
    run.refresh_from_db(fields=MOVING)


class Sampler(Conversation):
    """A run's way through the instances. It lives in the event loop; what it does with the database doesn't."""

    def __init__(
        self,
        run: GenerationRun,
        client: RetryingClient,
        tally: Tally,
        *,
        in_flight: int,
        max_cost: Decimal | None,
        on_progress: OnProgress,
    ) -> None:
        left = None if max_cost is None else max_cost - (run.cost or Decimal(0))
        super().__init__(
            run.endpoint,
            SampleRequests(run),
            client,
            in_flight=in_flight,
            max_cost=left,
            since=run.counted_until,
            on_progress=on_progress,
        )
        self.budget.cap = max_cost
        if run.longest is not None:
            self.sizes.expect(run.longest)
        self.run = run
        self.tally = tally
        self.read = partial(read_text, keep_refusals=run.keep_refusals)
        self.window = max(WINDOW, 4 * in_flight)
        self._open: list[Open] = []
        self._ended: list[Open] = []
        self._arrived: dict[str, Stored] = {}  # stored, or about to be, and not counted yet
        self._billed = (0, 0, Spent())  # calls, cached ones, and what they took, as far as the run's row has them
        self._useless_in_a_row = 0
        self._next_storing = time.monotonic() + STORE_SECONDS
        self._next_beat = time.monotonic() + BEAT_SECONDS

    async def go_through(self, instances: Iterator[tuple[int, str, str]], stop: StopFlag) -> None:
        """Sample the texts of one instance after another, many of them at the same time."""
        stopping = asyncio.create_task(stop.wait())
        try:
            while await self._fill(instances):
                await self._take_stored([draw for one in self._open for draw in one.draws])
                self._close()
                await self._keep_up()
                if stopping.done():
                    raise Interrupted("stopped on request; the same again resumes without repeating a call")
                await self._share_limits()
                self._send()
                if self._tasks:
                    await self._hear(stopping)
        finally:
            under_way = [stopping, *self._tasks]
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
            await asyncio.gather(*self._storing, return_exceptions=True)  # what has arrived is kept, whatever happened
            for stored in self._arrived.values():  # its call was given up while it was being stored
                self.spend.calls += 1
                self.spend.spent.add(stored.spent)
            self._close()
            await self._keep()

    async def _fill(self, instances: Iterator[tuple[int, str, str]]) -> bool:
        """Open further instances while there is room; False when there are none left."""
        waiting = sum(not draw.done for one in self._open for draw in one.draws)
        wanted = -(-(self.window - waiting) // self.run.samples)
        if wanted > 0:
            for pk, instance_id, source in await sync_to_async(_taken)(instances, wanted):
                draws = [Draw(call) for call in calls_of(self.run, source, self.read)]
                self._open.append(Open(pk, instance_id, draws))
        return bool(self._open)

    def _close(self) -> None:
        """Take instances out of the window whose calls have all ended."""
        ended = [one for one in self._open if one.done]
        self._open = [one for one in self._open if not one.done]
        self._ended += ended
        self.progress.done += sum(len(one.draws) for one in ended)
        self._show()

    async def _keep_up(self) -> None:
        """Store what has gathered, and show that this process is alive."""
        now = time.monotonic()
        if len(self._ended) >= A_STORING or now >= self._next_storing:
            await self._keep()
        if now >= self._next_beat:
            self._next_beat = now + BEAT_SECONDS
            alive = GenerationRun.objects.filter(pk=self.run.pk)
            await sync_to_async(alive.update)(heartbeat_at=timezone.now())

    async def _keep(self) -> None:
        ended, self._ended = self._ended, []
        self._next_storing = time.monotonic() + STORE_SECONDS
        at, spend = timezone.now(), self.spend
        before, self._billed = self._billed, (spend.calls, spend.cached, copied(spend.spent))
        bill = (spend.calls - before[0], spend.cached - before[1], less(spend.spent, before[2]))
        self.tally.calls, self.tally.cached, self.tally.failed = spend.calls, spend.cached, spend.failed
        self.tally.spent = copied(spend.spent)
        await sync_to_async(keep)(self.run, ended, self.tally, bill=bill, at=at, longest=self.sizes.longest)

    async def _share_limits(self) -> None:
        """Keep to the endpoint's limits, which others that sample there share as well as the runs of judges."""
        looks = time.monotonic() >= self._next_look
        await super()._share_limits()
        if looks and (self.endpoint.requests_per_minute or self.endpoint.tokens_per_minute):
            await sync_to_async(self._count_sharers)()

    def _count_sharers(self) -> None:
        fresh = timezone.now() - leases.LEASE
        workers = RunWorker.objects.filter(run__judge__endpoint=self.endpoint, heartbeat_at__gte=fresh).count()
        others = GenerationRun.objects.filter(endpoint=self.endpoint, heartbeat_at__gte=fresh).exclude(pk=self.run.pk)
        limits = (self.endpoint.requests_per_minute, self.endpoint.tokens_per_minute)
        sharers = 1 + workers + others.count()
        self.gate.set_limits(*(None if limit is None else limit / sharers for limit in limits))

    async def _store(self, stored: Stored) -> None:
        """Write an answer; one that is no text is kept to be looked at, and asked for again the next time."""
        call = self._asking[stored.key][1][0].call
        try:
            read_reply(call, stored.reply)
        except UnparsedVerdict:
            stored.refused = True
        self._useless_in_a_row = self._useless_in_a_row + 1 if stored.refused else 0
        self._arrived[stored.key] = stored
        await super()._store(stored)

    def _paid(self, stored: Stored) -> None:
        self._arrived.pop(stored.key, None)
        super()._paid(stored)

    def _take(self, ask: Ask, reply: Reply) -> None:
        super()._take(ask, reply)
        if isinstance(ask, Draw) and ask.done and ask.value is None:
            ask.why = why_no_text(ask, reply)
        if self._useless_in_a_row >= USELESS_IN_A_ROW:
            raise RunStopped(
                f"the last {self._useless_in_a_row} answers were no texts, for example: {self._problem or 'empty'}; "
                "the same again asks only for what is missing"
            )

    def _go_without(self, asks: Sequence[Ask], failure: CallFailed) -> None:
        super()._go_without(asks, failure)
        for ask in asks:
            if isinstance(ask, Draw):
                ask.why = f"rejected: {str(failure)[:SHOWN]}"

    def _end_at_cap(self) -> NoReturn:
        spent = (
            None if self.spend.spent.cost is None or self.run.cost is None else self.spend.spent.cost + self.run.cost
        )
        raise CapReached(
            f"the cap of {money(self.budget.cap, self.endpoint.currency)} is reached: "
            f"{money(spent, self.endpoint.currency)} spent, and the rest may not be enough for another call; what was "
            "answered is kept: give a higher cap to go on"
        )


def _taken(instances: Iterator[tuple[int, str, str]], most: int) -> list[tuple[int, str, str]]:
    return list(islice(instances, most))
