"""`manage.py export_preferences`: verdicts as training data, or in the forms of other tools."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import StudyCommand, argument, arguments_of, filled_by
from annotation.models import Study
from reporting.exports.elsewhere import WantedVerdicts
from reporting.refinement.given_preferences import write_preferences
from reporting.refinement.preferences_form import PreferencesForm


class Command(StudyCommand):
    is_audited = False  # only reads
    help = (
        "Export verdicts of people or judges: as training data (trl, instruction, hf), AlpacaEval annotations with "
        "a leaderboard, Arena battles or Label Studio tasks."
    )

    arguments = (
        argument("--out", required=True, type=Path, metavar="DIR", help="the folder; created if it does not exist"),
        *arguments_of(
            PreferencesForm,
            form={"flag": "--as", "required": True},
            raters={"flag": "--rater", "action": "append", "nargs": None},
            systems={"nargs": 2, "metavar": ("A", "B")},
        ),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        out = options["out"]
        settings = filled_by(PreferencesForm, options).cleaned_data
        form = settings.pop("form")
        try:
            written = write_preferences(study, out, form, WantedVerdicts(**settings))
        except OSError as error:
            raise CommandError(f"can't write to {out}: {error.strerror}") from None
        for name, rows in written.items():
            self.say(f"{out / name}: {rows:,}")
