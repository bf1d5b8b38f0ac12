"""restore FILE [--replace] [--erasures LOG]"""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import CommandError
from django.db import transaction
from django.utils import timezone

from annotation.core.counting import counted, number_of
from annotation.management.commands._base import TandemCommand, argument
from annotation.privacy.erasing import erase_noted
from reporting.backups.whole import restore_backup


class Command(TandemCommand):
    is_audited = False  # it writes the log itself, as it was
    help = (
        "Restore a backup into a migrated database, as a whole or not at all. Stop the server first. Raters erased "
        "after the backup are erased again."
    )

    arguments = (
        argument("file", metavar="FILE", type=Path),
        argument("--replace", action="store_true", help="delete the database's content first"),
        argument(
            "--erasures",
            metavar="LOG",
            type=Path,
            nargs="*",
            help="logs of erasures, of each machine of the server (default: ERASURE_LOG, if it exists)",
        ),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        logs = options["erasures"]
        if logs is None:
            logs = [settings.ERASURE_LOG] if settings.ERASURE_LOG.exists() else []
        try:
            written = [line for log in logs for line in log.read_text(encoding="ascii").splitlines()]
        except OSError as error:  # before anything is changed
            raise CommandError(f"{error.filename} can't be read: {error.strerror}") from None
        with transaction.atomic():
            manifest = restore_backup(options["file"], replace=options["replace"])
            erased = erase_noted(written, at=timezone.now())
        rows = sum(table["rows"] for table in manifest["tables"].values())
        self.say(f"{number_of(rows, 'row')} restored, as of {manifest['at']}; each was compared")
        self.say(f"{counted(erased, 'raters')} erased again, by {number_of(len(logs), 'log')} of erasures")
