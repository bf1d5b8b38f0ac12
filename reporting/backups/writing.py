"""Write a backup of everything as it was at one moment, while the server runs. No request waits for it."""

import json
import os
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from annotation.core.database.snapshot import one_snapshot
from annotation.core.version import VERSION
from reporting.backups.rows import Digest, lines, tables

MANIFEST = "manifest.json"
FORMAT = 1


def write_backup(path: Path, *, at: datetime) -> dict[str, Any]:
    """Write the whole database into a file, for its owner only, and return the manifest.

    The file is there when it is complete and on the disk; an older one of this name is replaced then.
    """
    part = path.with_name(f"{path.name}.part")
    part.touch(mode=0o600)
    try:
        with part.open("wb") as file:
            with one_snapshot(), zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                counted = {}
                for table, model in tables().items():
                    digest = Digest()
                    with archive.open(f"{table}.jsonl", "w", force_zip64=True) as rows:
                        for line in lines(model):
                            digest.add(line)
                            rows.write(line.encode() + b"\n")
                    counted[table] = digest.result()
                manifest = {
                    "format": FORMAT,
                    "version": VERSION,
                    "engine": connection.vendor,
                    "at": at.isoformat(),
                    "migrations": applied_migrations(),
                    "tables": counted,
                }
                archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return manifest


def applied_migrations() -> list[str]:
    """Return the names of the database's migrations."""
    return sorted(f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations())
