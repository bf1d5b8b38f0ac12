"""Rows that are stored once for all tests of a module."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction


@contextmanager
def undone_at_the_end() -> Iterator[None]:
    """Roll back what is stored in this block; a transaction within it may be rolled back alone."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
