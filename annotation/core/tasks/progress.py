"""Progress reporting for long-running tasks, to a function or a file.

A file, since an import is one transaction: other processes see nothing of what it writes into the database before its end.
"""

import json
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

Progress = Callable[[int, int], None]  # called with how much is done, and of how much
READING, STORING = "reading", "storing"
SECONDS = 0.5  # between two notes
RATE_WINDOW = 30.0  # seconds, for a smooth rate


class Rate:
    """The recent rate of work a second."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def begin(self, done: int) -> None:
        """Note what was done before the first time."""
        if not self._seen:
            self._seen.append((monotonic(), done))

    def at(self, done: int) -> float:
        """Return the rate now that so much is done."""
        now = monotonic()
        self._seen.append((now, done))
        while len(self._seen) > 2 and self._seen[1][0] <= now - RATE_WINDOW:
            self._seen.popleft()
        began, before = self._seen[0]
        return (done - before) / max(now - began, 0.001)


def silent(_done: int, _total: int) -> None:
    """Ignore progress."""


# Readers and writers of every kind of file report here, without a parameter in each function between.
_listener: ContextVar[Callable[[str, int, int], None] | None] = ContextVar("listener", default=None)


def report(stage: str, done: int, total: int) -> None:
    """Report how far the running work is, to the reader of progress if there is one."""
    if (listener := _listener.get()) is not None:
        listener(stage, done, total)


@contextmanager
def noted_in(path: Path) -> Iterator[None]:
    """Note what is reported meanwhile in a file, which is removed in the end."""
    last, before, passes = -SECONDS, 0, 1
    rates: dict[str, Rate] = {}

    def note(stage: str, done: int, total: int) -> None:
        nonlocal last, before, passes
        if monotonic() - last < SECONDS or (stage == READING and STORING in rates):  # a file may be read again
            return
        last = monotonic()
        if stage == READING and done < before:
            passes += 1
            del rates[READING]
        before = done
        rate = rates.setdefault(stage, Rate())
        rate.begin(done)
        with suppress(OSError):  # for example a full disk: the work itself says so
            part = path.with_suffix(".part")
            part.write_text(json.dumps([stage, done, total, rate.at(done), passes]))
            part.replace(path)

    token = _listener.set(note)
    try:
        yield
    finally:
        _listener.reset(token)
        with suppress(OSError):
            path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Noted:
    """The progress of work in a stage: bytes that are read, or rows of a file that are stored, and how many a second.

    passes : how often the file was read from its start
    """

    stage: str
    done: int
    total: int
    rate: float
    passes: int = 1

    is_at_work = True

    @property
    def seconds_left(self) -> float | None:
        """The time that the rest of the stage takes at this rate, or `None` if that is unknown."""
        return (self.total - self.done) / self.rate if self.rate else None


def noted(path: Path) -> Noted | None:
    """Return what was last noted in a file."""
    try:
        return Noted(*json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None
