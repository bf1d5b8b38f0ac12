"""Keeps what SQLite knows of how full its tables are, as PostgreSQL does by itself.

Without it SQLite takes every table for a small one, and some pages of a large study take minutes instead of a second.
Whoever opens the database looks whether a table has grown, and if so has a sample of each index counted, which takes
milliseconds however large it is. A connection reads these numbers when it is opened, so that none is kept for ever.
"""

import logging
import sqlite3
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

FEW = 1_000  # rows: below, any way through a table will do
GROWN = 4  # times as many as were counted
_SAMPLE = 1_000  # rows of each index

logger = logging.getLogger(__name__)


def count_when_grown(*, connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    """Have the tables counted where one has grown; a receiver of `connection_created`."""
    if connection.vendor != "sqlite":
        return
    database: sqlite3.Connection = connection.connection
    if not has_grown(database):
        return
    [(waits,)] = database.execute("PRAGMA busy_timeout")
    database.execute("PRAGMA busy_timeout = 0")  # nobody waits for this: the next one to come will do it
    try:
        database.execute(f"PRAGMA analysis_limit = {_SAMPLE}")
        database.execute("ANALYZE")
    except sqlite3.OperationalError as error:  # somebody writes, or the file can't be written
        logger.debug("tables were not counted: %s", error)
    finally:
        database.execute(f"PRAGMA busy_timeout = {int(waits)}")


def has_grown(database: sqlite3.Connection) -> bool:
    """Tell whether a table with more than a few rows has several times as many as when it was counted."""
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    counted = _counted(database) if "sqlite_stat1" in tables else {}
    return any(
        rows > max(FEW, GROWN * counted.get(table, 0))
        for table in tables
        if not table.startswith("sqlite_") and (rows := _at_most(database, table))
    )


def _counted(database: sqlite3.Connection) -> dict[str, int]:
    """Return the rows of each table when it was counted."""
    found = database.execute("SELECT tbl, stat FROM sqlite_stat1 WHERE stat IS NOT NULL")
    counted: dict[str, int] = {}
    for table, numbers in found:  # of a partial index the rows that are in it
        counted[table] = max(counted.get(table, 0), int(numbers.split()[0]))
    return counted


def _at_most(database: sqlite3.Connection, table: str) -> int:
    """Return the highest number of a row, found without counting; 0 for a table whose rows have none."""
    name = table.replace('"', '""')
    try:
        [(highest,)] = database.execute(f'SELECT MAX(rowid) FROM "{name}"')  # noqa: S608  # a table's name, quoted
    except sqlite3.OperationalError:
        return 0
    return highest or 0
