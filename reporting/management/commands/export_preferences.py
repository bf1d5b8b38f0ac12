"""`manage.py export_preferences`: verdicts as training data, or in the forms of other tools."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import TandemCommand, argument
from annotation.studies.services import find_study
from reporting.exports.elsewhere import WantedVerdicts
from reporting.logic.preferences import PEOPLE
from reporting.refinement.given_preferences import FORMS, write_preferences


class Command(TandemCommand):
    is_audited = False  # only reads
    help = (
        "Write the verdicts of people or judges, as they were given, into a folder: as training data (trl, instruction, "
        "hf), or as AlpacaEval's annotations with a leaderboard, Arena battles or Label Studio's tasks."
    )

    arguments = (
        argument("slug", help="the study"),
        argument("--as", dest="form", choices=FORMS, required=True),
        argument("--out", required=True, type=Path, metavar="DIR", help="the folder; made when missing"),
        argument("--rater", action="append", default=[], help="people (default) or judge:NAME; may be repeated"),
        argument("--dataset", default="", help="only this data set"),
        argument("--systems", nargs=2, default=(), metavar=("A", "B"), help="only pairs of these two systems"),
        argument("--question", default="", metavar="KEY", help="of several questions, the one that is used"),
        argument("--stage", choices=["first", "revised"], default="first", help="people's votes of this stage"),
    )

    def handle(self, *args: Any, slug: str, out: Path, form: str, **options: Any) -> None:
        raters = tuple(options["rater"]) or (PEOPLE,)
        filters = {name: options[name] for name in ("dataset", "question", "stage", "systems")}
        selection = WantedVerdicts(raters, **filters)
        try:
            written = write_preferences(find_study(slug), out, form, selection)
        except OSError as error:
            raise CommandError(f"can't write to {out}: {error.strerror}") from None
        for name, rows in written.items():
            self.say(f"{out / name}: {rows:,}")
