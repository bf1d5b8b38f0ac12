"""Run several programs as one: when one of them ends, the supervisor stops the others.

Each program gets a session of its own, hence a process group, so that a signal reaches its children too and a Ctrl-C
at the terminal reaches only the supervisor, which passes it on in order. A guard process holds the read end of a pipe
whose write end dies with the supervisor: when the supervisor is killed (kill -9), the guard ends the groups. This
works the same on Linux and macOS.
"""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import NoReturn

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
DONE = b"done\n"


@dataclass(frozen=True)
class Program:
    """One program to run: what to call it in messages, its command line, descriptors it inherits, its environment."""

    name: str
    command: Sequence[str]
    pass_fds: Sequence[int] = ()
    env: Mapping[str, str] | None = None


class Guard:
    """The process that ends the groups of programs when the supervisor dies without doing so."""

    def __init__(self, grace: float) -> None:
        """Start the guard; `grace` is how many seconds a group has between SIGTERM and SIGKILL."""
        read_end, self.write_end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self._watch(read_end, grace)
        os.close(read_end)

    def register(self) -> None:
        """Tell the guard of the calling process's group; called in the child before it becomes its program.

        The child says it itself, for a supervisor killed between starting it and saying so would leave it behind.
        """
        os.write(self.write_end, b"%d\n" % os.getpid())

    def dismiss(self) -> None:
        """Let the guard go: the groups have been ended."""
        os.write(self.write_end, DONE)
        os.close(self.write_end)
        os.waitpid(self.pid, 0)

    @staticmethod
    def _watch(read_end: int, grace: float) -> NoReturn:
        try:
            os.setsid()
            for number in STOP_SIGNALS:
                signal.signal(number, signal.SIG_IGN)
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
            # Nothing of the supervisor's may stay open here: its end of the pipe, a listening socket.
            os.closerange(3, read_end)
            os.closerange(read_end + 1, os.sysconf("SC_OPEN_MAX"))
            received = b""
            while chunk := os.read(read_end, 4096):
                received += chunk
            if not received.endswith(DONE):
                end_groups([int(line) for line in received.split()], grace)
        finally:
            os._exit(0)


def signal_group(group: int, number: int) -> bool:
    """Send a signal to a process group; tell whether the group still had a member."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS says so of a group whose only members are zombies
        return False
    return True


def end_groups(groups: Sequence[int], grace: float) -> None:
    """End process groups: SIGTERM first, SIGKILL for those still running after `grace` seconds."""
    for group in groups:
        signal_group(group, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while any(signal_group(group, 0) for group in groups) and time.monotonic() < deadline:
        time.sleep(0.05)
    for group in groups:
        signal_group(group, signal.SIGKILL)


class Supervisor:
    """Starts programs, waits until one of them ends or a signal asks to stop, then ends them all."""

    def __init__(self, *, grace: float = 10.0, with_parent: bool = False) -> None:
        """`grace`: seconds between SIGTERM and SIGKILL; `with_parent`: stop also when the process above dies."""
        self.grace = grace
        self.parent = os.getppid() if with_parent else None
        self.asked: list[int] = []  # the signals received so far
        self.running: list[tuple[Program, subprocess.Popen[bytes]]] = []

    def run(self, programs: Sequence[Program], *, started: Callable[[], None] | None = None) -> int:
        """Run the programs until the end; return 0 if a signal asked for it, else 1 after saying which one ended.

        `started` is called when all of them have been started.
        """
        with self._guarded() as guard, self._listening() as wakeup:
            try:
                for program in programs:
                    self._start(program, guard)
                if started is not None:
                    started()
                ended = self._wait(wakeup)
            except OSError as error:  # a program that cannot be started at all
                say(f"Cannot start: {error}. Stopping.")
                return 1
            finally:
                self._stop(wakeup)
        if ended is None:
            return 0
        program, process = ended
        say(f"{program.name} {how_it_ended(process.returncode)}; the rest has been stopped.")
        return 1

    @contextmanager
    def _guarded(self) -> Iterator[Guard]:
        guard = Guard(self.grace)
        try:
            yield guard
        finally:
            guard.dismiss()

    @contextmanager
    def _listening(self) -> Iterator[int]:
        """Catch the stop signals; yields a descriptor that is readable after a signal."""
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        os.set_blocking(write_end, False)
        before = {number: signal.signal(number, self._note) for number in STOP_SIGNALS}
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        old_wakeup = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        try:
            yield read_end
        finally:
            signal.set_wakeup_fd(old_wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(read_end)
            os.close(write_end)

    def _note(self, number: int, frame: object) -> None:
        self.asked.append(number)

    def _start(self, program: Program, guard: Guard) -> None:
        process = subprocess.Popen(
            program.command,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=guard.register,  # noqa: PLW1509  # this process has one thread
            pass_fds=program.pass_fds,
            env=program.env,
        )
        self.running.append((program, process))

    def _wait(self, wakeup: int) -> tuple[Program, subprocess.Popen[bytes]] | None:
        """Wait for the first program to end; `None` when a signal, or the end of the process above, came first."""
        while not self.asked:
            for program, process in self.running:
                if process.poll() is not None:
                    return program, process
            if self.parent is not None and os.getppid() != self.parent:
                return None
            self._pause(wakeup)
        return None

    def _stop(self, wakeup: int) -> None:
        """End every program: SIGTERM, then SIGKILL when the time is over or a second Ctrl-C asks for it.

        Only SIGINT counts as a second one: make passes a SIGTERM on, so that one may arrive twice.
        """
        first = self.asked.count(signal.SIGINT)
        for _, process in self.running:
            signal_group(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + self.grace
        while any(process.poll() is None for _, process in self.running):
            if time.monotonic() > deadline or self.asked.count(signal.SIGINT) > first:
                break
            self._pause(wakeup)
        for _, process in self.running:
            signal_group(process.pid, signal.SIGKILL)  # what a program left in its group, if anything
            process.wait()

    @staticmethod
    def _pause(wakeup: int) -> None:
        """Wait for a signal, half a second at most."""
        select.select([wakeup], [], [], 0.5)
        with suppress(BlockingIOError):
            while os.read(wakeup, 512):
                pass


def how_it_ended(code: int) -> str:
    """Put an exit code as `subprocess` gives it into words."""
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended by itself with exit code {code}"


def say(message: str) -> None:
    """Print one line for the person at the terminal."""
    print(message, file=sys.stderr, flush=True)
