"""Backups: write everything as it was at one moment, while the server runs, and restore it on either engine.

Rows are JSON lines that mean the same on both engines; a restored database is compared with the file, row by row.
"""

import base64
import hashlib
import json
import os
import zipfile
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from django.apps import apps
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import BinaryField, Field, JSONField, Model

from annotation.core.database.snapshot import one_snapshot
from annotation.core.errors import Unacceptable
from annotation.core.reasons import Reason
from annotation.core.system_checks import unapplied_migrations
from annotation.core.version import VERSION
from annotation.models import Study
from reporting.models import DataChanges

CHUNK = 2_000  # rows read or written at once
_DIGITS = 2**256


def tables() -> dict[str, type[Model]]:
    """Return the model of every table, those between two others included. `django_migrations` is no model's."""
    models = apps.get_models(include_auto_created=True)
    return {model._meta.db_table: model for model in models if model._meta.managed and not model._meta.proxy}


def columns(model: type[Model]) -> list["Field[Any, Any]"]:
    """Return a table's columns, without those that the database computes from the others."""
    return [field for field in model._meta.concrete_fields if not field.generated]


def lines(model: type[Model]) -> Iterator[str]:
    """Yield each row as a JSON list, in no particular order."""
    fields = columns(model)
    rows = model._base_manager.order_by().values_list(*(field.attname for field in fields))
    for row in rows.iterator(chunk_size=CHUNK):
        values = list(row)
        for place, (field, value) in enumerate(zip(fields, row, strict=True)):
            if isinstance(field, BinaryField) and value is not None:
                values[place] = base64.b64encode(bytes(value)).decode("ascii")
            elif isinstance(value, Reason):  # a mere text as in earlier backups, whose rows must compare as equal
                values[place] = value.text if value.code in ("", "text") else value.stored()
            elif not (isinstance(field, JSONField) or isinstance(value, bool | int | float | str | None)):
                values[place] = value.isoformat() if hasattr(value, "isoformat") else str(value)
        yield json.dumps(values, ensure_ascii=False, sort_keys=True)


def parameters(model: type[Model], line: str) -> list[Any]:
    """Return a line's values as the connected database takes them."""
    values = []
    for field, value in zip(columns(model), json.loads(line), strict=True):
        if isinstance(field, BinaryField) and value is not None:
            value = base64.b64decode(value)
        elif not isinstance(field, JSONField):
            value = field.to_python(value)
        values.append(field.get_db_prep_save(value, connection))
    return values


class Digest:
    """Counts rows and adds their hashes up: equal for equal rows in any order, which engines sort differently."""

    def __init__(self) -> None:
        """Begin with no rows."""
        self.rows, self._sum = 0, 0

    def add(self, line: str) -> None:
        """Add a row."""
        self.rows += 1
        plain = json.dumps(_plain(json.loads(line)), sort_keys=True)
        self._sum = (self._sum + int.from_bytes(hashlib.sha256(plain.encode()).digest(), "big")) % _DIGITS

    def result(self) -> dict[str, Any]:
        """Return the count and the sum."""
        return {"rows": self.rows, "sha256_sum": f"{self._sum:064x}"}


def _plain(value: Any) -> Any:
    """Return whole floats as integers: PostgreSQL keeps 1e30 in JSON as the integer that it is."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


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


def restore_backup(path: Path, *, replace: bool) -> dict[str, Any]:
    """Fill the database with a backup's rows, read them again and compare them. Return the manifest.

    replace : delete what the database has; without it, one with studies or accounts is refused
    Raises: Unacceptable, and nothing has changed, if the file is damaged or of another version of the schema.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            manifest: dict[str, Any] = json.loads(archive.read(MANIFEST))
            _require_fitting(manifest)
            if not replace and (Study.objects.exists() or User.objects.exists()):
                raise Unacceptable("The database has studies or accounts. To delete all of it first: --replace")
            with transaction.atomic():
                _fill(archive, manifest["tables"])
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, ValidationError) as error:
        raise Unacceptable(f"{path} is no complete backup: {error}") from error
    ContentType.objects.clear_cache()
    return manifest


def _require_fitting(manifest: dict[str, Any]) -> None:
    if manifest["format"] != FORMAT:
        raise Unacceptable(f"The backup has format {manifest['format']}, this version of Tandem reads {FORMAT}.")
    applied, in_backup = set(applied_migrations()), set(manifest["migrations"])
    if applied < in_backup and (to_come := unapplied_migrations()) and in_backup.issuperset(to_come):
        raise Unacceptable(
            f"The database lacks {len(to_come)} of this version's migrations. Run this first: tandem migrate"
        )
    if applied != in_backup:
        raise Unacceptable(
            f"The backup is of version {manifest['version']}, whose schema differs from this database's "
            f"({', '.join(sorted(applied ^ in_backup)[:3])} …). Restore it with that version, then upgrade."
        )


def _fill(archive: zipfile.ZipFile, counted: dict[str, dict[str, Any]]) -> None:
    """Replace all rows, in any order, since foreign keys are checked when the transaction ends. Counts of changes last."""
    quote = connection.ops.quote_name
    for table, model in sorted(tables().items(), key=lambda entry: entry[1] is DataChanges):  # triggers of others count
        named = [quote(str(field.column)) for field in columns(model)]
        values = ", ".join(["%s"] * len(named))
        with connection.cursor() as cursor, archive.open(f"{table}.jsonl") as file:
            cursor.execute(f"DELETE FROM {quote(table)}")  # noqa: S608  # a model's
            while rows := [parameters(model, line.decode()) for line in islice(file, CHUNK)]:
                cursor.executemany(f"INSERT INTO {quote(table)} ({', '.join(named)}) VALUES ({values})", rows)  # noqa: S608
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), list(tables().values())):
            cursor.execute(statement)
    for table, model in tables().items():
        digest = Digest()
        for line in lines(model):
            digest.add(line)
        if digest.result() != counted[table]:
            raise Unacceptable(f"{table}: the rows differ from those of the backup; nothing was changed.")
