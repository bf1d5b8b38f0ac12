"""`manage.py report`: a study as one page for those who have no account here."""

from pathlib import Path
from typing import Any

from annotation.management.commands._base import TandemCommand, argument
from annotation.studies.services import find_study
from reporting.report.building import write_report


class Command(TandemCommand):
    is_audited = False  # only reads
    help = "Write a study's report into a new folder: a page that stands alone, numbers and references."

    arguments = (
        argument("slug", help="the study"),
        argument("--out", required=True, type=Path, help="the folder, which must not be there yet"),
    )

    def handle(self, *args: Any, slug: str, out: Path, **options: Any) -> None:
        files = write_report(find_study(slug), out)
        self.say("\n".join(str(out / name) for name in files))
