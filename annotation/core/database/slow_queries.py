"""The log of slow database statements: their SQL with placeholders, never their values."""

import logging
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper

logger = logging.getLogger(__name__)
LONGEST = 2_000  # characters of a statement


def log_slow_queries(*, connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    """Measure the statements of a new connection (receiver of `connection_created`)."""
    if settings.SLOW_QUERY_SECONDS and measured not in connection.execute_wrappers:
        connection.execute_wrappers.append(measured)


def measured(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
    """Run a statement, as a wrapper of Django's, and log it if it was slow."""
    begun = time.perf_counter()
    try:
        return execute(sql, params, many, context)
    finally:
        if 0 < settings.SLOW_QUERY_SECONDS <= (seconds := time.perf_counter() - begun):
            logger.warning("%.2f s: %s", seconds, " ".join(str(sql).split())[:LONGEST])
