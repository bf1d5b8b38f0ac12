"""A thread that does one thing again and again while its process lives."""

import logging
import threading
from collections.abc import Callable

from django.db import connections

log = logging.getLogger(__name__)


class RepeatingThread(threading.Thread):
    """Calls a function every so many seconds, until it is stopped.

    An error is logged, and the function is called again at its next turn: a database outage must not end the thread.
    """

    def __init__(self, name: str, seconds: float, work: Callable[[], object]) -> None:
        super().__init__(name=name, daemon=True)
        self.seconds, self.work = seconds, work
        self.ended = threading.Event()

    def run(self) -> None:
        """Wait, then work, and so on."""
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
