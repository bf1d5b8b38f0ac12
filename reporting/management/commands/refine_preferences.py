"""`manage.py refine_preferences`: training data from repaired preferences."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import StudyCommand, argument, arguments_of, filled_by
from annotation.models import Study
from reporting.refinement.preferences_form import RefineForm
from reporting.refinement.refining import write_refined


class Command(StudyCommand):
    is_audited = False  # only reads
    help = "Rank each instance's texts by a study's ratings, and export all implied preferences as training data."

    arguments = (
        argument("--out", required=True, type=Path, help="the file, or for --as hf the folder"),
        *arguments_of(
            RefineForm,
            form={"flag": "--as"},
            raters={"flag": "--rater", "action": "append", "nargs": None},
            held_out={"metavar": "SHARE"},
        ),
        argument("--format", choices=["json", "text"], default="text", help="format of the printed report"),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        out = options["out"]
        repair, written = filled_by(RefineForm, options).repair()
        try:
            numbers = write_refined(study, out, repair, written)
        except OSError as error:
            raise CommandError(f"can't write to {out}: {error.strerror}") from None
        self.say_numbers(numbers, options["format"])
