"""Asking models in a command: how it is stopped, and with which exit status it then ends."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from django.core.management.base import CommandError

from annotation.core.errors import Interrupted
from annotation.core.tasks.stopping import StopFlag
from judging.core.errors import CapReached
from judging.management.meter import Meter

STOPPED_BY_SIGNAL = 130
STOPPED_ELSEWHERE = 3
RESUMES = "stopped; the same command resumes without repeating a call"


@dataclass
class Asking:
    """Work that asks models in a command.

    ended : why it was stopped, by a signal or otherwise
    """

    stop: StopFlag
    meter: Meter
    ended: Exception | None = None

    def conclude(self) -> None:
        """End the command if the work was stopped."""
        if isinstance(self.ended, Interrupted):
            self.meter.out.write(RESUMES)
            sys.exit(STOPPED_BY_SIGNAL)
        if self.ended is not None:
            raise CommandError(str(self.ended), returncode=STOPPED_ELSEWHERE) from self.ended


@contextmanager
def asking(out: Any, *, also: type[Exception] = CapReached) -> Iterator[Asking]:
    """Yield what procedures take in a command, and note why they were stopped.

    out  : for progress and messages
    also : a further error of work that was stopped
    """
    work = Asking(StopFlag(), Meter(out))
    with stopping_on_signals(work.stop):
        try:
            yield work
        except (Interrupted, CapReached, also) as error:
            work.ended = error
        finally:
            if work.meter.progress.total:
                work.meter.close()


@contextmanager
def stopping_on_signals(stop: StopFlag) -> Iterator[None]:
    """Let the first Ctrl-C (or SIGTERM) stop between calls. A second one ends the process at once."""

    def ask(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
