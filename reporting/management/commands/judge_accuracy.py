"""`manage.py judge_accuracy`: how often judges are right, on standard output."""

import json
from typing import Any

from annotation.core.files.spreadsheet import csv_lines
from annotation.management.commands._base import SEED, StudyCommand, argument
from annotation.models import Study
from reporting.accuracy import files
from reporting.accuracy.accuracies import judge_accuracy

FORMATS = ("text", "json", "csv", "wordings", "latex")


class Command(StudyCommand):
    is_audited = False  # only reads
    help = "Print each judge's accuracy on every data set and tag of a study with gold labels."

    arguments = (
        argument("--format", choices=FORMATS, default="text", help="wordings: the table over wordings as CSV"),
        SEED,
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        numbers = judge_accuracy(study, seed=options["seed"])
        if options["format"] == "json":
            self.say(json.dumps(numbers, ensure_ascii=False, allow_nan=False, indent=1))
        elif options["format"] == "csv":
            rows = files.csv_rows(numbers)
            self.stdout.write("".join(csv_lines(rows, files.COLUMNS)), ending="")
        elif options["format"] == "wordings":
            rows = files.wording_rows(numbers)
            self.stdout.write("".join(csv_lines(rows, files.WORDING_COLUMNS)), ending="")
        elif options["format"] == "latex":
            self.stdout.write(files.latex(numbers), ending="")
        else:
            self.stdout.write(files.text(numbers), ending="")
