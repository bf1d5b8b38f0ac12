"""A PostgreSQL with its usual, durable settings that can be killed and started again on the same data."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psycopg

from tests.stress.run import children_of
from tools.with_postgres import find_programs, free_port, is_up, make_cluster, start, stop, unprivileged_owner

PASSWORD = "of-a-test"  # on loopback, for minutes
SETTINGS = ("max_connections=100", "max_wal_size=64MB", "min_wal_size=32MB", "logging_collector=off")
TRIES = 40


class Cluster:
    """A server whose data are in `folder`, which belongs to the account that runs it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.owner, self.programs = folder, unprivileged_owner(), find_programs()
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        if self.owner is not None:
            os.chown(folder, self.owner.pw_uid, self.owner.pw_gid)
        make_cluster(self.programs, folder, PASSWORD, self.owner)

    @property
    def url(self) -> str:
        """Return the address for DATABASE_URL."""
        return f"postgres://tandem:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it unless it runs; a crash is recovered from first, for which it needs space and its old processes to be gone."""
        for _ in range(TRIES):
            if self.process is not None and self.process.poll() is None:
                return
            self.process = start(self.programs, self.folder, self.port, self.owner, SETTINGS)
            if is_up(self.process, self.folder / "data"):
                return
            stop(self.process)
            time.sleep(0.5)
        raise RuntimeError((self.folder / "log").read_text(errors="replace")[-3000:])

    def kill(self) -> None:
        """End all of its processes at once, as a crash of the machine would."""
        if self.process is None:
            return
        for pid in (self.process.pid, *children_of(self.process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def restart(self) -> None:
        """Shut down without waiting for clients, and start again."""
        if self.process is not None:
            stop(self.process)
        self.start()

    def drop_connections(self) -> None:
        """Close every client's connection from the server's side."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")

    def close(self) -> None:
        """End it."""
        if self.process is not None:
            stop(self.process)
