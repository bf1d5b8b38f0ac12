"""Run the web server and the worker as one: a signal, or the end of either, ends both."""

import ctypes
import os
import runpy
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import wait

from django.core.management import execute_from_command_line
from gunicorn.util import getcwd

GRACE = 10.0  # seconds between SIGTERM and SIGKILL
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ENDS_WITH_PARENT = 1  # prctl's PR_SET_PDEATHSIG


def run_web(descriptor: int) -> None:
    """Be gunicorn, listening on an open socket."""
    sys.path.append(getcwd())  # else gunicorn puts it first, and a user's analysis.py would hide ours
    sys.argv = ["gunicorn", "--config", "python:config.gunicorn_config", "--bind", f"fd://{descriptor}"]
    runpy.run_module("gunicorn", run_name="__main__")


def run_worker() -> None:
    """Be the worker."""
    execute_from_command_line(["tandem", "worker"])


def run_together(programs: Mapping[str, Callable[[], None]], *, follow_parent: bool = False) -> int:
    """Run programs, each with its name in messages, until one ends or a signal comes. Return the exit status.

    follow_parent : stop also when the process that started this one is gone
    """
    parent, signals = os.getppid(), list[int]()
    fork = get_context("fork").Process  # they share the memory of what is loaded by now
    running = [fork(target=_run_apart, args=(program,), name=name) for name, program in programs.items()]
    for process in running:
        process.start()
    for number in STOP_SIGNALS:
        signal.signal(number, lambda number, _frame: signals.append(number))
    while not signals and all(process.is_alive() for process in running):
        wait([process.sentinel for process in running], timeout=0.5)
        if follow_parent and os.getppid() != parent:
            signals.append(signal.SIGHUP)
    ended = [process for process in running if not (signals or process.is_alive())]
    until = time.monotonic() + GRACE
    for process in running:
        process.terminate()
    for process in running:
        while process.is_alive() and time.monotonic() < until and signals.count(signal.SIGINT) < 2:  # Ctrl-C twice
            process.join(0.1)
        with suppress(ProcessLookupError):
            os.killpg(process.ident or 0, signal.SIGKILL)  # all that it has started
    for process in ended:
        sys.stderr.write(f"{process.name} has ended with exit status {process.exitcode}; the rest has been stopped.\n")
    return int(bool(ended))


def _run_apart(program: Callable[[], None]) -> None:
    """Run a program in a session of its own: Ctrl-C at the terminal reaches only the process that stops all in order."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    end_with_parent()
    program()


def end_with_parent(number: int = signal.SIGTERM) -> None:
    """Have this process get a signal when the process that started it is gone, on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(ENDS_WITH_PARENT, number)
