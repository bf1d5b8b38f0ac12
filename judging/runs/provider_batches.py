"""Filling a run's cells through a provider's Batch API: the same cells, requests and cache as with calls.

The work is done in passes. A pass advances every open cell as far as there are answers; the missing requests are
submitted as batches, whose answers serve the next pass, so procedures proceed one round per pass. A batch is marked
collected once a pass has stored its answers; after a crash the next worker collects it again at no cost. Only one
worker at a time works on a run in this way.
"""

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeVar

from asgiref.sync import async_to_sync, sync_to_async
from django.db.models import QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from judging.calls.budget import CallSizes, longest_allowed
from judging.calls.cases import Case, StoredAnswer, Usage
from judging.calls.procedure_pool import JudgmentPool
from judging.calls.requests import Request, Requests, cache_key, setting_of
from judging.calls.store import stamp_of, write
from judging.core.errors import (
    CallFailed,
    CapReached,
    JudgingError,
    RejectedCall,
    RunBusy,
    RunStopped,
    StatusChanged,
    TransientFailure,
)
from judging.core.pricing import cost_of, money
from judging.endpoints.chat_answers import UNUSABLE, ChatAnswer
from judging.endpoints.client import OpenAIClient, id_in
from judging.endpoints.credentials import check_key_env
from judging.endpoints.services import check_host
from judging.jobs import leases
from judging.jobs.progress import Job
from judging.methods import AskingMethod, Reply
from judging.models import Completion, Endpoint, JudgeRun, Judgment, ProviderBatch
from judging.runs.batch_files import Line, read_lines, request_line
from judging.runs.claims import free_cells, load

log = logging.getLogger(__name__)
T = TypeVar("T")
Connect = Callable[[Endpoint], OpenAIClient]
CELLS = 500  # loaded at a time
MOST_REQUESTS = 10_000  # in one file
MOST_BYTES = 90_000_000
MOST_ANSWERS = 20_000  # held in memory for one pass, about
ROUNDS = 3  # batches per request, before its cell ends in an error
POLL_SECONDS = 20.0  # between two polls of a batch
TRIES = 5
PAUSE_SECONDS = 2.0
FINISHED = frozenset({"completed", "failed", "expired", "cancelled"})
OPEN = (ProviderBatch.Status.UPLOADED, ProviderBatch.Status.IN_PROGRESS)


class BatchPending(RunStopped):
    """The provider's batches are not finished: the run has to be resumed later.

    cells_left : cells that may still be started then, as `Job.cells_left`
    """

    def __init__(self, cells_left: int | None) -> None:
        super().__init__(_("waiting for the provider's batch"))
        self.cells_left = cells_left


@dataclass
class RequestFile:
    """A file of requests being filled; `cost` is their estimated cost."""

    keys: list[str] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    size: int = 0
    cost: Decimal = Decimal(0)

    @property
    def is_full(self) -> bool:
        """Tell whether the file has reached its limits."""
        return len(self.keys) >= MOST_REQUESTS or self.size >= MOST_BYTES

    def add(self, request: Request, cost: Decimal) -> None:
        """Add a request."""
        line = request_line(request.key, request.body)
        self.keys.append(request.key)
        self.lines.append(line)
        self.size += len(line)
        self.cost += cost


class BatchWork:
    """One worker's execution of a run through batches."""

    def __init__(
        self,
        job: Job,
        method: AskingMethod,
        endpoint: Endpoint,
        *,
        connect: Connect = OpenAIClient,
    ) -> None:
        self.job = job
        self.run = job.run
        self.method = method
        self.endpoint = endpoint
        self.connect = connect
        self.setting = setting_of(job.run.judge)
        self.requests = Requests(job.run.judge, method)
        self.stamp = stamp_of(job.run, method, self.setting, self.requests.base_url, worker=job.worker.pk)
        self.sizes = CallSizes()
        self.cost_is_unknown = False  # of some answer, so the run's cost is unknown
        self.open_keys: set[str] = set()
        self.tried: Counter[str] = Counter()
        self.reasons: dict[str, str] = {}
        self.short_of_money = False
        job.progress.currency = endpoint.currency

    def work(self) -> None:
        """Fill the run's cells until none is open, or until asked to stop.

        Raises: BatchPending when it isn't patient and a batch is under way; RunStopped when going on makes no sense.
        """
        self.require_sole_worker()
        self.claim_cells()
        self.settle()
        finished, answers = self.poll()
        while True:
            if self.job.stop.is_set():
                return
            self.run_pass(answers, finished)
            if not self.open_cells().exists():
                return
            if not self.open_batches().exists():
                self.raise_stalled()
            finished, answers = self.poll()
            if not finished:
                if not self.job.wait_for_batches:
                    raise BatchPending(None if self.job.cells_left is None else self.open_cells().count())
                finished, answers = self.wait()

    # The run and its cells

    def require_sole_worker(self) -> None:
        """Leave the run to the worker that joined first: two would submit the same requests.

        Raises: RunBusy
        """
        first = self.run.workers.order_by("pk").first()
        if first is not None and first.pk != self.job.worker.pk and leases.is_alive(first):
            raise RunBusy(_("another process is working on this run"))

    def claim_cells(self) -> None:
        """Claim the open cells, or as many as may be started."""
        free = free_cells(self.run).order_by("pk")
        if self.job.cells_left is not None:
            free = free.filter(pk__in=list(free.values_list("pk", flat=True)[: self.job.cells_left]))
            self.job.cells_left = 0
        free.order_by().update(worker=self.job.worker)

    def open_cells(self) -> QuerySet[Judgment]:
        """Return the claimed cells that are open."""
        return self.run.judgments.of_every_question().filter(status=Judgment.Status.PENDING, worker=self.job.worker)

    def open_batches(self) -> QuerySet[ProviderBatch]:
        """Return the run's batches that are not known to be finished."""
        return self.run.provider_batches.filter(status__in=OPEN)

    def send_heartbeat(self) -> None:
        """Renew the worker's lease.

        Raises: StatusChanged if the run was stopped.
        """
        heartbeat = leases.send_heartbeat(self.job.worker)
        if not heartbeat.should_continue:
            raise StatusChanged(heartbeat.status)
        self.endpoint = heartbeat.endpoint or self.endpoint

    # A pass

    def run_pass(self, answers: dict[str, Line], finished: Iterable[ProviderBatch]) -> None:
        """Advance every cell, submit the missing requests, and mark the finished batches as collected."""
        collected = list(finished)
        self.note_batches(besides=collected)
        file, after = RequestFile(), 0
        while not self.job.stop.is_set():
            ids = list(self.open_cells().filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)[:CELLS])
            if not ids:
                break
            after = ids[-1]
            for request in self.advance(ids, answers):
                self.add_request(file, request)
            if file.is_full:
                self.submit(file)
                file = RequestFile()
            self.send_heartbeat()
        else:
            return  # stopped: unused answers are collected again
        if file.keys:
            self.submit(file)
        for batch in collected:
            batch.status = ProviderBatch.Status.COLLECTED
            batch.ended_at = timezone.now()
            batch.save(update_fields=["status", "ended_at", "message"])

    def note_batches(self, *, besides: list[ProviderBatch]) -> None:
        """Note which requests are in open batches, and how often each was submitted."""
        done = [batch.pk for batch in besides]
        self.open_keys = {key for batch in self.open_batches().exclude(pk__in=done) for key in batch.keys}
        handed_in = self.run.provider_batches.exclude(status=ProviderBatch.Status.FAILED)
        self.tried = Counter(key for keys in handed_in.values_list("keys", flat=True) for key in keys)

    def advance(self, ids: list[int], answers: dict[str, Line]) -> list[Request]:
        """Advance some cells, store their answers and results, and return the requests to submit."""
        pool = JudgmentPool(self.method, self.setting, self.requests)
        wanted = pool.advance(pool.start(load(self.run, ids)))
        missing: list[Request] = []
        while wanted:
            advanced: list[Case] = []
            for request in wanted:
                line = answers.pop(request.key, None)
                if line is not None and line.answer is not None:
                    advanced += pool.answer(self.stored(request, line.answer))
                    continue
                if line is not None:
                    self.reasons[request.key] = line.reason
                    if line.charged is not None and self.is_new(request, line.charged):
                        pool.charge(self.stored(request, line.charged))
                if request.key in self.open_keys:
                    continue
                if (line is not None and line.final) or self.tried[request.key] >= ROUNDS:
                    advanced += pool.fail(request.key, self.reason(request.key))
                else:
                    missing.append(request)
            wanted = pool.advance(advanced)
        writes = pool.take_writes()
        if writes:
            write(writes, self.stamp)
        self.job.report(
            (one.reading.status for one in writes.results), cached=sum(one.cached for one in writes.results)
        )
        return missing

    def is_new(self, request: Request, answer: ChatAnswer) -> bool:
        """Tell whether an unusable answer was not stored before, and remember it: a batch may be collected twice."""
        known = self.unusable[request.key]
        if answer.response in known:
            return False
        known.append(answer.response)
        return True

    @cached_property
    def unusable(self) -> dict[str, list[Any]]:
        """The run's stored unusable answers, by request."""
        found: dict[str, list[Any]] = defaultdict(list)
        known = Completion.objects.filter(judgments__run=self.run, finish_reason=UNUSABLE).order_by()
        for base_url, request, sample, response in known.values_list("base_url", "request", "sample", "response"):
            found[cache_key(base_url, request, sample)].append(response)
        return found

    def stored(self, request: Request, answer: ChatAnswer) -> StoredAnswer:
        """Return an answer as it is to be stored, at the price of batches."""
        counts = (answer.prompt_tokens, answer.completion_tokens)
        self.sizes.learn(request, *counts)
        cost = cost_of(self.endpoint, *counts, cached_tokens=answer.cached_tokens, batch=True)
        self.cost_is_unknown = self.cost_is_unknown or cost is None
        progress = self.job.progress
        progress.calls += 1
        progress.cost = None if progress.cost is None or cost is None else progress.cost + cost
        return StoredAnswer(
            request.key, Reply(answer.text, answer.finish_reason, answer.response), usage=Usage(*counts, cost)
        )

    def reason(self, key: str) -> str:
        """Say why a request got no answer."""
        why = self.reasons.get(key, "no answer came back")
        tried = self.tried[key]
        return f"{why} (tried in {tried} batches)" if tried > 1 else why

    # Submitting

    def add_request(self, file: RequestFile, request: Request) -> None:
        """Add a request to a file, unless the cap doesn't allow it."""
        if self.short_of_money:
            return
        cost = Decimal(0)
        if self.run.max_cost is not None:
            if self.cost_is_unknown:
                raise RunStopped("the endpoint doesn't say how many tokens an answer took: its cost can't be capped")
            if not (self.sizes.known or longest_allowed(request)):
                raise RunStopped(
                    "a cap on the cost of a batch needs answers of a known length: nothing can be taken back once it "
                    "is handed in; add a judge with --param max_tokens=N, or run it by calls"
                )
            guess = cost_of(self.endpoint, *self.sizes.guess(request), batch=True)
            if guess is None:
                raise RunStopped(f"the cost can't be capped: the prices of endpoint {self.endpoint} are unknown")
            cost = guess
            # The cost of open batches is unknown: submit nothing more until they are finished.
            if self.open_batches().exists() or self.spent() + file.cost + cost > self.run.max_cost:
                self.short_of_money = True
                return
        file.add(request, cost)
        self.open_keys.add(request.key)

    def spent(self) -> Decimal:
        """Return what the run has cost so far."""
        return self.run.judgments.of_every_question().aggregate(spent=Sum("cost"))["spent"] or Decimal(0)

    def submit(self, file: RequestFile) -> None:
        """Upload a file and create a batch from it. The row is stored first, so that another worker can recover it."""
        batch = ProviderBatch.objects.create(run=self.run, keys=file.keys, requests=len(file.keys))
        content = b"".join(file.lines)
        try:
            batch.input_file = self.call_provider(lambda client: client.upload(content))
        except CallFailed as error:
            batch.delete()
            raise RunStopped(submit_failure(error)) from None
        batch.save(update_fields=["input_file"])
        self.create(batch)

    def create(self, batch: ProviderBatch) -> None:
        """Create a batch from an uploaded file, unless the provider already has one and only its response was lost."""
        metadata = {"tandem_run": str(self.run.pk), "tandem_batch": str(batch.pk)}

        async def make(client: OpenAIClient) -> str:
            return await self.find_created(client, batch.input_file) or id_in(
                await client.create_batch(batch.input_file, metadata)
            )

        try:
            batch.provider_id = self.call_provider(make)
        except TransientFailure as error:
            raise RunStopped(submit_failure(error)) from None  # the row stays: the batch may exist after all
        except CallFailed as error:
            self.fail(batch, str(error))
            raise RunStopped(submit_failure(error)) from None
        batch.status = ProviderBatch.Status.IN_PROGRESS
        batch.save(update_fields=["provider_id", "status"])

    async def find_created(self, client: OpenAIClient, file: str) -> str:
        """Return the id of the provider's batch for a file; empty if there is none, or batches can't be listed."""
        with suppress(RejectedCall):
            for record in await client.batches():
                if isinstance(record, dict) and record.get("input_file_id") == file:
                    return id_in(record)
        return ""

    def settle(self) -> None:
        """Complete what a killed worker left: uploads, and batches whose id was not stored."""
        for batch in self.open_batches().filter(provider_id=""):
            if batch.input_file:
                self.create(batch)
            else:
                batch.delete()

    # Collecting

    def wait(self) -> tuple[list[ProviderBatch], dict[str, Line]]:
        """Poll until a batch is finished; empty if asked to stop."""
        while not self.job.stop.is_set():
            pause = POLL_SECONDS
            while pause > 0 and not self.job.stop.wait_for(min(pause, leases.HEARTBEAT_SECONDS)):
                pause -= leases.HEARTBEAT_SECONDS
                self.send_heartbeat()
            finished, answers = self.poll()
            if finished:
                return finished, answers
        return [], {}

    def poll(self) -> tuple[list[ProviderBatch], dict[str, Line]]:
        """Return finished batches and their answers, as many as fit into memory."""
        finished: list[ProviderBatch] = []
        answers: dict[str, Line] = {}
        for batch in self.open_batches().order_by("pk"):
            name = batch.provider_id
            try:
                record = self.call_provider(lambda client, name=name: client.batch(name))  # type: ignore[misc]
                if not isinstance(record, dict) or record.get("status") not in FINISHED:
                    continue
                if record["status"] == "failed":
                    self.fail(batch, batch_errors(record))
                    raise RunStopped(f"the provider did not take the batch: {batch.message}")
                answers.update(self.collect(batch, record))
            except RejectedCall as error:
                self.fail(batch, str(error))
                raise RunStopped(f"the provider no longer knows the batch {name}: {error}") from None
            except CallFailed as error:
                raise RunStopped(f"the batch can't be looked at: {error}") from None
            finished.append(batch)
            if len(answers) >= MOST_ANSWERS:
                break
        self.short_of_money = False
        return finished, answers

    def collect(self, batch: ProviderBatch, record: dict[str, Any]) -> dict[str, Line]:
        """Download a batch's answers and errors, which are in separate files."""
        files = [str(record[name]) for name in ("output_file_id", "error_file_id") if record.get(name)]

        async def fetch(client: OpenAIClient) -> list[Line]:
            return [line for name in files for line in read_lines(await client.download(name), client.scrub)]

        ours = set(batch.keys)
        lines = {line.key: line for line in self.call_provider(fetch) if line.key in ours}
        counts = Counter("answered" if line.answer else "failed" for line in lines.values())
        missing = len(ours) - len(lines)
        batch.message = (
            f"{record['status']}: {counts['answered']} answered, {counts['failed']} failed, {missing} missing"
        )
        return lines

    def fail(self, batch: ProviderBatch, reason: str) -> None:
        """Mark a batch as failed."""
        batch.status, batch.message, batch.ended_at = ProviderBatch.Status.FAILED, reason, timezone.now()
        batch.save(update_fields=["status", "message", "ended_at"])

    def raise_stalled(self) -> None:
        """Raise the reason why cells are open without an open batch.

        Raises: RunStopped
        """
        if self.run.max_cost is not None and self.short_of_money:
            cap, spent = (money(sum_, self.endpoint.currency) for sum_ in (self.run.max_cost, self.spent()))
            raise CapReached(
                f"the cap of {cap} is reached: {spent} spent, and the rest may not be enough for another request; "
                "give a higher cap to go on"
            )
        raise RunStopped(f"{self.open_cells().count()} cells are open, and nothing is asked for them")

    def call_provider(self, about: Callable[[OpenAIClient], Awaitable[T]]) -> T:
        """Call the provider's API, with retries, while sending heartbeats.

        Raises: CallFailed; StatusChanged if the run was stopped.
        """
        return async_to_sync(self._call_provider)(about)

    async def _call_provider(self, about: Callable[[OpenAIClient], Awaitable[T]]) -> T:
        client = self.connect(self.endpoint)
        heartbeats = asyncio.create_task(self._keep_sending_heartbeats())
        asking = asyncio.create_task(self._with_retries(client, about))
        try:
            await asyncio.wait([heartbeats, asking], return_when=asyncio.FIRST_COMPLETED)
            if heartbeats.done() and not asking.done():
                await heartbeats  # raises: it ends in no other way
            return await asking
        finally:
            for task in (heartbeats, asking):
                task.cancel()
            await asyncio.gather(heartbeats, asking, return_exceptions=True)
            await client.close()

    async def _keep_sending_heartbeats(self) -> None:
        while True:
            await asyncio.sleep(leases.HEARTBEAT_SECONDS)
            await sync_to_async(self.send_heartbeat)()

    async def _with_retries(self, client: OpenAIClient, about: Callable[[OpenAIClient], Awaitable[T]]) -> T:
        for tried in range(1, TRIES):
            try:
                return await about(client)
            except TransientFailure as failure:
                await asyncio.sleep(failure.retry_after or PAUSE_SECONDS * 2 ** (tried - 1))
        return await about(client)


def cancel_batches(run: JudgeRun, *, connect: Connect = OpenAIClient) -> None:
    """Cancel a cancelled run's batches at the provider; errors are logged, and the batches then continue and cost."""
    names = list(
        run.provider_batches.filter(status__in=OPEN).exclude(provider_id="").values_list("provider_id", flat=True)
    )
    endpoint = run.judge.endpoint
    if run.status != JudgeRun.Status.CANCELLED or not names or endpoint is None:
        return

    async def cancel() -> None:
        client = connect(endpoint)
        try:
            for name in names:
                await client.cancel_batch(name)
        finally:
            await client.close()

    try:
        check_host(endpoint.base_url)
        check_key_env(endpoint.key_env)
        async_to_sync(cancel)()
    except JudgingError as error:
        log.warning("the batches of %s can't be cancelled: %s", run, error)


def submit_failure(error: CallFailed) -> str:
    """Say why a file could not be submitted."""
    return (
        f"the endpoint's Batch API did not take the requests ({error}); without --batch-api they are asked one by one"
    )


def batch_errors(record: dict[str, Any]) -> str:
    """Return the errors in a provider's record of a batch."""
    errors = record.get("errors")
    data = errors.get("data") if isinstance(errors, dict) else None
    messages = [str(one.get("message") or one.get("code")) for one in data or [] if isinstance(one, dict)]
    return "; ".join(messages)[:500] or "it gives no reason"
