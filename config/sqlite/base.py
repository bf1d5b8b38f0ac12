"""The backend that DATABASES names for SQLite (`django.db.utils.load_backend` wants a module of this name)."""

import sqlite3
import threading
import time
from collections import defaultdict
from typing import Any

from django.db.backends.sqlite3 import base
from django.db.utils import OperationalError

_BUSY = "database is locked"
_PAUSE = 0.001  # seconds between two attempts while another process writes
_turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)  # by database: held while a thread may write


class DatabaseWrapper(base.DatabaseWrapper):
    """Begins transactions in turn: one thread of a process at a time, which asks for SQLite's lock every millisecond.

    SQLite's own way to wait is to ask again after pauses that grow to 0.1 s. With eight raters a quarter of the
    processors' time went by while every thread paused, and one submission in twenty waited for 0.1 s.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._turn: threading.Lock | None = None

    def _start_transaction_under_autocommit(self) -> None:
        """Begin a transaction; `PRAGMA busy_timeout` (the option `timeout`) limits the wait for threads and processes."""
        self.ensure_connection()
        (milliseconds,) = self.connection.execute("PRAGMA busy_timeout").fetchone()
        until = time.monotonic() + milliseconds / 1000
        turn = _turns[str(self.settings_dict["NAME"])]
        if not turn.acquire(timeout=milliseconds / 1000):
            raise OperationalError(_BUSY)
        self._turn = turn
        self.connection.execute("PRAGMA busy_timeout = 0")
        try:
            with self.wrap_database_errors:
                while not self._has_begun(until):
                    time.sleep(_PAUSE)
        except BaseException:
            self._end_turn()
            raise
        finally:
            self.connection.execute(f"PRAGMA busy_timeout = {milliseconds}")

    def _has_begun(self, until: float) -> bool:
        """Try to begin; False while another process writes.

        The driver is asked: each error of Django's is a cycle of references that keeps a cursor alive. The collector can
        meet it in the thread that writes, which then waits for this connection, and this one for the write lock.
        """
        try:
            self.connection.execute(f"BEGIN {self.transaction_mode or ''}")  # type: ignore[attr-defined]
        except sqlite3.OperationalError as error:
            if str(error) != _BUSY or time.monotonic() >= until:
                raise
            return False
        return True

    def _end_turn(self) -> None:
        if self._turn is not None:
            self._turn.release()
            self._turn = None

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]
        self._end_turn()

    def _rollback(self) -> None:
        super()._rollback()  # type: ignore[misc]
        self._end_turn()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self._end_turn()
