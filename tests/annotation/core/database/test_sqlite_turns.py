"""Transactions on SQLite begin in turn, within the time that a connection waits for others."""

import gc
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db.utils import ConnectionHandler, OperationalError

from config.sqlite import base

PATIENCE = 30_000  # milliseconds


@pytest.fixture(autouse=True)
def _database_access(django_db_blocker: Any) -> Iterator[None]:
    """Let these tests open databases of their own."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "turns.sqlite3")


@pytest.fixture
def connections(file: str) -> ConnectionHandler:
    options = {"transaction_mode": "IMMEDIATE", "timeout": PATIENCE / 1000}
    return ConnectionHandler({"default": {"ENGINE": "config.sqlite", "NAME": file, "OPTIONS": options}})


@pytest.fixture
def other_thread() -> Iterator[Callable[[Callable[[], Any]], Any]]:
    """Run a function in a second thread, always the same one, which has a connection of its own."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        yield lambda function: pool.submit(function).result()


@pytest.fixture
def other_process(file: str) -> Iterator[sqlite3.Connection]:
    """A connection that takes no turns, as another process's does not."""
    connection = sqlite3.connect(file, isolation_level=None)
    yield connection
    connection.close()


def begin(connections: ConnectionHandler, patience: int = PATIENCE) -> int:
    """Begin a transaction in this thread; return the patience that the connection has afterwards."""
    connection = connections["default"]
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {patience}")
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    return waits(connections)


def waits(connections: ConnectionHandler) -> int:
    """Return for how many milliseconds this thread's connection waits for a lock."""
    with connections["default"].cursor() as cursor:
        return int(cursor.execute("PRAGMA busy_timeout").fetchone()[0])


def end(connections: ConnectionHandler, way: str) -> None:
    getattr(connections["default"], way)()
    if way != "close":
        connections["default"].set_autocommit(True)


@pytest.mark.parametrize("way", ["commit", "rollback", "close"])
def test_threads_begin_in_turn(connections: ConnectionHandler, other_thread: Any, way: str) -> None:
    begin(connections)

    with pytest.raises(OperationalError, match="database is locked"):
        other_thread(lambda: begin(connections, patience=1))
    assert other_thread(lambda: waits(connections)) == 1

    end(connections, way)
    assert other_thread(lambda: begin(connections)) == PATIENCE
    other_thread(lambda: end(connections, way))
    assert begin(connections) == PATIENCE
    end(connections, way)


def test_a_thread_that_another_process_keeps_out_leaves_its_turn(
    connections: ConnectionHandler, other_thread: Any, other_process: sqlite3.Connection
) -> None:
    other_process.execute("BEGIN IMMEDIATE")

    with pytest.raises(OperationalError, match="database is locked"):
        begin(connections, patience=1)
    assert waits(connections) == 1

    other_process.execute("ROLLBACK")
    assert other_thread(lambda: begin(connections)) == PATIENCE
    other_thread(lambda: end(connections, "commit"))


def test_a_thread_asks_again_as_long_as_another_process_writes(
    connections: ConnectionHandler, other_process: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_process.execute("BEGIN IMMEDIATE")
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            other_process.execute("ROLLBACK")

    monkeypatch.setattr(base.time, "sleep", pause)

    assert begin(connections) == PATIENCE
    assert pauses == [0.001] * 3
    end(connections, "commit")


@pytest.mark.slow
def test_waiting_leaves_no_cursor_to_the_garbage_collector(
    connections: ConnectionHandler, other_process: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is collected in another thread makes it wait for this connection, with the write lock in its hands."""
    other_process.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(base.time, "sleep", lambda _seconds: other_process.execute("ROLLBACK"))
    gc.collect()
    gc.disable()
    try:
        begin(connections)
        used = connections["default"].connection
        left = [one for one in gc.get_referrers(used) if isinstance(one, sqlite3.Cursor)]
    finally:
        gc.enable()

    assert left == []
    end(connections, "commit")


def test_a_begin_that_fails_otherwise_leaves_its_turn(
    connections: ConnectionHandler, other_thread: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits(connections)  # connects
    monkeypatch.setattr(connections["default"], "transaction_mode", "NO SUCH MODE")
    with pytest.raises(OperationalError, match="syntax error"):
        begin(connections)

    assert other_thread(lambda: begin(connections)) == PATIENCE
    other_thread(lambda: end(connections, "commit"))
