"""A stop flag that signal handlers set and event loops in other threads can await."""

import asyncio
import threading
from weakref import WeakSet


class StopFlag:
    """A flag set once, from any thread or signal handler or with its parent, that wakes whoever waits.

    is_watched : the present work ends by itself once the flag is set
    """

    is_watched = True

    def __init__(self, parent: "StopFlag | None" = None) -> None:
        self._set = threading.Event()
        self._waiting: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None
        self.children: WeakSet[StopFlag] = WeakSet()
        if parent is not None:
            parent.children.add(self)
            if parent.is_set():
                self.set()

    def set(self) -> None:
        self._set.set()
        if self._waiting is not None:
            loop, event = self._waiting
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)
        for child in list(self.children):
            child.set()

    def is_set(self) -> bool:
        """Tell whether stopping was asked for."""
        return self._set.is_set()

    def wait_for(self, seconds: float) -> bool:
        """Block for at most this long and return whether stopping was asked for."""
        return self._set.wait(seconds)

    async def wait(self) -> None:
        """Return when stopping is asked for."""
        event = asyncio.Event()
        self._waiting = (asyncio.get_running_loop(), event)
        if not self._set.is_set():
            await event.wait()


# Set when the worker process gets a stop signal: its jobs stop between two calls, for another worker to resume.
WORKER_STOP = StopFlag()
