"""`manage.py repair_noise`: how much noise a repair of preferences takes back."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from analysis.refinement import EQUAL_RATINGS
from annotation.management.commands._base import TandemCommand, argument
from annotation.models import Rating
from annotation.studies.services import find_study
from reporting.core.charts import to_png, to_svg
from reporting.exports.elsewhere import WantedVerdicts
from reporting.logic.preferences import PEOPLE
from reporting.refinement.noise import as_text, noise_chart
from reporting.refinement.refining import Repair, noise_of

PICTURES = {".svg": lambda spec: to_svg(spec).encode(), ".png": to_png}


class Command(TandemCommand):
    help = "Turn a share of a study's preferences around at random, repair them, and compare with the original ones."

    arguments = (
        argument("slug", help="the study"),
        argument(
            "--flip", action="append", type=float, default=[], metavar="PERCENT", help="may be repeated (default 10)"
        ),
        argument("--draws", type=int, default=100, help="for each percentage (default 100)"),
        argument("--rater", action="append", default=[], help="people (default) or judge:NAME; may be repeated"),
        argument("--dataset", default="", help="only this data set"),
        argument("--question", default="", metavar="KEY", help="of several questions, the one that is used"),
        argument("--stage", choices=Rating.Stage.values, default="first", help="people's votes of this stage"),
        argument("--method", choices=list(EQUAL_RATINGS), default="win_loss", help="scores that the ranking is by"),
        argument("--seed", type=int, default=0, help="of the draws (default 0)"),
        argument("--picture", type=Path, metavar="FILE", help="draw the curve into this .svg or .png"),
        argument("--format", choices=["json", "text"], default="text"),
    )

    def handle(self, *args: Any, slug: str, **options: Any) -> None:
        study, picture = find_study(slug), options["picture"]
        percents = options["flip"] or [10.0]
        if wrong := [percent for percent in percents if not 0 <= percent <= 100]:
            raise CommandError(f"--flip {wrong[0]}: a percentage is from 0 to 100")
        if options["draws"] < 1 or options["seed"] < 0:
            raise CommandError("--draws is 1 or more, --seed 0 or more")
        if picture and picture.suffix not in PICTURES:
            raise CommandError(f"--picture {picture}: name a file that ends in {' or '.join(PICTURES)}")
        raters = tuple(options["rater"]) or (PEOPLE,)
        wanted = WantedVerdicts(raters, options["dataset"], options["question"], options["stage"])
        flips = [percent / 100 for percent in percents]
        found = noise_of(study, Repair(wanted, options["method"], options["seed"]), flips, draws=options["draws"])
        if picture:
            try:
                picture.write_bytes(PICTURES[picture.suffix](noise_chart(found)))
            except OSError as error:
                raise CommandError(f"can't write to {picture}: {error.strerror}") from None
        self.say_numbers(found, options["format"], as_text)
