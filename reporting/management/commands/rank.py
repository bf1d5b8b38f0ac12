"""rank STUDY --judge NAME; --run asks for what is not stored"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.core.counting import number_of
from annotation.core.tasks.stopping import StopFlag
from annotation.management.commands._base import StudyCommand, argument, group, one_of, whole
from annotation.models import Study
from judging.management.asking import stopping_on_signals
from judging.management.commands._runs import IN_FLIGHT, LIMIT, cost_of, max_cost
from judging.management.commands.run_judge import RunCommand
from reporting.core.charts import to_png, to_svg
from reporting.logic.live_ranking import RankingProgress, rank_by_asking
from reporting.logic.ranking import METHODS, ranking_chart
from reporting.logic.ranking_estimates import estimate_asking
from reporting.logic.stored_ranking import ASKING, SEEDS, STORED, TextRanking, rank_stored

PICTURES = {".svg": lambda spec: to_svg(spec).encode(), ".png": to_png}
ONLY_WHEN_ASKING = ("in_flight", "max_cost", "limit")


class Command(RunCommand, StudyCommand):
    help = (
        "Rank the texts of each instance by a judge's answers (PairS, PairS with a beam, Swiss pairing, all pairs). "
        "Print the comparisons used and rank correlations with gold or people. --run asks the judge for missing "
        "answers; repeat to resume, no call is repeated."
    )

    arguments = (
        argument("--judge", metavar="NAME", help="default: the only judge with answers"),
        argument(
            "--method",
            action="append",
            choices=list(METHODS),
            default=[],
            help="may be repeated (default: all; with --run pairs)",
        ),
        argument("--calibrate", action="store_true", help="each comparison is the mean of both orders"),
        argument(
            "--seeds",
            type=whole(1),
            metavar="N",
            help=f"orders in which the texts come (default {SEEDS}; with --run 1)",
        ),
        argument("--question", default="", metavar="KEY", help="question (default: the main one)"),
        argument("--dataset", default="", metavar="NAME", help="only instances of this data set"),
        argument("--sample", type=whole(1), metavar="N", help="number of instances, drawn at random (default: all)"),
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
            IN_FLIGHT,
            max_cost("the run"),
            LIMIT,
        ),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        picture, cap, live = options["picture"], options["max_cost"], options["run"] or options["estimate"]
        _check(options, live=live)
        text_ranking = _wanted(options, live=live)
        if not live:
            self.show(rank_stored(study, text_ranking), picture, options["format"])
            return
        if options["estimate"]:
            judge, expected = estimate_asking(study, text_ranking, limit=options["limit"])
            values = {"study": study.slug, "judge": judge.name, **expected.as_dict()}
            self.say_document(values, options, f"at most; {cost_of(expected, cap)}")
            return
        stop, limits = StopFlag(), {name: options[name] for name in ("in_flight", "limit")}
        with stopping_on_signals(stop):
            ranking = rank_by_asking(study, text_ranking, stop=stop, max_cost=cap, on_step=self.in_tenths(), **limits)
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


def _wanted(options: dict[str, Any], *, live: bool) -> TextRanking:
    usual = ASKING if live else STORED
    return TextRanking(
        options["judge"] or "",
        methods=list(dict.fromkeys(options["method"])) or usual["methods"],
        seeds=options["seeds"] or usual["seeds"],
        **{name: options[name] for name in ("calibrate", "question", "dataset", "sample")},
    )
