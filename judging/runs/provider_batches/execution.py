"""The transport through a provider's Batch API: the same session, pool, requests and cache as with calls.

The work is done in passes. A pass starts every open cell, and advances it as far as there are answers; the missing
requests are submitted as batches, whose answers serve the next pass, so procedures proceed one round per pass. A batch
is marked collected once a pass has stored its answers; after a crash the next worker collects it again at no cost. Only
one worker at a time works on a run in this way.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from annotation.core.reasons import reason
from judging.calls.budget import Budget, Transport, longest_allowed
from judging.calls.cases import Case, FailedCall, StoredAnswer
from judging.calls.requests import Request, cache_key
from judging.calls.session import StepResult
from judging.core.errors import CallFailed, RejectedCall, RunBusy, RunStopped, StatusChanged, TransientFailure
from judging.core.pricing import cost_of
from judging.endpoints.chat_answers import UNUSABLE, ChatAnswer
from judging.jobs import leases
from judging.jobs.progress import RunWork
from judging.methods import AskingMethod
from judging.models import Completion, Endpoint, Judgment, ProviderBatch
from judging.runs.cells import RunWorkerSession, free_cells, load, next_free
from judging.runs.provider_batches.files import Lines, RequestFile
from judging.runs.provider_batches.provider import BatchProvider, end

CELLS = 500  # started at a time
ROUNDS = 3  # batches per request, before its cell ends in an error
POLL_SECONDS = 20.0  # between two polls of a batch


class BatchPending(RunStopped):
    """The provider's batches are not finished: the run has to be resumed later.

    cells_left : cells that may still be started then, as `RunWork.cells_left`
    """

    def __init__(self, cells_left: int | None) -> None:
        super().__init__(reason("batch_pending"))
        self.cells_left = cells_left


class PassSession(RunWorkerSession):
    """One worker's cells, claimed at once and started again in every pass."""

    max_start_to_ask = CELLS
    _next: deque[int]  # primary keys of the cells to start in this pass

    @transaction.atomic
    def claim_cells(self) -> None:
        """Claim the open cells, or as many as may be started, or none if the worker was removed meanwhile.

        Raises: RunBusy if another worker joined first: two would submit the same requests.
        """
        first = self.run.workers.order_by("pk").first()
        if first is not None and first.pk != self.job.worker.pk and leases.is_alive(first):
            raise RunBusy(reason("run_busy"))
        if not leases.lock_worker(self.job.worker.pk):
            return
        free = free_cells(self.run).order_by()
        if self.job.cells_left is not None:
            free = free.filter(pk__in=next_free(self.run, self.job.cells_left))
            self.job.cells_left = 0
        free.update(worker=self.job.worker)

    def open_cells(self) -> QuerySet[Judgment]:
        """Return the claimed cells that are open."""
        return self.run.judgments.filter(status=Judgment.Status.PENDING, worker=self.job.worker)

    def begin_pass(self) -> None:
        """Start with the first cell. Those that failed before come last."""
        self._next, self.exhausted = (
            deque(self.open_cells().order_by("cause", "pk").values_list("pk", flat=True)),
            False,
        )

    def start_cases(self, limit: int) -> list[Case]:
        """Start the procedures of the next claimed cells."""
        ids = [self._next.popleft() for _cell in range(min(limit, len(self._next)))]
        self.exhausted = not self._next
        return self.pool.start(load(self.run, ids)) if ids else []


class BatchWork(Transport):
    """One worker's execution of a run through batches."""

    def __init__(self, job: RunWork, method: AskingMethod, endpoint: Endpoint) -> None:
        super().__init__(job.progress, endpoint, batch=True)
        self.session = PassSession(job, method)
        self.job = job
        self.provider = BatchProvider(job.run, endpoint, self.step)
        self.lines: Lines = {}
        self.failures: dict[str, CallFailed] = {}
        self.open_keys: set[str] = set()
        self.owes = False  # batches of earlier passes are open, whose cost is not known
        self.tried: Counter[str] = Counter()
        self.is_short = False  # the cap held a request back in this pass
        self.has_room = True  # the provider's queue may take a file in this pass
        self.has_lost_lease = False

    def work(self) -> None:
        """Fill the run's cells until none is open, or until asked to stop.

        Raises: BatchPending when it isn't patient and a batch is under way; RunStopped when going on makes no sense.
        """
        self.session.claim_cells()
        self.session.learn_sizes(self.sizes)
        self.provider.recover()
        finished = self.poll()
        while not self.is_over:
            self.run_pass(finished)
            if not self.session.open_cells().exists():
                return
            if not self.provider.open_batches().exists() and self.has_room and not self.provider.is_full:
                if self.is_short:
                    raise self.cap_reached()
                raise RunStopped(reason("nothing_asked", number=self.session.open_cells().count()))
            finished = self.poll()
            while not finished and self.must_wait() and not self.is_over:
                if not self.job.wait_for_batches:
                    raise BatchPending(None if self.job.cells_left is None else self.session.open_cells().count())
                finished = self.wait()

    def must_wait(self) -> bool:
        """Tell whether a batch has to finish first: one of the run, or of another run that fills the queue."""
        if self.provider.open_batches().exists():
            return True
        return (self.provider.is_full or not self.has_room) and self.provider.queued_at(None).exists()

    @property
    def is_over(self) -> bool:
        """Tell whether stopping was asked for, or the lease was lost, and with it the cells."""
        return self.has_lost_lease or self.job.stop.is_set()

    def step(
        self, answers: Sequence[StoredAnswer | FailedCall] = (), *, count: int = 0, send_heartbeat: bool = False
    ) -> StepResult:
        """Run a step of the session, and apply its result.

        Raises: StatusChanged if the run was stopped
        """
        result = self.session.step(
            answers, count=count, outstanding=self.budget.outstanding, send_heartbeat=send_heartbeat
        )
        if result.halt is not None:
            self.halt(result.halt)
        if (heartbeat := result.heartbeat) is not None:
            if not heartbeat.should_continue:
                raise StatusChanged(heartbeat.status)
            if heartbeat.cap is not None and heartbeat.spent is not None:  # no other worker spends anything
                heartbeat = replace(heartbeat, reserved=heartbeat.cap - heartbeat.spent)
            self.has_lost_lease |= heartbeat.lost
            self.budget.set(heartbeat)
        return result

    def wait(self) -> list[ProviderBatch]:
        """Wait a while, and poll."""
        pause = POLL_SECONDS
        while pause > 0 and not self.job.stop.wait_for(min(pause, leases.HEARTBEAT_SECONDS)):
            pause -= leases.HEARTBEAT_SECONDS
            self.step(send_heartbeat=True)
        return self.poll()

    def poll(self) -> list[ProviderBatch]:
        """Return finished batches. What came back is in `lines`."""
        finished, self.lines = self.provider.poll()
        return finished

    # A pass

    def run_pass(self, finished: list[ProviderBatch]) -> None:
        """Advance every cell, submit the missing requests, and mark the finished batches as collected.

        Raises: RunStopped if the work can't continue: once all that came back is stored, and without submitting more
        """
        self.note_batches(besides=finished)
        self.budget, self.is_short = Budget(self.budget.endpoint, self.sizes, batch=True), False
        queued = self.provider.queued_at(None).exclude(pk__in=[batch.pk for batch in finished])
        self.provider.is_full, self.has_room = False, not (queued.exists() and self.provider.goes_one_by_one())
        self.session.begin_pass()
        self.step(send_heartbeat=True)
        file = RequestFile(self.provider.most_requests())
        while not self.session.exhausted and not self.is_over:
            missing = self.advance()
            if missing and self.job.run.max_cost is not None:
                self.step(send_heartbeat=True)  # counts the answers that were just stored
            for request in missing:
                if self.error is None and self.has_room and self.is_affordable(request):
                    file.add(request)
                    self.open_keys.add(request.key)
                    if file.is_full:
                        self.submit(file)
                        file = RequestFile(file.most)
        if self.is_over:
            return  # unused answers are collected again
        if file.keys and self.error is None:
            self.submit(file)
        for batch in finished:
            end(batch, ProviderBatch.Status.COLLECTED, batch.message)
        if self.error is not None:
            raise self.error

    def submit(self, file: RequestFile) -> None:
        """Submit a file, and no further one in this pass where the provider's queue has been full."""
        self.provider.submit(file)
        self.has_room = not self.provider.goes_one_by_one()

    def note_batches(self, *, besides: list[ProviderBatch]) -> None:
        """Note which requests are in open batches, and how often each was submitted."""
        other_batches = list(self.provider.open_batches().exclude(pk__in=[batch.pk for batch in besides]))
        self.owes = bool(other_batches)
        self.open_keys = {key for batch in other_batches for key in batch.keys}
        handed_in = self.job.run.provider_batches.exclude(
            status__in=[ProviderBatch.Status.FAILED, ProviderBatch.Status.QUEUE_FULL]
        )
        self.tried = Counter(key for keys in handed_in.values_list("keys", flat=True) for key in keys)

    def advance(self) -> list[Request]:
        """Start the next cells, advance them as far as there are answers, and return the requests to submit."""
        missing: list[Request] = []
        requests = self.step(count=CELLS).first
        while requests:
            answers: list[StoredAnswer | FailedCall] = []
            for request in requests:
                if (answer := self.answer_to(request)) is not None:
                    answers.append(answer)
                elif request.key not in self.open_keys:
                    missing.append(request)
            requests = self.step(answers).follow_up
        self.session.pool.drop_waiting()
        return missing

    def answer_to(self, request: Request) -> StoredAnswer | FailedCall | None:
        """Return what came back for a request, or `None` if it is in an open batch, or to be submitted."""
        line = self.lines.pop(request.key, None)
        if isinstance(line, ChatAnswer):
            self.progress.calls += 1
            return self.take_answer(request, line)
        if line is not None:
            self.failures[request.key] = line
            if line.charged is not None:
                stored = self.unusable[request.key]
                if line.charged.response in stored:  # a batch may be collected twice
                    line.charged = None
                else:
                    stored.append(line.charged.response)
        failure = self.failures.get(request.key) or self.unanswered(request)
        is_final = not isinstance(failure, TransientFailure) or self.tried[request.key] >= ROUNDS
        gives_up = is_final and request.key not in self.open_keys
        if not (gives_up or (line is not None and line.charged is not None)):
            return None
        failed = self.take_failure(request, failure)
        failure.charged = None
        if failed is None or not gives_up:
            return failed
        tried = self.tried[request.key]
        why = reason("tried_in_batches", why=failed.reason, number=tried) if tried > 1 else failed.reason
        return replace(failed, reason=why, again=False)

    def unanswered(self, request: Request) -> CallFailed:
        """Return the failure of a request without a line: one that an earlier process submitted with a JSON schema was rejected."""
        handed_in = self.tried[request.key] and request.key not in self.open_keys
        if handed_in and self.session.pool.falls_back(request.key):
            return RejectedCall(reason("none_came_back_to_schema"))
        return TransientFailure(reason("none_came_back"))

    @cached_property
    def unusable(self) -> dict[str, list[Any]]:
        """The run's stored unusable answers, by request."""
        result: dict[str, list[Any]] = defaultdict(list)
        completions = Completion.objects.filter(judgments__run=self.job.run, finish_reason=UNUSABLE).order_by()
        for base_url, request, sample, response in completions.values_list("base_url", "request", "sample", "response"):
            result[cache_key(base_url, request, sample)].append(response)
        return result

    # Money

    def is_affordable(self, request: Request) -> bool:
        """Tell whether the cap allows a request, and reserve its cost.

        Nothing can be taken back once it is handed in, so its cost must be known; that of open batches is not.

        Raises: RunStopped
        """
        if self.budget.granted is None:
            return True
        if not (self.sizes.known or longest_allowed(request.body)):
            raise RunStopped(reason("batch_length_unknown"))
        if cost_of(self.budget.endpoint, *self.sizes.guess(request)) is None:
            raise RunStopped(reason("prices_unknown", endpoint=str(self.budget.endpoint)))
        if self.is_short or self.owes or not self.budget.reserve(request):
            self.is_short = True
        return not self.is_short
