"""`manage.py report`: a study as one page for those who have no account here."""

from pathlib import Path
from typing import Any

from annotation.management.commands._base import TandemCommand, argument
from annotation.studies.services import find_study
from reporting.report.building import write_report


class Command(TandemCommand):
    is_audited = False  # only reads
    help = "Export a study's report to a new folder: one page, numbers and references."

    arguments = (
        argument("slug", help="the study"),
        argument("--out", required=True, type=Path, help="new folder"),
    )

    def handle(self, *args: Any, slug: str, out: Path, **options: Any) -> None:
        files = write_report(find_study(slug), out)
        self.say("\n".join(str(out / name) for name in files))
