"""rank STUDY --judge NAME; --run asks for what is not stored"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.core.counting import number_of
from annotation.core.tasks.stopping import StopFlag
from annotation.management.commands._base import argument, arguments_of, group, one_of
from annotation.models import Study
from judging.management.asking import stopping_on_signals
from judging.management.commands._runs import REPEATED, AskingCommand
from judging.management.commands.run_judge import RunCommand
from reporting.core.charts import to_png, to_svg
from reporting.logic.forms import RankForm
from reporting.logic.live_ranking import RankingProgress, rank_by_asking
from reporting.logic.ranking import ranking_chart
from reporting.logic.stored_ranking import estimate_asking, rank_stored

PICTURES = {".svg": lambda spec: to_svg(spec).encode(), ".png": to_png}
ONLY_WHEN_ASKING = ("in_flight", "max_cost", "limit")


class Command(RunCommand, AskingCommand):
    help = (
        "Rank the texts of each instance by a judge's answers (PairS, PairS with a beam, Swiss pairing, all pairs). "
        "Print the comparisons used and rank correlations with gold or people. --run asks the judge for missing "
        "answers; repeat to resume, no call is repeated."
    )

    arguments = (
        *arguments_of(RankForm, exclude=ONLY_WHEN_ASKING, methods={"flag": "--method", **REPEATED}),
        argument(
            "--picture", type=Path, metavar="FILE", help="draw correlations and comparisons into this .svg or .png"
        ),
        argument("--format", choices=["json", "text"], default="text"),
        group(
            "asking the judge",
            one_of(
                argument("--run", action="store_true", help="ask for missing comparisons"),
                argument(
                    "--estimate", action="store_true", help="print the most calls, tokens and cost, and make no call"
                ),
            ),
            *arguments_of(RankForm, only=ONLY_WHEN_ASKING),
        ),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        picture, live = options["picture"], options["run"] or options["estimate"]
        _check(options, live=live)
        form = self.form_of(RankForm, study, options)
        text_ranking = form.ranking(is_asking=live)
        if not live:
            self.show(rank_stored(study, text_ranking), picture, options["format"])
            return
        if options["estimate"]:
            judge, expected = estimate_asking(study, text_ranking, limit=form.cleaned_data["limit"])
            self.say_estimate(form, expected, options, note="at most; ", judge=judge.name)
            return
        stop = StopFlag()
        with stopping_on_signals(stop):
            bounds = form.named(*ONLY_WHEN_ASKING)
            ranking = rank_by_asking(study, text_ranking, stop=stop, on_step=self.in_tenths(), **bounds)
        self.show(ranking.found, picture, options["format"])
        if ranking.asking.ended:
            self.conclude(ranking.run, ranking.asking.ended)

    def show(self, ranking: dict[str, Any], picture: Path | None, form: str) -> None:
        """Print the rankings, and draw them."""
        if picture:
            try:
                picture.write_bytes(PICTURES[picture.suffix](ranking_chart(ranking)))
            except OSError as error:
                raise CommandError(f"can't write to {picture}: {error.strerror}") from None
        self.say_numbers(ranking, form)

    def in_tenths(self) -> Callable[[RankingProgress], None]:
        """Return a reporter of how far rankings are, which speaks after each tenth of them."""
        last_tenth = [0]

        def say(progress: RankingProgress) -> None:
            if (tenths := 10 * (progress.sorts - progress.unfinished) // max(1, progress.sorts)) > last_tenth[0]:
                last_tenth[0] = tenths
                self.stderr.write(
                    f"{progress.finished} of {number_of(progress.sorts, 'ranking')}, "
                    f"{number_of(progress.asked, 'presentation')} asked"
                )

        return say


def _check(options: dict[str, Any], *, live: bool) -> None:
    if not live and (
        unused := [f"--{name.replace('_', '-')}" for name in ONLY_WHEN_ASKING if options[name] is not None]
    ):
        raise CommandError(f"{', '.join(unused)}: these need --run or --estimate")
    picture = options["picture"]
    if picture and options["estimate"]:
        raise CommandError("--picture: an estimate has no rankings to draw")
    if picture and picture.suffix not in PICTURES:
        raise CommandError(f"--picture {picture}: name a file that ends in {' or '.join(PICTURES)}")
