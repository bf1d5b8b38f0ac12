"""A run's batches at the provider: submitted, recovered after a kill, polled, fetched and cancelled."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar

from asgiref.sync import async_to_sync, sync_to_async
from django.db.models import Q, QuerySet
from django.utils import timezone
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

from annotation.core.reasons import Reason, reason
from judging.core.errors import CallFailed, JudgingError, RejectedCall, RunStopped, TransientFailure
from judging.endpoints.chat_answers import ChatAnswer
from judging.endpoints.client import OpenAIClient, id_in
from judging.endpoints.retrying import RetryPolicy, checked, wanted_pause
from judging.jobs import leases
from judging.models import Endpoint, JudgeRun, ProviderBatch
from judging.runs.provider_batches.files import (
    Lines,
    RequestFile,
    batch_errors,
    is_over_queue_limit,
    read_lines,
)

log = logging.getLogger(__name__)
T = TypeVar("T")
MOST_ANSWERS = 20_000  # held in memory for one pass, about
TRIES = 5
PAUSE_SECONDS = 2.0
FINISHED = frozenset({"completed", "failed", "expired", "cancelled"})
OPEN = (ProviderBatch.Status.UPLOADED, ProviderBatch.Status.IN_PROGRESS)


class BatchProvider:
    """One worker's access to the batches of a run.

    send_heartbeat : called every few seconds while the provider is asked; may raise StatusChanged
    is_full        : the provider did not take a batch, for too much is queued, since this was reset
    """

    def __init__(self, run: JudgeRun, endpoint: Endpoint, send_heartbeat: Callable[[], Any]) -> None:
        self.run = run
        self.endpoint = endpoint
        self.send_heartbeat = send_heartbeat
        self.is_full = False

    def open_batches(self) -> QuerySet[ProviderBatch]:
        """Return the run's batches that are not known to be finished."""
        return self.run.provider_batches.filter(status__in=OPEN)

    def most_requests(self) -> int:
        """Return how many requests the next file may hold. 0: as many as any.

        A batch over the queue limit, while none of this endpoint was queued, is submitted again in halves.
        Raises: RunStopped if not even one request is taken.
        """
        sizes = [self.run.batch_size] if self.run.batch_size else []
        over_limit = self.run.provider_batches.filter(status=ProviderBatch.Status.QUEUE_FULL)
        for batch in over_limit:
            if not self.queued_at(batch.ended_at).exists():
                sizes.append(batch.requests // 2)
                if not sizes[-1]:
                    # A run that is resumed when the queue has room submits whole files again.
                    over_limit.update(status=ProviderBatch.Status.FAILED)
                    raise RunStopped(reason("batch_not_queued", error=batch.message))
        return min(sizes, default=0)

    def queued_at(self, at: datetime | None) -> QuerySet[ProviderBatch]:
        """Return the batches at this endpoint, of any run, that were queued at a time. `None`: now."""
        queued = ProviderBatch.objects.filter(run__judge__endpoint=self.endpoint).exclude(provider_id="")
        queued = queued.exclude(status__in=[ProviderBatch.Status.QUEUE_FULL, ProviderBatch.Status.FAILED])
        if at is None:
            return queued.filter(ended_at=None)
        return queued.filter(Q(ended_at=None) | Q(ended_at__gt=at), created_at__lte=at)

    def goes_one_by_one(self) -> bool:
        """Tell whether a batch waits until no other of the run is queued: the provider's limit was reached before."""
        return self.run.provider_batches.filter(status=ProviderBatch.Status.QUEUE_FULL).exists()

    def note_full(self, batch: ProviderBatch, message: Reason | str) -> None:
        """Note that the provider did not take a batch, for too much is queued. Its requests are open again."""
        self.is_full = True
        batch.keys = []
        batch.save(update_fields=["keys"])
        end(batch, ProviderBatch.Status.QUEUE_FULL, message)

    def submit(self, file: RequestFile) -> None:
        """Upload a file and create a batch from it. The row is stored first, so that another worker can recover it.

        Raises: RunStopped
        """
        batch = ProviderBatch.objects.create(run=self.run, keys=file.keys, requests=len(file.keys))
        content = b"".join(file.lines)
        try:
            batch.input_file = self.call(lambda client: client.upload(content))
        except CallFailed as error:
            batch.delete()
            raise not_taken(error) from None
        batch.save(update_fields=["input_file"])
        self.create(batch)

    def create(self, batch: ProviderBatch) -> None:
        """Create a batch from an uploaded file, unless the provider already has one and only its response was lost."""
        metadata = {"tandem_run": str(self.run.pk), "tandem_batch": str(batch.pk)}

        async def make(client: OpenAIClient) -> str:
            with suppress(RejectedCall):  # batches can't be listed
                for record in await client.batches():
                    if isinstance(record, dict) and record.get("input_file_id") == batch.input_file:
                        return id_in(record)
            return id_in(await client.create_batch(batch.input_file, metadata))

        try:
            batch.provider_id = self.call(make)
        except CallFailed as error:
            if is_over_queue_limit(str(error)):
                self.note_full(batch, error.reason)
                return
            if not isinstance(error, TransientFailure):  # else the row stays: the batch may exist after all
                end(batch, ProviderBatch.Status.FAILED, error.reason)
            raise not_taken(error) from None
        batch.status = ProviderBatch.Status.IN_PROGRESS
        batch.save(update_fields=["provider_id", "status"])

    def recover(self) -> None:
        """Complete what a killed worker left: uploads, and batches whose id was not stored."""
        for batch in self.open_batches().filter(provider_id=""):
            if batch.input_file:
                self.create(batch)
            else:
                batch.delete()

    def poll(self) -> tuple[list[ProviderBatch], Lines]:
        """Return finished batches and what came back, as many as fit into memory.

        Raises: RunStopped
        """
        finished: list[ProviderBatch] = []
        lines: Lines = {}
        for batch in self.open_batches().order_by("pk"):
            name = batch.provider_id
            try:
                record = self.call(lambda client, name=name: client.batch(name))  # type: ignore[misc]
                if not isinstance(record, dict) or record.get("status") not in FINISHED:
                    continue
                if record["status"] == "failed":
                    message = batch_errors(record)
                    if is_over_queue_limit(message):
                        self.note_full(batch, message)
                        continue
                    end(batch, ProviderBatch.Status.FAILED, message)
                    raise RunStopped(reason("batch_refused", error=message))
                lines |= self.fetch(batch, record)
            except RejectedCall as error:
                end(batch, ProviderBatch.Status.FAILED, error.reason)
                raise RunStopped(reason("batch_lost", batch=name, error=error.reason)) from None
            except CallFailed as error:
                raise RunStopped(reason("batch_unreachable", error=error.reason)) from None
            finished.append(batch)
            if len(lines) >= MOST_ANSWERS:
                break
        return finished, lines

    def fetch(self, batch: ProviderBatch, record: dict[str, Any]) -> Lines:
        """Download a batch's answers and errors, which are in separate files."""
        files = [str(record[name]) for name in ("output_file_id", "error_file_id") if record.get(name)]

        async def download(client: OpenAIClient) -> Lines:
            return dict([line for name in files for line in read_lines(await client.download(name), client.scrub)])

        content = self.call(download)
        lines = {key: content[key] for key in batch.keys if key in content}
        answered, missing = sum(isinstance(line, ChatAnswer) for line in lines.values()), len(batch.keys) - len(lines)
        failed = len(lines) - answered
        batch.message = f"{record['status']}: {answered} answered, {failed} failed, {missing} missing"
        return lines

    def call(self, send: Callable[[OpenAIClient], Awaitable[T]]) -> T:
        """Call the provider's API, with retries, while sending heartbeats.

        Raises: CallFailed; what `send_heartbeat` raises
        """

        retrying = AsyncRetrying(
            retry=retry_if_exception(RetryPolicy().may_retry),
            stop=stop_after_attempt(TRIES),
            wait=lambda state: wanted_pause(state) or PAUSE_SECONDS * 2 ** (state.attempt_number - 1),
            reraise=True,
        )

        async def with_heartbeats() -> T:
            client = OpenAIClient(self.endpoint)

            async def ask() -> T:
                return await send(client)

            asking: asyncio.Task[T] = asyncio.create_task(retrying(ask))
            try:
                while not (await asyncio.wait([asking], timeout=leases.HEARTBEAT_SECONDS))[0]:
                    await sync_to_async(self.send_heartbeat)()
                return await asking
            finally:
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)
                await client.close()

        return async_to_sync(with_heartbeats)()


def end(batch: ProviderBatch, status: str, message: Reason | str) -> None:
    """Note that a batch has ended, and how."""
    batch.status, batch.message, batch.ended_at = status, message, timezone.now()
    batch.save(update_fields=["status", "message", "ended_at"])


def cancel_batches(run: JudgeRun) -> None:
    """Cancel a cancelled run's batches at the provider. Errors are logged, and the batches then continue and cost."""
    endpoint = run.judge.endpoint
    if run.status != JudgeRun.Status.CANCELLED or endpoint is None:
        return
    provider = BatchProvider(run, endpoint, lambda: None)
    try:
        for name in list(provider.open_batches().exclude(provider_id="").values_list("provider_id", flat=True)):
            with checked(endpoint):
                provider.call(lambda client, name=name: client.cancel_batch(name))  # type: ignore[misc]
    except JudgingError as error:
        log.warning("the batches of %s can't be cancelled: %s", run, error)


def not_taken(error: CallFailed) -> RunStopped:
    """Return the error for a file that could not be submitted."""
    return RunStopped(reason("batch_api_refused", error=error.reason))
