"""`manage.py export_preferences`: verdicts as training data, or in the forms of other tools."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.core.database.snapshot import one_snapshot
from annotation.core.errors import UnknownName
from annotation.management.commands._base import TandemCommand, argument
from annotation.models import Study
from annotation.studies.questions import find_question
from annotation.studies.services import find_study
from reporting.exports.elsewhere import WRITERS, WantedVerdicts
from reporting.logic.preferences import PEOPLE, Chosen, read_preferences
from reporting.logic.training_files import FORMS, AsGiven, Options, write_ties, write_training_data

FILES = {"trl": "preferences.jsonl", "instruction": "instructions.jsonl", "hf": ""}


class Command(TandemCommand):
    help = (
        "Write the verdicts of people or judges, as they were given, into a folder: as training data (trl, instruction, "
        "hf), or as AlpacaEval's annotations with a leaderboard, Arena battles or Label Studio's tasks."
    )

    arguments = (
        argument("slug", help="the study"),
        argument("--as", dest="form", choices=(*FORMS, *WRITERS), required=True),
        argument("--out", required=True, type=Path, metavar="DIR", help="the folder; made when missing"),
        argument("--rater", action="append", default=[], help="people (default) or judge:NAME; may be repeated"),
        argument("--dataset", default="", help="only this data set"),
        argument("--question", default="", metavar="KEY", help="of several questions, the one that is used"),
        argument("--stage", choices=["first", "revised"], default="first", help="people's votes of this stage"),
    )

    def handle(self, *args: Any, slug: str, out: Path, form: str, **options: Any) -> None:
        study, raters = find_study(slug), tuple(options["rater"]) or (PEOPLE,)
        number = find_question(study, options["question"]).number
        _refuse_unknown(study, raters)
        try:
            out.mkdir(parents=True, exist_ok=True)
            with one_snapshot():
                if form in WRITERS:
                    wanted = WantedVerdicts(raters, options["dataset"], options["question"], options["stage"])
                    written = WRITERS[form](study, out, wanted)
                else:
                    written = _train(study, out, form, Chosen(raters, number, options["stage"], options["dataset"]))
        except OSError as error:
            raise CommandError(f"can't write to {out}: {error.strerror}") from None
        for name, rows in written.items():
            self.say(f"{out / name}: {rows:,}")


def _train(study: Study, out: Path, form: str, chosen: Chosen) -> dict[str, int]:
    given = AsGiven(read_preferences(study, chosen))
    question = study.questions[chosen.question].text
    path = out / FILES[form] if FILES[form] else out
    written = write_training_data(given, path, title=study.title, question=question, options=Options(form))
    if form == "trl":
        written[str(out / "ties.jsonl")] = write_ties(given, out / "ties.jsonl")
    return {Path(name).name: rows for name, rows in written.items()}


def _refuse_unknown(study: Study, raters: tuple[str, ...]) -> None:
    """Refuse a name that is neither people nor a judge of the study.

    Raises: UnknownName.
    """
    known = [PEOPLE, *(f"judge:{name}" for name in study.judge_runs.values_list("judge__name", flat=True).distinct())]
    if strangers := [name for name in raters if name not in known]:
        raise UnknownName(
            f"study {study.slug} has no ratings by {', '.join(strangers)}; it has those of {', '.join(known)}"
        )
