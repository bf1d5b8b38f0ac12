"""Filling a run's cells through a provider's Batch API: the same cells, requests and cache as with calls.

The work goes in passes. A pass takes every open cell as far as there are answers, and what is missing goes into files
of requests, which are handed in as batches. When one is over, its answers are there for the next pass: so procedures of
several rounds go round by round. A batch counts as collected only when a pass has stored what came of it; whoever
takes the run up after a kill collects it again, which costs nothing. One process at a time works on a run in this way.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeVar

from asgiref.sync import async_to_sync, sync_to_async
from django.db.models import QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from judging.batch_files import Line, read_lines, request_line
from judging.clients import OpenAIClient, named
from judging.credentials import check_key_env
from judging.errors import CallFailed, JudgingError, RejectedCall, RunBusy, RunStopped, TransientFailure
from judging.judges import AskingMethod, Reply
from judging.models import Endpoint, JudgeRun, Judgment, ProviderBatch
from judging.services import leases
from judging.services.board import Board
from judging.services.budget import Sizes, longest_allowed
from judging.services.cases import Case, Spent, Stored
from judging.services.claims import free_cells, load
from judging.services.endpoints import check_host
from judging.services.engine import CapReached, StatusChanged
from judging.services.pricing import cost_of, money
from judging.services.progress import Job
from judging.services.requests import Request, Requests, setting_of
from judging.services.store import stamp_of, write

log = logging.getLogger(__name__)
T = TypeVar("T")
Connect = Callable[[Endpoint], OpenAIClient]
CELLS = 500  # gone through at a time
MOST_REQUESTS = 10_000  # in one file
MOST_BYTES = 90_000_000
MOST_ANSWERS = 20_000  # held in memory for one pass, about
ROUNDS = 3  # batches that a request may be in before its cell ends as an error
LOOK_SECONDS = 20.0  # from one look at a batch to the next
TRIES = 5
PAUSE_SECONDS = 2.0
OVER = frozenset({"completed", "failed", "expired", "cancelled"})
OPEN = (ProviderBatch.Status.UPLOADED, ProviderBatch.Status.IN_PROGRESS)


class ComeBack(RunStopped):
    """The provider is still at work: nothing is to be done until later.

    left : cells that may still be begun then, as `Job.left`
    """

    def __init__(self, left: int | None) -> None:
        super().__init__(_("waiting for the provider's batch"))
        self.left = left


@dataclass
class File:
    """A file of requests that is being filled; `cost` is what they may come to."""

    keys: list[str] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    size: int = 0
    cost: Decimal = Decimal(0)

    @property
    def is_full(self) -> bool:
        """Tell whether nothing more should go into it."""
        return len(self.keys) >= MOST_REQUESTS or self.size >= MOST_BYTES

    def add(self, request: Request, cost: Decimal) -> None:
        """Put a request into it."""
        line = request_line(request.key, request.body)
        self.keys.append(request.key)
        self.lines.append(line)
        self.size += len(line)
        self.cost += cost


class BatchWork:
    """One process's work on a run's cells through batches."""

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
        self.sizes = Sizes()
        self.cost_is_unknown = False  # of an answer that came back: what was spent can't be known
        self.open_keys: set[str] = set()
        self.tried: Counter[str] = Counter()
        self.reasons: dict[str, str] = {}
        self.short_of_money = False
        job.progress.currency = endpoint.currency

    def work(self) -> None:
        """Fill the run's cells until none is open, or until asked to stop.

        Raises: ComeBack when it isn't patient and a batch is under way; RunStopped when going on makes no sense.
        """
        self.be_alone()
        self.take_cells()
        self.settle()
        over, answers = self.look()
        while True:
            if self.job.stop.is_set():
                return
            self.go_through(answers, over)
            if not self.mine().exists():
                return
            if not self.open_batches().exists():
                self.say_why_nothing_goes_on()
            over, answers = self.look()
            if not over:
                if not self.job.patient:
                    raise ComeBack(None if self.job.left is None else self.mine().count())
                over, answers = self.wait()

    # The run and its cells

    def be_alone(self) -> None:
        """Leave the run to whoever came first: two would hand in the same requests.

        Raises: RunBusy
        """
        first = self.run.workers.order_by("pk").first()
        if first is not None and first.pk != self.job.worker.pk and leases.breathes(first):
            raise RunBusy(_("another process is working on this run"))

    def take_cells(self) -> None:
        """Take the open cells, or as many as may be begun."""
        free = free_cells(self.run).order_by("pk")
        if self.job.left is not None:
            free = free.filter(pk__in=list(free.values_list("pk", flat=True)[: self.job.left]))
            self.job.left = 0
        free.order_by().update(worker=self.job.worker)

    def mine(self) -> QuerySet[Judgment]:
        """Return the cells that are open, of those that were taken."""
        return self.run.judgments.filter(status=Judgment.Status.PENDING, worker=self.job.worker)

    def open_batches(self) -> QuerySet[ProviderBatch]:
        """Return the run's batches that the provider is at work on, as far as is known."""
        return self.run.provider_batches.filter(status__in=OPEN)

    def beat(self) -> None:
        """Stay alive in the others' eyes.

        Raises: StatusChanged when the run was stopped.
        """
        pulse = leases.beat(self.job.worker)
        if not pulse.go_on:
            raise StatusChanged(pulse.status)
        self.endpoint = pulse.endpoint or self.endpoint

    # A pass

    def go_through(self, answers: dict[str, Line], over: Iterable[ProviderBatch]) -> None:
        """Take every cell as far as it goes, hand in what is missing, and mark the batches whose answers were used."""
        collected = list(over)
        self.remember_batches(besides=collected)
        file, after = File(), 0
        while not self.job.stop.is_set():
            ids = list(self.mine().filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)[:CELLS])
            if not ids:
                break
            after = ids[-1]
            for request in self.proceed(ids, answers):
                self.put(file, request)
            if file.is_full:
                self.hand_in(file)
                file = File()
            self.beat()
        else:
            return  # asked to stop: what was not used is collected again
        if file.keys:
            self.hand_in(file)
        for batch in collected:
            batch.status = ProviderBatch.Status.COLLECTED
            batch.ended_at = timezone.now()
            batch.save(update_fields=["status", "ended_at", "message"])

    def remember_batches(self, *, besides: list[ProviderBatch]) -> None:
        """Note which requests are under way, and how often each one was."""
        done = [batch.pk for batch in besides]
        self.open_keys = {key for batch in self.open_batches().exclude(pk__in=done) for key in batch.keys}
        handed_in = self.run.provider_batches.exclude(status=ProviderBatch.Status.FAILED)
        self.tried = Counter(key for keys in handed_in.values_list("keys", flat=True) for key in keys)

    def proceed(self, ids: list[int], answers: dict[str, Line]) -> list[Request]:
        """Go through some cells, store what came of them, and return what has to be asked."""
        board = Board(self.method, self.setting, self.requests)
        wanted = board.proceed(board.begin(load(self.run.judge, ids)))
        missing: list[Request] = []
        while wanted:
            moved: list[Case] = []
            for request in wanted:
                line = answers.pop(request.key, None)
                if line is not None and line.answer is not None:
                    moved += board.answer(self.stored(request, line))
                    continue
                if line is not None:
                    self.reasons[request.key] = line.reason
                if request.key in self.open_keys:
                    continue
                if (line is not None and line.final) or self.tried[request.key] >= ROUNDS:
                    moved += board.fail(request.key, self.reason(request.key))
                else:
                    missing.append(request)
            wanted = board.proceed(moved)
        group = board.take_group()
        if group:
            write(group, self.stamp)
        progress = self.job.progress
        for result in group.results:
            progress.done += 1
            progress.cached += result.cached
            progress.ended[result.reading.status] += 1
        self.job.on_progress(progress)
        return missing

    def stored(self, request: Request, line: Line) -> Stored:
        """Make the answer that is kept, at the price of batches."""
        answer = line.answer
        if answer is None:
            raise TypeError("a line without an answer can't be stored")
        counts = (answer.prompt_tokens, answer.completion_tokens)
        self.sizes.learn(request, *counts)
        cost = cost_of(self.endpoint, *counts, batch=True)
        self.cost_is_unknown = self.cost_is_unknown or cost is None
        progress = self.job.progress
        progress.calls += 1
        progress.cost = None if progress.cost is None or cost is None else progress.cost + cost
        return Stored(
            request.key, Reply(answer.text, answer.finish_reason, answer.response), spent=Spent(*counts, cost)
        )

    def reason(self, key: str) -> str:
        """Say why a request got no answer."""
        told = self.reasons.get(key, "no answer came back")
        tried = self.tried[key]
        return f"{told} (tried in {tried} batches)" if tried > 1 else told

    # Handing in

    def put(self, file: File, request: Request) -> None:
        """Put a request into a file, unless there is no money left for it."""
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
            # What batches under way will cost is not known yet: then nothing more is handed in until they are back.
            if self.open_batches().exists() or self.spent() + file.cost + cost > self.run.max_cost:
                self.short_of_money = True
                return
        file.add(request, cost)
        self.open_keys.add(request.key)

    def spent(self) -> Decimal:
        """Return what the run has cost so far."""
        return self.run.judgments.aggregate(spent=Sum("cost"))["spent"] or Decimal(0)

    def hand_in(self, file: File) -> None:
        """Upload a file and have a batch made of it. The row is there first: whoever takes over knows how far it got."""
        batch = ProviderBatch.objects.create(run=self.run, keys=file.keys, requests=len(file.keys))
        content = b"".join(file.lines)
        try:
            batch.input_file = self.talk(lambda client: client.upload(content))
        except CallFailed as error:
            batch.delete()
            raise RunStopped(refusal_to_take(error)) from None
        batch.save(update_fields=["input_file"])
        self.create(batch)

    def create(self, batch: ProviderBatch) -> None:
        """Have a batch made of an uploaded file, unless the provider made it already and only its answer was lost."""
        metadata = {"tandem_run": str(self.run.pk), "tandem_batch": str(batch.pk)}

        async def make(client: OpenAIClient) -> str:
            return await self.made_of(client, batch.input_file) or named(
                await client.create_batch(batch.input_file, metadata)
            )

        try:
            batch.provider_id = self.talk(make)
        except TransientFailure as error:
            raise RunStopped(refusal_to_take(error)) from None  # the row stays: the batch may be there after all
        except CallFailed as error:
            self.fail(batch, str(error))
            raise RunStopped(refusal_to_take(error)) from None
        batch.status = ProviderBatch.Status.IN_PROGRESS
        batch.save(update_fields=["provider_id", "status"])

    async def made_of(self, client: OpenAIClient, file: str) -> str:
        """Return the name of the batch that the provider made of a file; empty for none, or when it doesn't tell."""
        with suppress(RejectedCall):
            for record in await client.batches():
                if isinstance(record, dict) and record.get("input_file_id") == file:
                    return named(record)
        return ""

    def settle(self) -> None:
        """Bring to an end what a process that was killed had begun: uploads, and batches whose name was not noted."""
        for batch in self.open_batches().filter(provider_id=""):
            if batch.input_file:
                self.create(batch)
            else:
                batch.delete()

    # Collecting

    def wait(self) -> tuple[list[ProviderBatch], dict[str, Line]]:
        """Look again and again until a batch is over; nothing when asked to stop meanwhile."""
        while not self.job.stop.is_set():
            pause = LOOK_SECONDS
            while pause > 0 and not self.job.stop.wait_for(min(pause, leases.BEAT_SECONDS)):
                pause -= leases.BEAT_SECONDS
                self.beat()
            over, answers = self.look()
            if over:
                return over, answers
        return [], {}

    def look(self) -> tuple[list[ProviderBatch], dict[str, Line]]:
        """Return the batches that are over, with what they hold: as many as fit into memory."""
        over: list[ProviderBatch] = []
        answers: dict[str, Line] = {}
        for batch in self.open_batches().order_by("pk"):
            name = batch.provider_id
            try:
                record = self.talk(lambda client, name=name: client.batch(name))  # type: ignore[misc]
                if not isinstance(record, dict) or record.get("status") not in OVER:
                    continue
                if record["status"] == "failed":
                    self.fail(batch, told_by(record))
                    raise RunStopped(f"the provider did not take the batch: {batch.message}")
                answers.update(self.collect(batch, record))
            except RejectedCall as error:
                self.fail(batch, str(error))
                raise RunStopped(f"the provider no longer knows the batch {name}: {error}") from None
            except CallFailed as error:
                raise RunStopped(f"the batch can't be looked at: {error}") from None
            over.append(batch)
            if len(answers) >= MOST_ANSWERS:
                break
        self.short_of_money = False
        return over, answers

    def collect(self, batch: ProviderBatch, record: dict[str, Any]) -> dict[str, Line]:
        """Fetch what came of a batch: answers and failures come in files of their own."""
        files = [str(record[name]) for name in ("output_file_id", "error_file_id") if record.get(name)]

        async def fetch(client: OpenAIClient) -> list[Line]:
            return [line for name in files for line in read_lines(await client.download(name), client.scrub)]

        ours = set(batch.keys)
        lines = {line.key: line for line in self.talk(fetch) if line.key in ours}
        counts = Counter("answered" if line.answer else "failed" for line in lines.values())
        missing = len(ours) - len(lines)
        batch.message = (
            f"{record['status']}: {counts['answered']} answered, {counts['failed']} failed, {missing} missing"
        )
        return lines

    def fail(self, batch: ProviderBatch, reason: str) -> None:
        """Note that nothing will come of a batch."""
        batch.status, batch.message, batch.ended_at = ProviderBatch.Status.FAILED, reason, timezone.now()
        batch.save(update_fields=["status", "message", "ended_at"])

    # The rest

    def say_why_nothing_goes_on(self) -> None:
        """Raise the reason why cells are open and nothing is under way for them.

        Raises: RunStopped
        """
        if self.run.max_cost is not None and self.short_of_money:
            cap, spent = (money(sum_, self.endpoint.currency) for sum_ in (self.run.max_cost, self.spent()))
            raise CapReached(
                f"the cap of {cap} is reached: {spent} spent, and the rest may not be enough for another request; "
                "give a higher cap to go on"
            )
        raise RunStopped(f"{self.mine().count()} cells are open, and nothing is asked for them")

    def talk(self, about: Callable[[OpenAIClient], Awaitable[T]]) -> T:
        """Put something to the provider, again after transient failures, while the heartbeat goes on.

        Raises: CallFailed; StatusChanged when the run was stopped meanwhile.
        """
        return async_to_sync(self._talk)(about)

    async def _talk(self, about: Callable[[OpenAIClient], Awaitable[T]]) -> T:
        client = self.connect(self.endpoint)
        beating = asyncio.create_task(self._keep_beating())
        talking = asyncio.create_task(self._patiently(client, about))
        try:
            await asyncio.wait([beating, talking], return_when=asyncio.FIRST_COMPLETED)
            if beating.done() and not talking.done():
                await beating  # raises: it ends in no other way
            return await talking
        finally:
            for task in (beating, talking):
                task.cancel()
            await asyncio.gather(beating, talking, return_exceptions=True)
            await client.close()

    async def _keep_beating(self) -> None:
        while True:
            await asyncio.sleep(leases.BEAT_SECONDS)
            await sync_to_async(self.beat)()

    async def _patiently(self, client: OpenAIClient, about: Callable[[OpenAIClient], Awaitable[T]]) -> T:
        for tried in range(1, TRIES):
            try:
                return await about(client)
            except TransientFailure as failure:
                await asyncio.sleep(failure.retry_after or PAUSE_SECONDS * 2 ** (tried - 1))
        return await about(client)


def cancel_batches(run: JudgeRun, *, connect: Connect = OpenAIClient) -> None:
    """Have the provider stop work on a cancelled run's batches; one that can't be reached goes on, and is paid for."""
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


def refusal_to_take(error: CallFailed) -> str:
    """Say why a file could not be handed in."""
    return (
        f"the endpoint's Batch API did not take the requests ({error}); without --batch-api they are asked one by one"
    )


def told_by(record: dict[str, Any]) -> str:
    """Return the reasons in a provider's record of a batch."""
    errors = record.get("errors")
    data = errors.get("data") if isinstance(errors, dict) else None
    told = [str(one.get("message") or one.get("code")) for one in data or [] if isinstance(one, dict)]
    return "; ".join(told)[:500] or "it gives no reason"
