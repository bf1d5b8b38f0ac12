"""Django's SQLite backend, with transactions that begin as soon as the one before has ended."""
