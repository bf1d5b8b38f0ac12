"""`manage.py verify_bundle`: whether a bundle's numbers follow from its rows."""

from pathlib import Path
from typing import Any

from annotation.management.commands._base import TandemCommand, argument
from reporting.bundle.archives import unpacked
from reporting.bundle.verifying import verify_bundle


class Command(TandemCommand):
    is_audited = False  # only reads
    help = "Check a bundle's files, and compute its numbers again from its rows, without the database."

    arguments = (argument("folder", type=Path, help="the bundle: a folder, or the ZIP archive of the page of files"),)
    requires_migrations_checks = False  # it may stand anywhere, without a database

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        with unpacked(folder) as opened:
            self.say(f"{folder}: {verify_bundle(opened).result}")
