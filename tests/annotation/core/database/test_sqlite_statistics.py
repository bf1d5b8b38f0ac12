"""SQLite's planner statistics are refreshed when tables have grown, without making a request wait."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import ConnectionHandler

from annotation.core.database.sqlite_statistics import FEW, GROWN, has_grown


@pytest.fixture
def file(tmp_path: Path, django_db_blocker: Any) -> Iterator[Path]:
    path = tmp_path / "some.sqlite3"
    with sqlite3.connect(path) as database:
        database.executescript("PRAGMA journal_mode=WAL; CREATE TABLE pair (a, b); CREATE INDEX of_a ON pair (a);")
        database.executescript("CREATE TABLE odd (name TEXT PRIMARY KEY) WITHOUT ROWID;")
    with django_db_blocker.unblock():  # a file of the test's own
        yield path


def fill(file: Path, rows: int) -> None:
    with sqlite3.connect(file) as database:
        database.executemany("INSERT INTO pair VALUES (?, ?)", ((n % 7, n) for n in range(rows)))


def open_it(file: Path) -> tuple[str, ...]:
    """Open the file as Django does; return what is known of the table, and how long a connection waits for another."""
    known = ConnectionHandler(
        {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": file, "OPTIONS": {"timeout": 20}}}
    )["default"]
    with known.cursor() as cursor:
        [(waits,)] = cursor.execute("PRAGMA busy_timeout").fetchall()
        assert waits == 20_000
        tables = cursor.execute("SELECT name FROM sqlite_master WHERE name = 'sqlite_stat1'").fetchall()
        found = cursor.execute("SELECT stat FROM sqlite_stat1 WHERE tbl = 'pair'").fetchall() if tables else []
    known.close()
    return tuple(stat for (stat,) in found)


def test_a_table_is_counted_when_it_has_grown_and_not_each_time(file: Path) -> None:
    fill(file, FEW)
    assert open_it(file) == ()

    fill(file, FEW)
    [first] = open_it(file)
    assert int(first.split()[0]) == pytest.approx(2 * FEW, rel=0.5)
    with sqlite3.connect(file) as database:
        assert not has_grown(database)
    fill(file, FEW)
    assert open_it(file) == (first,)

    fill(file, 2 * GROWN * FEW)
    [second] = open_it(file)
    assert int(second.split()[0]) > 2 * int(first.split()[0])


def test_a_connection_does_not_wait_for_it_while_another_writes(file: Path) -> None:
    fill(file, 2 * FEW)
    writer = sqlite3.connect(file, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    assert open_it(file) == ()

    writer.execute("COMMIT")
    writer.close()
    assert len(open_it(file)) == 1
