"""Django's PostgreSQL backend with a connection pool that replaces closed connections after a restart of the server."""
