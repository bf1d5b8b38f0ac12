"""Names of processes, for rows that say which process works on them, and threads that repeat their work."""

import hashlib
import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from django.db import connections

log = logging.getLogger(__name__)


def this_machine() -> str:
    """Return an id of this machine or container: a name space of process ids."""
    space = ""
    with suppress(OSError):
        space = str(Path("/proc/self/ns/pid").readlink())
    return hashlib.sha256(f"{socket.gethostname()}\x00{space}".encode()).hexdigest()[:16]


def this_process() -> str:
    """Return a name of this process for `is_gone`, another one at each call."""
    return f"{this_machine()}:{os.getpid()}:{secrets.token_hex(8)}"


def is_gone(name: str) -> bool:
    """Tell whether a process of this machine has ended, or False for other machines'."""
    machine, _, process_part = name.partition(":")
    process = process_part.partition(":")[0]
    if machine != this_machine() or not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


class RepeatingThread(threading.Thread):
    """Calls a function every so many seconds, until it is stopped.

    An error is logged, and the function is called again at its next turn: a database outage must not end the thread.
    """

    def __init__(self, name: str, seconds: float, work: Callable[[], object]) -> None:
        super().__init__(name=name, daemon=True)
        self.seconds, self.work = seconds, work
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(self.seconds):
            try:
                self.work()
            except Exception:
                log.exception("%s failed; trying again in %s s", self.name, self.seconds)
            finally:
                connections.close_all()

    def end(self, *, timeout: float) -> None:
        """Stop, and wait so many seconds for work that has begun. What is still not done then ends with the process."""
        self.ended.set()
        self.join(timeout)
