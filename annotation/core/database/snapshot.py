"""Reading everything as it was at one moment, while others write."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

# Begins a transaction that only reads. Django's own would take SQLite's lock for writing, and hold up every vote.
_BEGIN = {"sqlite": "BEGIN DEFERRED", "postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}


@contextmanager
def one_snapshot() -> Iterator[None]:
    """Let all queries in this block see the data as of its first one. Nothing may be written in it.

    Within a transaction its own view of the data holds.
    """
    if connection.in_atomic_block:
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(_BEGIN[connection.vendor])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ROLLBACK")
