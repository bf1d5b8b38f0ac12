"""Asking models in a command: how it is stopped, and with which exit status it then ends."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from django.core.management.base import CommandError

from judging.core.errors import CapReached, Interrupted
from judging.jobs.stopping import StopFlag
from judging.management.meter import Meter

STOPPED_BY_SIGNAL = 130
STOPPED_ELSEWHERE = 3
RESUMES = "stopped; the same command resumes without repeating a call"


@contextmanager
def asking(out: Any) -> Iterator[tuple[StopFlag, Meter]]:
    """Yield what procedures take in a command, which ends where they are stopped; `out`: for progress and messages."""
    stop, meter = StopFlag(), Meter(out)
    with stopping_on_signals(stop):
        try:
            yield stop, meter
        except (Interrupted, CapReached) as error:
            end_stopped(error, out)
        finally:
            meter.close()


def end_stopped(ended: Exception, out: Any) -> NoReturn:
    """End a command whose work was stopped, by a signal or otherwise."""
    if isinstance(ended, Interrupted):
        out.write(RESUMES)
        sys.exit(STOPPED_BY_SIGNAL)
    raise CommandError(str(ended), returncode=STOPPED_ELSEWHERE) from ended


@contextmanager
def stopping_on_signals(stop: StopFlag) -> Iterator[None]:
    """Let the first Ctrl-C (or SIGTERM) stop between calls; a second one ends the process at once."""

    def ask(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
