"""Refreshes SQLite's planner statistics (ANALYZE), as PostgreSQL's autovacuum does.

Without them SQLite plans every query as for small tables, and some pages of a large study take minutes instead of a second.
Each new connection checks whether a table has grown, and if so analyzes a sample of each index, which takes milliseconds at
any size. SQLite reads the statistics when a connection is opened, hence connections have a maximum age.
"""

import logging
import sqlite3
from contextlib import suppress
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

FEW = 1_000  # rows: below, any query plan is fast enough
GROWN = 4  # times the rows at the last ANALYZE
_SAMPLE = 1_000  # rows of each index

logger = logging.getLogger(__name__)


def count_when_grown(*, connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    """Run ANALYZE if a table has grown, on the signal `connection_created`."""
    if connection.vendor != "sqlite":
        return
    database: sqlite3.Connection = connection.connection
    if not has_grown(database):
        return
    [(waits,)] = database.execute("PRAGMA busy_timeout")
    database.execute("PRAGMA busy_timeout = 0")  # don't wait for a lock: a later connection will do it
    try:
        database.execute(f"PRAGMA analysis_limit = {_SAMPLE}")
        database.execute("ANALYZE")
    except sqlite3.OperationalError as error:  # another connection writes, or the file is read-only
        logger.debug("tables were not counted: %s", error)
    finally:
        database.execute(f"PRAGMA busy_timeout = {int(waits)}")


def has_grown(database: sqlite3.Connection) -> bool:
    """Tell whether a table has more than FEW rows and GROWN times as many as at the last ANALYZE."""
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    counted: dict[str, int] = {}
    if "sqlite_stat1" in tables:
        for table, numbers in database.execute("SELECT tbl, stat FROM sqlite_stat1 WHERE stat IS NOT NULL"):
            counted[table] = max(counted.get(table, 0), int(numbers.split()[0]))  # a partial index counts its own rows
    for table in tables:
        name = table.replace('"', '""')
        with suppress(sqlite3.OperationalError):  # of a table without rowids
            # The highest rowid: an upper bound found without counting.
            [(highest,)] = database.execute(f'SELECT MAX(rowid) FROM "{name}"')  # noqa: S608  # a table's name, quoted
            if not table.startswith("sqlite_") and (highest or 0) > max(FEW, GROWN * counted.get(table, 0)):
                return True
    return False
