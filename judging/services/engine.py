"""Fills the open cells of a run by asking its endpoint, with a bounded number of calls in flight.

Every answer is in the database before its slot in flight is free again, so that stopping at any moment, by whatever
means, repeats at most the calls in flight. The event loop lives in a thread of its own; all database work runs in the
thread that started it, one piece at a time.
"""

import asyncio
from collections import deque

from asgiref.sync import sync_to_async

from judging.clients import Answer
from judging.errors import AccessDenied, CallFailed, RunStopped
from judging.judges import PromptedMethod
from judging.models import Completion, JudgeRun, Judgment
from judging.services import leases
from judging.services.cells import Cell, Question, conclude, open_cells, questions
from judging.services.progress import Job
from judging.services.reading import MAX_SAMPLES, Reading, read
from judging.services.retrying import RetryingClient
from judging.services.store import Filled, Store

FAILURES_IN_A_ROW = 10


class Engine:
    """One run's work in one process."""

    def __init__(self, job: Job, method: PromptedMethod, client: RetryingClient) -> None:
        self.job = job
        self.run = job.run
        self.progress = job.progress
        self.method = method
        self.client = client
        self.store = Store()
        self._calls_before = job.progress.calls
        self.failures = 0  # cells in a row that no answer came for
        self._after = 0
        self._loaded: deque[tuple[Cell, Question]] = deque()
        self._loading = asyncio.Lock()
        self._asking: dict[str, asyncio.Task[Completion]] = {}

    async def work(self) -> None:
        """Fill cells until none is open, or until asked to stop.

        Raises: RunStopped when going on makes no sense.
        """
        slots = asyncio.create_task(self._fill_all())
        watches = [asyncio.create_task(self._keep_lease()), asyncio.create_task(self.job.stop.wait())]
        try:
            await asyncio.wait([slots, *watches], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (slots, *watches):
                if not task.done():
                    task.cancel()
            results = await asyncio.gather(slots, *watches, return_exceptions=True)
            await self.store.drain()
            await self.client.close()
        for result in results:
            if isinstance(result, BaseExceptionGroup):
                raise first_cause(result)
            if isinstance(result, Exception):
                raise result

    async def _fill_all(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self.run.in_flight):
                group.create_task(self._slot())

    async def _keep_lease(self) -> None:
        while True:
            await asyncio.sleep(leases.BEAT_SECONDS)
            if not await sync_to_async(leases.beat)(self.run):
                raise RunStopped("another process has taken over this run")

    async def _slot(self) -> None:
        while (item := await self._next()) is not None:
            await self._fill(*item)

    async def _next(self) -> tuple[Cell, Question] | None:
        async with self._loading:
            if not self._loaded:
                limit = max(64, 2 * self.run.in_flight)
                self._loaded.extend(await sync_to_async(self._load)(limit))
            return self._loaded.popleft() if self._loaded else None

    def _load(self, limit: int) -> list[tuple[Cell, Question]]:
        cells = open_cells(self.run, after=self._after, limit=limit)
        if cells:
            self._after = cells[-1].judgment.pk
        return list(zip(cells, questions(self.run, self.method, cells, sample=0), strict=True))

    async def _fill(self, cell: Cell, question: Question) -> None:
        """Ask about one cell, again while the answer can't be read, and store what came of it."""
        used: list[Completion] = []
        cached = 0
        try:
            while True:
                completion, from_cache = await self._answer(question)
                used.append(completion)
                cached += from_cache
                reading = read(self.method, completion)
                if reading.status != Judgment.Status.UNPARSED or len(used) == MAX_SAMPLES:
                    break
                [question] = await sync_to_async(questions)(self.run, self.method, [cell], sample=len(used))
        except AccessDenied as error:
            raise RunStopped(f"the endpoint refuses access: {error}") from None
        except CallFailed as error:
            reading = Reading(Judgment.Status.ERROR, failure=str(error))
        judgment = conclude(cell, self.method, reading, calls=len(used), cached=cached)
        await self.store.save_judgment(Filled(judgment, used))
        self._report(reading, cached)
        self._break_on(reading)

    async def _answer(self, question: Question) -> tuple[Completion, bool]:
        """Return a stored answer, and whether it cost no call: from the cache, or from a call already in flight."""
        if question.cached is not None:
            return question.cached, True
        if running := self._asking.get(question.key):
            return await asyncio.shield(running), True
        asking = asyncio.create_task(self._ask(question))
        self._asking[question.key] = asking
        try:
            return await asking, False
        finally:
            del self._asking[question.key]

    async def _ask(self, question: Question) -> Completion:
        try:
            answer = await self.client.complete(question.body)
        finally:
            self.progress.calls = self._calls_before + self.client.calls
        completion = completion_of(self.run, question, answer)
        if read(self.method, completion).status == Judgment.Status.REFUSED:
            completion.cache_key = None  # kept to be looked at, never reused
        return await self.store.save_completion(completion)

    def _report(self, reading: Reading, cached: int) -> None:
        self.progress.done += 1
        self.progress.cached += cached
        self.progress.ended[reading.status] += 1
        self.job.on_progress(self.progress)

    def _break_on(self, reading: Reading) -> None:
        self.failures = self.failures + 1 if reading.status == Judgment.Status.ERROR else 0
        if self.failures >= FAILURES_IN_A_ROW:
            raise RunStopped(f"{self.failures} questions in a row got no answer, the last one: {reading.failure}")


def completion_of(run: JudgeRun, question: Question, answer: Answer) -> Completion:
    """Make the row that keeps an answer. Saves nothing."""
    endpoint = run.judge.endpoint
    return Completion(
        cache_key=question.key,
        base_url=endpoint.base_url if endpoint else "",
        request=dict(question.body),
        sample=question.sample,
        text=answer.text,
        finish_reason=answer.finish_reason,
        response=answer.response,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        latency_ms=answer.latency_ms,
    )


def first_cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return one exception of a group: a reason to stop if there is one, for it has words for the reader."""
    flat: list[BaseException] = []
    for error in group.exceptions:
        flat.append(first_cause(error) if isinstance(error, BaseExceptionGroup) else error)
    stopped = [error for error in flat if isinstance(error, RunStopped)]
    return (stopped or flat)[0]
