"""The database side of a worker: takes cells, hands out requests, takes answers in, writes, keeps the worker's row fresh.

Everything here runs in one thread, a turn at a time, while another one makes calls.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from judging.judges import AskingMethod
from judging.models import Judgment
from judging.services import leases
from judging.services.board import Board
from judging.services.cases import Case, Stored
from judging.services.claims import claim, load
from judging.services.leases import Pulse
from judging.services.progress import Job
from judging.services.requests import Request, Requests, setting_of
from judging.services.store import Group, stamp_of, write

FEWEST, MOST = 16, 512  # cells taken at a time: few enough that no worker is left with many at the end
MOST_AT_ONCE = 64  # of those that are to be asked: answers wait meanwhile
MOST_OPEN = 2048  # cells that wait for answers, for they are all in memory: thousands may wait for one that they share
FAILURES_IN_A_ROW = 10


@dataclass(frozen=True)
class Failed:
    """A call that no answer came from, after all its attempts. `rejected`: the endpoint won't take it, now or later."""

    key: str
    reason: str
    rejected: bool = False


@dataclass
class Turn:
    """What came of one turn.

    further, first : calls to make now: of cells that are under way, which go first, and of new ones
    stored  : answers that are in the database now, by their keys
    failed  : calls that are over without an answer
    taken   : how many cells were taken
    over    : there is no further cell to take
    pulse   : what a heartbeat told, when there was one
    halt    : why going on makes no sense
    """

    further: list[Request] = field(default_factory=list)
    first: list[Request] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    taken: int = 0
    over: bool = False
    pulse: Pulse | None = None
    halt: str = ""


class Desk:
    """One worker's cells."""

    def __init__(self, job: Job, method: AskingMethod) -> None:
        self.job = job
        self.run = job.run
        setting = setting_of(job.run.judge)
        requests = Requests(job.run.judge, method)
        self.board = Board(method, setting, requests)
        self.stamp = stamp_of(job.run, method, setting, requests.base_url, worker=job.worker.pk)
        self.over = False
        self._slice = FEWEST
        self._next_beat = 0.0
        self._failures = 0

    def turn(
        self,
        answers: Sequence[Stored | Failed] = (),
        *,
        wanted: int = 0,
        under_way: int = 0,
        owing: Decimal = Decimal(0),
        beat: bool = False,
    ) -> Turn:
        """Take answers in, take new cells if calls are `wanted`, and write what came of it all.

        under_way, owing : calls that were sent, and what they may cost; told to the other workers
        beat : a heartbeat is due whatever the time
        """
        turn = Turn()
        moved = self._take(answers, turn)
        turn.further = self.board.proceed(moved)
        if wanted > len(turn.further) and not self.over and self.board.under_way < MOST_OPEN:
            cases = self._new_cases(wanted)
            turn.taken, turn.first = len(cases), self.board.proceed(cases)
            # Cells that the cache fills are best taken in large groups, others only a little ahead of their calls.
            self._slice = FEWEST if turn.first else min(MOST, 2 * self._slice)
        self._write(turn)
        turn.over = self.over
        if beat or time.monotonic() >= self._next_beat:
            turn.pulse = leases.beat(self.job.worker, in_flight=under_way, owing=owing)
            self._next_beat = time.monotonic() + leases.BEAT_SECONDS
            if turn.pulse.lost:
                self.board.forget()
                turn.further, turn.first, self.over = [], [], False
            if turn.pulse.others:
                self.job.count_done()
            self.job.on_progress(self.job.progress)
        return turn

    def give_back(self) -> None:
        """Free the cells that are open: this worker may make no calls any more."""
        self.board.forget()
        given = Judgment.objects.filter(worker=self.job.worker, status=Judgment.Status.PENDING).update(worker=None)
        if self.job.left is not None:
            self.job.left += given
        self.over = False

    def _take(self, answers: Sequence[Stored | Failed], turn: Turn) -> list[Case]:
        moved: list[Case] = []
        for answer in answers:
            if isinstance(answer, Failed):
                turn.failed.append(answer.key)
                moved += self.board.fail(answer.key, answer.reason, rejected=answer.rejected)
            else:
                turn.stored.append(answer.key)
                moved += self.board.answer(answer)
        return moved

    def _new_cases(self, wanted: int) -> list[Case]:
        limit = max(self._slice, min(wanted, MOST_AT_ONCE))
        if self.job.left is not None:
            limit = min(limit, self.job.left)
        ids = claim(self.run, self.job.worker, limit=limit) if limit else []
        if self.job.left is not None:
            self.job.left -= len(ids)
        self.over = len(ids) < limit or not limit
        return self.board.begin(load(self.run.judge, ids)) if ids else []

    def _write(self, turn: Turn) -> None:
        group = self.board.take_group()
        if not group:
            return
        write(group, self.stamp)
        self._report(group)
        turn.halt = self._count_failures(group)

    def _report(self, group: Group) -> None:
        progress = self.job.progress
        for result in group.results:
            progress.done += 1
            progress.cached += result.cached
            progress.ended[result.reading.status] += 1
        self.job.on_progress(progress)

    def _count_failures(self, group: Group) -> str:
        for result in group.results:
            if result.reading.status != Judgment.Status.ERROR:
                self._failures = 0
                continue
            self._failures += 1
            if self._failures >= FAILURES_IN_A_ROW:
                return f"{self._failures} questions in a row got no answer, the last one: {result.reading.failure}"
        return ""
