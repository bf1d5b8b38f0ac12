"""Sampling texts at an endpoint: a window of instances that moves through the study, a bounded number of calls in flight.

An answer is in the cache before its place in flight is free again, and the texts of an instance are stored together once
all of them are there. Stopping at any moment, by whatever means, loses at most the calls in flight.
"""

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import NoReturn

from asgiref.sync import async_to_sync, sync_to_async
from django.db import transaction
from django.utils import timezone

from annotation.services.generations import store_generations
from judging.credentials import check_key_env
from judging.errors import BadSettings, CallFailed, EndpointRefused, RunStopped, UnparsedVerdict
from judging.judges import Reply
from judging.models import GenerationRun
from judging.services.cases import Ask, Spent, Stored, added
from judging.services.conversations import IN_FLIGHT, Conversation, Interrupted
from judging.services.endpoints import check_host
from judging.services.engine import CapReached
from judging.services.execution import MakeClient, patient_client, refusal
from judging.services.generating import SampleRequests, Where, calls_of, open_instances, standing_of
from judging.services.generating_answers import SHOWN, Drawn, read_text
from judging.services.pricing import money
from judging.services.progress import OnProgress, quiet
from judging.services.reading import marked_refusal, read_reply
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
NAMED = 1000  # instances left out whose reasons are kept
# What sessions change; the run's study and endpoint are loaded beforehand, for the event loop asks no database.
MOVING = (
    *("calls", "cached", "prompt_tokens", "completion_tokens", "cost", "cut", "left_out", "left_out_count", "message"),
    *("longest", "counted_until", "heartbeat_at", "ended_at"),
)


@dataclass
class Tally:
    """What came of a session.

    stored, texts : instances that got their texts, and these; `cut`: texts that ended at the limit of their length
    there         : instances that another process gave texts meanwhile
    left_out      : instances without all of their texts, and why
    calls, cached : answers that were paid for, and those that were there before; `failed`: calls that came to nothing
    """

    stored: int = 0
    texts: int = 0
    cut: int = 0
    there: int = 0
    left_out: dict[str, str] = field(default_factory=dict)
    calls: int = 0
    cached: int = 0
    failed: int = 0
    spent: Spent = field(default_factory=Spent)


@dataclass(slots=True)
class Draw(Ask):
    """A call for one text; `why`: what kept it from being one."""

    why: str = ""


@dataclass
class Open:
    """An instance in the window."""

    pk: int
    instance_id: str
    draws: list[Draw]

    @property
    def done(self) -> bool:
        """Tell whether all its calls have ended."""
        return all(draw.done for draw in self.draws)

    @property
    def texts(self) -> list[Drawn]:
        """The texts that there are."""
        return [draw.value for draw in self.draws if draw.value is not None]

    @property
    def why(self) -> str:
        """Say what keeps it from being stored; empty when nothing does."""
        lost = [draw.why for draw in self.draws if draw.value is None]
        return f"{lost[0]} ({len(lost)} of {len(self.draws)})" if lost else ""


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
        before, self._billed = self._billed, (spend.calls, spend.cached, _copy(spend.spent))
        bill = (spend.calls - before[0], spend.cached - before[1], _less(spend.spent, before[2]))
        self.tally.calls, self.tally.cached, self.tally.failed = spend.calls, spend.cached, spend.failed
        self.tally.spent = _copy(spend.spent)
        await sync_to_async(keep)(self.run, ended, self.tally, bill=bill, at=at, longest=self.sizes.longest)

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


def why_no_text(ask: Ask, reply: Reply) -> str:
    """Say why an answer is no text."""
    if declined := marked_refusal(reply):
        return f"refused: {declined[:SHOWN]}"
    try:
        read_reply(ask.call, reply)
    except UnparsedVerdict as error:
        return str(error)[: SHOWN + 20]
    return ""


def keep(
    run: GenerationRun,
    ended: Sequence[Open],
    tally: Tally,
    *,
    bill: tuple[int, int, Spent],
    at: datetime,
    longest: int | None = None,
) -> None:
    """Store the texts of instances that have all of theirs, and what was spent; name the others."""
    whole = {one.pk: one for one in ended if not one.why}
    lost = {one.instance_id: one.why for one in ended if one.why}
    with transaction.atomic():
        row = GenerationRun.objects.select_for_update().get(pk=run.pk)
        if row.settings_key != run.settings_key:
            raise RunStopped(f"the settings of system {run.name} were changed meanwhile; nothing more is stored")
        texts = {pk: [drawn.text for drawn in one.texts] for pk, one in whole.items()}
        stored = store_generations(study=run.study, system=run.name, texts=texts, name=run.name) if texts else set()
        cut = sum(drawn.cut for pk in stored for drawn in whole[pk].texts)
        _bill(row, *bill)
        row.longest = max(filter(None, (row.longest, longest)), default=None)
        row.counted_until, row.cut = at, row.cut + cut
        room = max(0, NAMED - len(row.left_out))
        row.left_out += [{"instance": one, "why": why} for one, why in list(lost.items())[:room]]
        row.left_out_count += len(lost)
        row.heartbeat_at = timezone.now()
        row.save()
    tally.stored += len(stored)
    tally.texts += len(stored) * run.samples
    tally.there += len(whole) - len(stored)
    tally.cut += cut
    tally.left_out |= lost


def _bill(row: GenerationRun, calls: int, cached: int, spent: Spent) -> None:
    row.calls, row.cached = row.calls + calls, row.cached + cached
    row.prompt_tokens = added(row.prompt_tokens, spent.prompt_tokens)
    row.completion_tokens = added(row.completion_tokens, spent.completion_tokens)
    row.cost = None if row.cost is None or spent.cost is None else row.cost + spent.cost


def _copy(spent: Spent) -> Spent:
    return Spent(spent.prompt_tokens, spent.completion_tokens, spent.cost)


def _less(spent: Spent, before: Spent) -> Spent:
    """Return what was spent since; a part that is unknown stays unknown."""
    return Spent(
        None if spent.prompt_tokens is None else spent.prompt_tokens - (before.prompt_tokens or 0),
        None if spent.completion_tokens is None else spent.completion_tokens - (before.completion_tokens or 0),
        None if spent.cost is None else spent.cost - (before.cost or Decimal(0)),
    )
