"""The backend that DATABASES names for PostgreSQL (`django.db.utils.load_backend` wants a module of this name)."""

from contextlib import suppress
from typing import Any

import psycopg
from django.db.backends.postgresql import base
from psycopg_pool import ConnectionPool

# Seconds between the end of a machine that closes nothing, as by a loss of power, and the end of its connections. By default that
# takes PostgreSQL two hours, in which an open transaction of a lost worker keeps its locks: the other workers wait.
# Shorter than the lease of a worker (judging/jobs/leases.py).
SILENCE = {
    "tcp_keepalives_idle": 10,
    "tcp_keepalives_interval": 5,
    "tcp_keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}


class DatabaseWrapper(base.DatabaseWrapper):
    """Hands out no connection that the server has closed.

    A pool's own check (`CONN_HEALTH_CHECKS`) finds one closed connection at a time and waits twice as long after each:
    after a restart the first request would wait for 14 seconds with a pool of five.
    """

    def _configure_connection(self, connection: Any) -> bool:
        """Also have the server notice machines that are gone; called for each new connection."""
        commit = bool(super()._configure_connection(connection))  # type: ignore[misc]
        settings = ", ".join(f"set_config('{name}', '{value}', false)" for name, value in SILENCE.items())
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {settings}")
        return commit or not connection.autocommit

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Take a connection from the pool; the first closed one has all of the pool's connections checked."""
        connection = super().get_new_connection(conn_params)
        if self.pool is None:
            return connection
        with suppress(psycopg.OperationalError):
            ConnectionPool.check_connection(connection)
            return connection
        self.pool.putconn(connection)
        self.pool.check()
        return super().get_new_connection(conn_params)
