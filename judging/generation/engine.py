"""Sampling texts at an endpoint, by the engine of runs: an instance's texts are stored together once all are there."""

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

from django.utils import timezone

from annotation.core.reasons import reason
from annotation.core.tasks.stopping import StopFlag
from annotation.jobs.work import held
from annotation.models.jobs import LEASE
from judging.calls.adhoc import BilledSession
from judging.calls.budget import CallSizes
from judging.calls.cases import Case
from judging.calls.store import PendingWrites
from judging.core.errors import BadSettings, RunStopped
from judging.endpoints.retrying import MakeClient, retrying_client
from judging.generation.instances import InstanceSelection, count_instances, open_instances
from judging.generation.store import (
    SampledInstance,
    SampleRequests,
    SamplingTotals,
    case_of,
    is_text,
    sampled,
    store_texts,
)
from judging.jobs.progress import OnProgress, ignore_progress, noted_by
from judging.models import Endpoint, GenerationRun

INSTANCES_PER_WRITE = 100  # instances
STORE_SECONDS = 5.0
MAX_UNUSABLE_IN_A_ROW = 50


def sample(
    run: GenerationRun,
    *,
    stop: StopFlag | None = None,
    totals: SamplingTotals | None = None,
    on_progress: OnProgress = ignore_progress,
    make_client: MakeClient = retrying_client,
) -> SamplingTotals:
    """Sample a run's texts for all selected instances without any. Return the totals. Repeating resumes it.

    totals : updated while sampling, so that they are known however it ends
    Raises: BadSettings for a cap that can't be enforced; JobBusy if another process samples them; RunStopped if it can't
    continue; Interrupted if `stop` was set; CapReached
    """
    totals = totals or SamplingTotals()
    with held(run, stop) as hold:
        if (run.endpoint.base_url, run.endpoint.model) != (run.base_url, run.model):
            raise BadSettings(reason("endpoint_moved", endpoint=str(run.endpoint)))
        selection = InstanceSelection(**run.selection)
        instances = open_instances(run.study, run.name, selection)
        session = SamplingSession(run, instances, totals, stop=hold.stop, on_progress=noted_by(hold, on_progress))
        session.progress.total = count_instances(run.study, run.name, selection).open * run.samples
        GenerationRun.objects.filter(pk=run.pk).update(left_out=[], left_out_count=0)
        try:
            session.work(make_client)
        finally:
            hold.note(session.progress.done, session.progress.total)
    return totals


class SamplingSession(BilledSession[GenerationRun]):
    """Samples a run's texts: each instance is a procedure of one round."""

    def __init__(
        self, run: GenerationRun, instances: Iterator[tuple[int, str, str]], totals: SamplingTotals, **settings: Any
    ) -> None:
        super().__init__(run, run.endpoint, SampleRequests(run), **settings)
        self.instances = instances
        self.totals = totals
        self.sizes = CallSizes()
        self._ids: dict[int, str] = {}  # of instances, by primary key
        self._ended: dict[str, SampledInstance] = {}
        self._useless: list[str] = []  # the last answers in a row that were no texts
        self._next_storing = time.monotonic() + STORE_SECONDS

    def learn_sizes(self, sizes: CallSizes) -> None:
        """Learn the longest text of earlier sessions."""
        self.sizes = sizes
        if self.row.longest is not None:
            sizes.set_longest(self.row.longest)

    def start_cases(self, limit: int) -> list[Case]:
        """Start the calls of the next instances."""
        count = -(-limit // self.row.samples)
        instances = list(islice(self.instances, count))
        self.exhausted = len(instances) < count
        self._ids.update((pk, instance_id) for pk, instance_id, _ in instances)
        return self.pool.add_cases([case_of(self.row, pk, source) for pk, _, source in instances])

    def store(self, writes: PendingWrites) -> Exception | None:
        """Store answers, and regularly the texts. An answer that is no text is stored like a refusal, and asked for again."""
        for stored in writes.answers:
            stored.refused = stored.refused or not is_text(self.row, stored.reply)
            self._useless = [*self._useless, stored.reply.text[-200:]] if stored.refused else []
        super().store(writes)
        ended, self.pool.ended = self.pool.ended, []
        for case in ended:
            if all(state.done for state in case.call_states):
                self._ended[self._ids.pop(case.cell.pk)] = sampled(case)
                self.progress.done += len(case.call_states)
        if len(self._ended) >= INSTANCES_PER_WRITE or time.monotonic() >= self._next_storing:
            self.store_ended()
        if len(self._useless) >= MAX_UNUSABLE_IN_A_ROW:
            example = self._useless[-1] or "empty"
            return RunStopped(reason("no_texts", number=len(self._useless), example=example))
        return None

    def store_ended(self) -> None:
        """Store the texts of the instances that have ended, and bill the run."""
        ended, self._ended = self._ended, {}
        self._next_storing = time.monotonic() + STORE_SECONDS
        usage = self.usage
        self.totals.calls, self.totals.cached, self.totals.failed = usage.calls, usage.cached, usage.failed
        self.totals.usage = replace(usage.total)
        bill = partial(self.bill, at=timezone.now())
        store_texts(self.row, ended, self.totals, bill=bill, longest=self.sizes.longest)

    def count_sharers(self, endpoint: Endpoint) -> int:
        """Count judge runs' workers and other sampling sessions."""
        fresh = timezone.now() - LEASE
        other_runs = GenerationRun.objects.filter(endpoint=endpoint, heartbeat_at__gte=fresh).exclude(pk=self.row.pk)
        return super().count_sharers(endpoint) + other_runs.count()
