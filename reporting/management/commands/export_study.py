"""`manage.py export_study`: a study's ratings and judgments as files."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import TandemCommand
from annotation.studies.services import find_study
from reporting.exports.files import KINDS, write_csv, write_jsonl

WRITERS = {"csv": write_csv, "jsonl": write_jsonl}


class Command(TandemCommand):
    """Write ratings and judgments in long form, one a row."""

    help = "Write a study's ratings and judgments, one a row, into a folder."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("slug", help="the study")
        parser.add_argument("--format", choices=sorted(WRITERS), default="csv")
        parser.add_argument("--out", required=True, type=Path, help="folder for the files; made when missing")

    def handle(self, *args: Any, slug: str, out: Path, **options: Any) -> None:
        """Write each kind of row and say how many."""
        study = find_study(slug)
        try:
            out.mkdir(parents=True, exist_ok=True)
            for kind, (rows, columns) in KINDS.items():
                path = out / f"{kind}.{options['format']}"
                count = WRITERS[options["format"]](path, rows(study), columns)
                self.say(f"{path}: {count} {kind}")
        except (FileExistsError, NotADirectoryError):
            raise CommandError(f"{out} is a file; --out takes a folder") from None
        except OSError as error:
            raise CommandError(f"can't write to {out}: {error.strerror}") from None
