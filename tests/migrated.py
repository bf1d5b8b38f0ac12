"""Migrated databases to start from: to migrate an empty one takes ten seconds of a processor.

The first process that needs one makes it, and the others wait for it. Later runs find it, until a migration changes.
"""

import fcntl
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from subprocess import DEVNULL
from urllib.parse import quote

import django
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader

from tools.with_postgres import find_programs

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".pytest_cache" / "migrated"


@cache
def digest() -> str:
    """Return what differs between the databases of different migrations."""
    found = hashlib.sha256(version("django").encode())
    for path in (Path(__file__), ROOT / "reporting" / "core" / "data_version.py"):  # which makes triggers
        found.update(path.read_bytes())
    for _, migration in sorted(MigrationLoader(None).disk_migrations.items()):
        found.update(Path(str(sys.modules[type(migration).__module__].__file__)).read_bytes())
    return found.hexdigest()[:16]


def copy_file(target: Path) -> None:
    """Make `target` a copy of a migrated SQLite database."""
    shutil.copy(kept_file(), target)


def kept_file() -> Path:
    """Return the path of a migrated SQLite database, which is made if there is none."""
    kept = FOLDER / f"{digest()}.sqlite3"
    with one_at_a_time():
        if not kept.exists():
            for old in FOLDER.glob("*.sqlite3*"):
                old.unlink()
            new = kept.with_suffix(".part.sqlite3")
            migrate(f"sqlite:///{new}")
            with closing(sqlite3.connect(new)) as migrated:
                migrated.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            new.rename(kept)
    return kept


def template(connection: BaseDatabaseWrapper) -> str:
    """Return the name of a migrated PostgreSQL database on the server of the connection.

    The server is a new one in each run, so what is kept is a dump: `psql` reads it in a tenth of the time.
    """
    name = f"tandem_migrated_{digest()}"
    given = connection.settings_dict
    login = f"{quote(given['USER'])}:{quote(given['PASSWORD'])}@{given['HOST']}:{given['PORT']}"
    with one_at_a_time(), connection._nodb_cursor() as cursor:  # as Django makes its test databases
        cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name])
        if cursor.fetchone() is None:
            cursor.execute(f"DROP DATABASE IF EXISTS {name}_part")
            cursor.execute(f"CREATE DATABASE {name}_part")
            fill(f"postgres://{login}/{name}_part", FOLDER / f"{digest()}-{cursor.connection.info.server_version}.sql")
            cursor.execute(f"ALTER DATABASE {name}_part RENAME TO {name}")
    return name


def fill(url: str, kept: Path) -> None:
    """Read the dump into an empty PostgreSQL database; if there is none, migrate that and dump it."""
    programs = find_programs().initdb.resolve().parent  # PATH may have links to some of them
    if kept.exists():
        subprocess.run(
            [programs / "psql", "--quiet", "--set=ON_ERROR_STOP=1", f"--file={kept}", url], check=True, stdout=DEVNULL
        )
        return
    migrate(url)
    for old in FOLDER.glob("*.sql"):
        old.unlink()
    new = kept.with_suffix(".part")
    subprocess.run([programs / "pg_dump", f"--file={new}", url], check=True)
    new.rename(kept)


def migrate(url: str) -> None:
    """Migrate a database in a process of its own: this one's connection has its own."""
    command = [sys.executable, "manage.py", "migrate", "--run-syncdb", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "DATABASE_URL": url}, check=True)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait until no other process is in this block."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":  # `make test` has it made while tests are collected
    django.setup()
    kept_file()
