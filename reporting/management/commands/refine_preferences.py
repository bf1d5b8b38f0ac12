"""`manage.py refine_preferences`: training data from repaired preferences."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from analysis.ranking.refinement import EQUAL_RATINGS
from annotation.management.commands._base import SEED, StudyCommand, argument
from annotation.models import Rating, Study
from reporting.exports.elsewhere import WantedVerdicts
from reporting.logic.preferences import PEOPLE
from reporting.refinement.refining import Repair, write_refined
from reporting.refinement.training_files import FORMS, Options


class Command(StudyCommand):
    is_audited = False  # only reads
    help = "Rank each instance's texts by a study's ratings, and export all implied preferences as training data."

    arguments = (
        argument("--out", required=True, type=Path, help="the file, or for --as hf the folder"),
        argument(
            "--as", dest="form", choices=FORMS, default="trl", help="rows of prompt, chosen, rejected (default), ..."
        ),
        argument("--rater", action="append", default=[], help="people (default) or judge:NAME; may be repeated"),
        argument("--dataset", default="", help="only this data set"),
        argument("--question", default="", metavar="KEY", help="question (default: the main one)"),
        argument("--stage", choices=Rating.Stage.values, default="first", help="people's votes in this stage"),
        argument("--method", choices=list(EQUAL_RATINGS), default="win_loss", help="scores to rank by"),
        argument(
            "--negated",
            action="store_true",
            help="also a row with the negated question and the other text as answer",
        ),
        argument("--down-sample", action="store_true", help="as many rows as given preferences"),
        argument(
            "--held-out", type=float, default=0.0, metavar="SHARE", help="share of instances held out for testing"
        ),
        SEED,
        argument("--format", choices=["json", "text"], default="text", help="format of the printed report"),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        if not 0 <= options["held_out"] < 1:
            raise CommandError(f"--held-out {options['held_out']}: a share is at least 0 and below 1")
        raters = tuple(options["rater"]) or (PEOPLE,)
        selection = WantedVerdicts(raters, options["dataset"], options["question"], options["stage"])
        written = Options(
            options["form"], options["negated"], options["down_sample"], options["held_out"], options["seed"]
        )
        out = options["out"]
        try:
            numbers = write_refined(study, out, Repair(selection, options["method"], options["seed"]), written)
        except OSError as error:
            raise CommandError(f"can't write to {out}: {error.strerror}") from None
        self.say_numbers(numbers, options["format"])
