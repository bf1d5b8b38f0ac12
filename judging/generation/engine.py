"""Sampling texts at an endpoint: a window of instances moves through the study, with a bounded number of calls in flight.

An answer is cached before its place in the rate limiter is released, and an instance's texts are stored together once
all are there. Stopping at any moment loses at most the calls in flight.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import Any

from asgiref.sync import async_to_sync, sync_to_async
from django.utils import timezone

from annotation.core.errors import AnnotationError
from judging.calls.adhoc_runner import IN_FLIGHT, Interrupted, ProcedureRunner
from judging.calls.cases import CallState, StoredAnswer, Usage
from judging.calls.results import read_reply
from judging.core.constants import MAX_IN_FLIGHT
from judging.core.errors import BadSettings, CallFailed, CapReached, RunStopped, UnparsedVerdict
from judging.core.pricing import check_cap
from judging.endpoints.client_factory import MakeClient, checked, retrying_client
from judging.endpoints.retrying import RetryingClient
from judging.generation.instances import InstanceSelection, count_instances, open_instances
from judging.generation.sampled_text import SHOWN, read_text
from judging.generation.services import SampleRequests, calls_of
from judging.generation.store import (
    Draw,
    OpenInstance,
    SamplingTotals,
    store_texts,
    subtract_usage,
    why_no_text,
)
from judging.jobs import leases
from judging.jobs.progress import OnProgress, ignore_progress
from judging.jobs.stopping import WORKER_STOP, StopFlag
from judging.methods import Reply
from judging.models import GenerationRun

WINDOW = 500  # calls in the window, at least
INSTANCES_PER_WRITE = 100  # instances
STORE_SECONDS = 5.0
HEARTBEAT_SECONDS = 10.0
MAX_UNUSABLE_IN_A_ROW = 50
# Fields that a session changes; study and endpoint are loaded before, since the event loop can't query the database.
SESSION_FIELDS = (
    *("calls", "cached", "prompt_tokens", "completion_tokens", "cost", "cut", "left_out", "left_out_count", "message"),
    *("longest", "counted_until", "heartbeat_at", "ended_at"),
)


def sample(
    run: GenerationRun,
    *,
    selection: InstanceSelection | None = None,
    in_flight: int = IN_FLIGHT,
    max_cost: Decimal | None = None,
    stop: StopFlag | None = None,
    totals: SamplingTotals | None = None,
    on_progress: OnProgress = ignore_progress,
    make_client: MakeClient = retrying_client,
) -> SamplingTotals:
    """Sample the texts of a run's system for all selected instances without any; return the totals. Repeating resumes it.

    max_cost : of the whole run, its cost so far included, in the endpoint's currency
    totals   : updated while sampling, so that they are known however it ends
    Raises: BadSettings for a cap that can't be enforced; RunStopped if it can't continue; Interrupted if `stop` was set;
    CapReached
    """
    selection, totals = selection or InstanceSelection(), totals or SamplingTotals()
    if not 1 <= in_flight <= MAX_IN_FLIGHT:
        raise BadSettings(f"calls in flight must be between 1 and {MAX_IN_FLIGHT}, got {in_flight}")
    check_cap(max_cost, run.endpoint)
    if max_cost is not None and run.cost is None:
        raise BadSettings("the cost can't be capped: what was spent so far is unknown, for there were no prices then")
    if (run.endpoint.base_url, run.endpoint.model) != (run.base_url, run.model):
        raise BadSettings(f"endpoint {run.endpoint} leads elsewhere than when this system's texts were begun")
    expected = count_instances(run.study, run.name, selection).open * run.samples
    instances = open_instances(run.study, run.name, selection)
    _begin(run)

    async def in_loop() -> None:
        client = make_client(run.endpoint)
        sampler = TextSampler(run, client, totals, in_flight=in_flight, max_cost=max_cost, on_progress=on_progress)
        sampler.progress.total = expected
        try:
            await sampler.sample_all(instances, stop or StopFlag())
        finally:
            await client.close()

    message = ""
    try:
        with checked(run.endpoint):
            async_to_sync(in_loop)()
    except (RunStopped, CapReached, BadSettings) as error:
        message = str(error)
        raise
    finally:
        _end(run, message)
    return totals


def generate_queued(
    run_id: int,
    *,
    selection: InstanceSelection,
    in_flight: int,
    max_cost: str | None,
    make_client: MakeClient = retrying_client,
) -> dict[str, Any]:
    """Sample in a worker; return the task's result.

    Raises: SystemExit when the worker gets a stop signal, which requeues the task.
    """
    run = GenerationRun.objects.select_related("study", "endpoint").get(pk=run_id)
    totals = SamplingTotals()
    try:
        sample(
            run,
            selection=selection,
            in_flight=in_flight,
            max_cost=None if max_cost is None else Decimal(max_cost),
            stop=WORKER_STOP,
            totals=totals,
            make_client=make_client,
        )
    except Interrupted:
        raise SystemExit(0) from None
    except AnnotationError as error:
        return {**totals.as_dict(), "error": str(error)}
    return totals.as_dict()


def _begin(run: GenerationRun) -> None:
    GenerationRun.objects.filter(pk=run.pk).update(
        left_out=[], left_out_count=0, message="", ended_at=None, heartbeat_at=timezone.now()
    )
    run.refresh_from_db(fields=SESSION_FIELDS)


def _end(run: GenerationRun, message: str) -> None:
    GenerationRun.objects.filter(pk=run.pk).update(message=message, ended_at=timezone.now(), heartbeat_at=None)
    run.refresh_from_db(fields=SESSION_FIELDS)


class TextSampler(ProcedureRunner):
    """Samples a run's texts in the event loop; database work is handed to threads."""

    def __init__(
        self,
        run: GenerationRun,
        client: RetryingClient,
        totals: SamplingTotals,
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
            self.sizes.set_longest(run.longest)
        self.run = run
        self.totals = totals
        self.read = partial(read_text, keep_refusals=run.keep_refusals)
        self.window = max(WINDOW, 4 * in_flight)
        self._open: list[OpenInstance] = []
        self._ended: list[OpenInstance] = []
        self._arrived: dict[str, StoredAnswer] = {}  # stored or being stored, not counted yet
        self._billed = (0, 0, Usage())  # calls, cached answers and usage that the run's row includes
        self._useless_in_a_row = 0
        self._next_storing = time.monotonic() + STORE_SECONDS
        self._next_heartbeat = time.monotonic() + HEARTBEAT_SECONDS

    async def sample_all(self, instances: Iterator[tuple[int, str, str]], stop: StopFlag) -> None:
        """Sample the texts of all instances, a window of them at a time."""
        stopping = asyncio.create_task(stop.wait())
        try:
            while await self._fill(instances):
                await self._use_cache([draw for one in self._open for draw in one.draws])
                self._close()
                await self._store_if_due()
                if stopping.done():
                    raise Interrupted("stopped on request; the same again resumes without repeating a call")
                await self._share_limits()
                self._send()
                if self._tasks:
                    await self._collect(stopping)
        finally:
            await self._cancel(stopping)
            for stored in self._arrived.values():  # stored after its call was cancelled
                self.usage.calls += 1
                self.usage.total.add(stored.usage)
            self._close()
            await self._store_ended()

    async def _fill(self, instances: Iterator[tuple[int, str, str]]) -> bool:
        """Fill the window with instances; False if it stays empty."""
        waiting = sum(not draw.done for one in self._open for draw in one.draws)
        wanted = -(-(self.window - waiting) // self.run.samples)
        if wanted > 0:
            for pk, instance_id, source in await sync_to_async(lambda: list(islice(instances, wanted)))():
                draws = [Draw(call) for call in calls_of(self.run, source, self.read)]
                self._open.append(OpenInstance(pk, instance_id, draws))
        return bool(self._open)

    def _close(self) -> None:
        """Remove instances from the window whose calls have all ended."""
        ended = [one for one in self._open if one.done]
        self._open = [one for one in self._open if not one.done]
        self._ended += ended
        self.progress.done += sum(len(one.draws) for one in ended)
        self._report_progress()

    async def _store_if_due(self) -> None:
        """Store ended instances and send a heartbeat, if due."""
        now = time.monotonic()
        if len(self._ended) >= INSTANCES_PER_WRITE or now >= self._next_storing:
            await self._store_ended()
        if now >= self._next_heartbeat:
            self._next_heartbeat = now + HEARTBEAT_SECONDS
            alive = GenerationRun.objects.filter(pk=self.run.pk)
            await sync_to_async(alive.update)(heartbeat_at=timezone.now())

    async def _store_ended(self) -> None:
        ended, self._ended = self._ended, []
        self._next_storing = time.monotonic() + STORE_SECONDS
        at, usage = timezone.now(), self.usage
        before, self._billed = self._billed, (usage.calls, usage.cached, replace(usage.total))
        bill = (usage.calls - before[0], usage.cached - before[1], subtract_usage(usage.total, before[2]))
        self.totals.calls, self.totals.cached, self.totals.failed = usage.calls, usage.cached, usage.failed
        self.totals.usage = replace(usage.total)
        await sync_to_async(store_texts)(self.run, ended, self.totals, bill=bill, at=at, longest=self.sizes.longest)

    def _count_sharers(self) -> int:
        """Count judge runs' workers and other sampling sessions."""
        fresh = timezone.now() - leases.LEASE
        others = GenerationRun.objects.filter(endpoint=self.endpoint, heartbeat_at__gte=fresh).exclude(pk=self.run.pk)
        return super()._count_sharers() + others.count()

    async def _store(self, stored: StoredAnswer) -> None:
        """Write an answer; one that is no text is stored like a refusal, and asked for again next time."""
        call = self._asking[stored.key][1][0].call
        try:
            read_reply(call, stored.reply)
        except UnparsedVerdict:
            stored.refused = True
        self._useless_in_a_row = self._useless_in_a_row + 1 if stored.refused else 0
        self._arrived[stored.key] = stored
        await super()._store(stored)

    def _count_paid(self, stored: StoredAnswer) -> None:
        self._arrived.pop(stored.key, None)
        super()._count_paid(stored)

    def _apply(self, state: CallState, reply: Reply) -> None:
        super()._apply(state, reply)
        if isinstance(state, Draw) and state.done and state.value is None:
            state.why = why_no_text(state, reply)
        if self._useless_in_a_row >= MAX_UNUSABLE_IN_A_ROW:
            raise RunStopped(
                f"the last {self._useless_in_a_row} answers were no texts, for example: {self._problem or 'empty'}; "
                "the same again asks only for what is missing"
            )

    def _skip_or_stop(self, call_states: Sequence[CallState], failure: CallFailed) -> None:
        super()._skip_or_stop(call_states, failure)
        for state in call_states:
            if isinstance(state, Draw):
                state.why = f"rejected: {str(failure)[:SHOWN]}"

    def _spent(self) -> Decimal | None:
        known = self.usage.total.cost is not None and self.run.cost is not None
        return (self.usage.total.cost or 0) + (self.run.cost or Decimal(0)) if known else None
