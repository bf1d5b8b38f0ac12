"""`payments STUDY [--format csv|json] [--platforms]`."""

from typing import Any

from annotation.annotators.payments import COLUMNS, payments_of
from annotation.core.files.spreadsheet import csv_lines
from annotation.management.commands._base import StudyCommand, argument
from annotation.models import Study


class Command(StudyCommand):
    is_audited = False  # only reads
    help = "List the pay due to each rater whom the study itself pays."

    arguments = (
        argument("--format", choices=["csv", "json"], default="csv"),
        argument("--platforms", action="store_true", help="also raters whom Prolific or MTurk pays"),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        rows = payments_of(study, platforms=options["platforms"])
        if options["format"] == "json":
            self.say_json({"study": study.slug, "payments": rows})
        else:
            self.stdout.write("".join(csv_lines(rows, COLUMNS)), ending="")
