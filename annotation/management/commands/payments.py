"""`payments STUDY [--format csv|json] [--platforms]`."""

from typing import Any

from annotation.annotators.payments import COLUMNS, payment_rows, payments_of
from annotation.core.files.spreadsheet import csv_lines
from annotation.management.commands._base import TandemCommand, argument
from annotation.studies.services import find_study


class Command(TandemCommand):
    is_audited = False  # only reads
    help = "List the pay due to each rater whom the study itself pays."

    arguments = (
        argument("study", metavar="STUDY"),
        argument("--format", choices=["csv", "json"], default="csv"),
        argument("--platforms", action="store_true", help="also raters whom Prolific or MTurk pays"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        rows = payment_rows(payments_of(study, platforms=options["platforms"]))
        if options["format"] == "json":
            self.say_json({"study": study.slug, "payments": rows})
        else:
            self.stdout.write("".join(csv_lines(rows, COLUMNS)), ending="")
