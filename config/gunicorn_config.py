"""Gunicorn's settings: processes of a few threads, which share the memory of what is loaded before the fork."""

import gc
import sys
from typing import Any

from config import env

wsgi_app = "config.wsgi"
worker_class = "gthread"
workers, threads = env.WEB_PROCESSES, env.WEB_THREADS
preload_app = True  # nothing may open a connection or start a thread while the program is loaded
# Seconds for which a quiet connection stays open: longer than the proxies of deploy/ keep theirs, for a request that is
# sent just when the server closes the connection is lost.
keepalive = 75
graceful_timeout = 5
loglevel = "warning"
control_socket_disable = True  # it would lie in the home directory, shared by every server of this user

gc.disable()  # a collection writes to every object, and would copy what the processes share


def when_ready(_server: Any) -> None:
    """Keep what has been loaded out of all later collections."""
    gc.freeze()


def post_fork(_server: Any, _worker: Any) -> None:
    """Collect garbage in the processes that serve, and let their threads take turns more often.

    A thread that holds SQLite's write lock needs the interpreter again after each statement. With Python's usual 5 ms for
    each thread that waits as well, the others wait for the lock far longer than its work takes.
    """
    gc.enable()
    sys.setswitchinterval(0.0005)
