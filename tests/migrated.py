"""A migrated SQLite database, kept between runs: to migrate an empty one takes ten seconds of a processor."""

import hashlib
import os
import shutil
import sqlite3
import sys
from contextlib import closing
from functools import cache
from importlib.metadata import version
from pathlib import Path

from django.db.migrations.loader import MigrationLoader

FOLDER = Path(__file__).parent.parent / ".pytest_cache" / "migrated"


@cache
def kept_file() -> Path:
    """Return where the database is kept that today's migrations make, whether it was made yet or not."""
    digest = hashlib.sha256(version("django").encode())
    for _, migration in sorted(MigrationLoader(None).disk_migrations.items()):
        digest.update(Path(str(sys.modules[type(migration).__module__].__file__)).read_bytes())
    return FOLDER / f"{digest.hexdigest()[:16]}.sqlite3"


def take(target: Path) -> bool:
    """Copy the kept database to `target`, if there is one; tell whether there is."""
    if not kept_file().exists():
        return False
    shutil.copy(kept_file(), target)
    return True


def keep(source: Path) -> None:
    """Keep a copy of a database that has just been migrated, in place of those of other migrations."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    mine = FOLDER / f"{os.getpid()}.part"
    with closing(sqlite3.connect(source)) as migrated, closing(sqlite3.connect(mine)) as copy:
        migrated.backup(copy)
    for old in FOLDER.glob("*.sqlite3"):
        if old != kept_file():
            old.unlink(missing_ok=True)
    mine.replace(kept_file())
