"""Restore a backup, on either engine: all of it, compared row by row, or nothing."""

import json
import zipfile
from itertools import islice
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core.management.color import no_style
from django.db import connection, transaction

from annotation.core.errors import Unacceptable
from annotation.core.system_checks import unapplied_migrations
from annotation.models import Study
from reporting.backups.rows import CHUNK, Digest, columns, lines, parameters, tables
from reporting.backups.writing import FORMAT, MANIFEST, applied_migrations
from reporting.models import DataChanges


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
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
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
