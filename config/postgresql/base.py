"""The backend that DATABASES names for PostgreSQL (`django.db.utils.load_backend` wants a module of this name)."""

from contextlib import suppress
from typing import Any

import psycopg
from django.db.backends.postgresql import base
from psycopg_pool import ConnectionPool


class DatabaseWrapper(base.DatabaseWrapper):
    """Hands out no connection that the server has closed.

    A pool's own check (`CONN_HEALTH_CHECKS`) finds one closed connection at a time and waits twice as long after each:
    after a restart the first request would wait for 14 seconds with a pool of five.
    """

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
