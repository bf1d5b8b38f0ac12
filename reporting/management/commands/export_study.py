"""`manage.py export_study`: a study's ratings and judgments as files."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import TandemCommand, argument
from annotation.studies.services import find_study
from reporting.exports.files import KINDS, write_csv, write_jsonl

WRITERS = {"csv": write_csv, "jsonl": write_jsonl}


class Command(TandemCommand):
    help = "Write a study's ratings and judgments, one a row, into a folder."

    arguments = (
        argument("slug", help="the study"),
        argument("--format", choices=sorted(WRITERS), default="csv"),
        argument("--out", required=True, type=Path, help="folder for the files; made when missing"),
    )

    def handle(self, *args: Any, slug: str, out: Path, **options: Any) -> None:
        study = find_study(slug)
        try:
            out.mkdir(parents=True, exist_ok=True)
            for kind, (rows, columns) in KINDS.items():
                path = out / f"{kind}.{options['format']}"
                count = WRITERS[options["format"]](path, rows(study), columns(study))
                self.say(f"{path}: {count} {kind}")
        except (FileExistsError, NotADirectoryError):
            raise CommandError(f"{out} is a file; --out takes a folder") from None
        except OSError as error:
            raise CommandError(f"can't write to {out}: {error.strerror}") from None
