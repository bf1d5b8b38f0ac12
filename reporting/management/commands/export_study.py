"""`manage.py export_study`: a study's ratings and judgments as files."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.core.database.snapshot import one_snapshot
from annotation.management.commands._base import StudyCommand, argument
from annotation.models import Study
from reporting.exports.files import FORMATS, KINDS, file_name, write_export


class Command(StudyCommand):
    is_audited = False  # only reads
    help = "Export a study's rows to a folder, one file for each kind."

    arguments = (
        argument(
            "--what", nargs="+", choices=tuple(KINDS), metavar="KIND", help=f"of {', '.join(KINDS)}; default: all"
        ),
        argument(
            "--format",
            choices=FORMATS,
            default="csv",
            help="csv-excel: CSV that Excel opens with umlauts; parquet needs the extra `parquet`",
        ),
        argument("--out", required=True, type=Path, help="the folder; created if it does not exist"),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        out = options["out"]
        try:
            out.mkdir(parents=True, exist_ok=True)
            with one_snapshot():
                for kind in options["what"] or KINDS:
                    path = out / file_name(kind, options["format"])
                    count = write_export(path, study, kind, options["format"])
                    self.say(f"{path}: {count} {kind}")
        except (FileExistsError, NotADirectoryError):
            raise CommandError(f"{out} is a file; --out takes a folder") from None
        except OSError as error:
            raise CommandError(f"can't write to {out}: {error.strerror}") from None
