"""`manage.py report`: a study as one page for those who have no account here."""

from pathlib import Path
from typing import Any

from annotation.management.commands._base import StudyCommand, argument
from annotation.models import Study
from reporting.report.building import write_report


class Command(StudyCommand):
    is_audited = False  # only reads
    help = "Export a study's report to a new folder: one page, numbers and references."

    arguments = (argument("--out", required=True, type=Path, help="new folder"),)

    def run(self, study: Study, options: dict[str, Any]) -> None:
        files = write_report(study, options["out"])
        self.say("\n".join(str(options["out"] / name) for name in files))
