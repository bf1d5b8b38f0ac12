"""backup FILE"""

from pathlib import Path
from typing import Any

from django.utils import timezone

from annotation.core.counting import number_of
from annotation.management.commands._base import TandemCommand, argument
from reporting.backups.whole import write_backup
from reporting.health.views import note_sign


class Command(TandemCommand):
    is_audited = False  # only reads
    help = (
        "Write the whole database to a file, while the server runs. SQLite and PostgreSQL can restore it. The file "
        "holds personal data, but neither SECRET_KEY nor keys of endpoints and platforms."
    )

    arguments = (
        argument("file", metavar="FILE", type=Path, help="an existing file is replaced when the new one is complete"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            manifest = write_backup(options["file"], at=timezone.now())
        except Exception:
            note_sign("backup", at=timezone.now(), went_well=False)
            raise
        note_sign("backup", at=timezone.now())
        rows = sum(table["rows"] for table in manifest["tables"].values())
        self.say(
            f"{options['file']}: {number_of(rows, 'row')} of {number_of(len(manifest['tables']), 'table')}, "
            f"as of {manifest['at']}"
        )
