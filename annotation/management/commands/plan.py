"""`plan STUDY --width W [--measure win-rate|consistency] [--pairs 1,3,5] [--raters 1,2,3,5] … [--format json]`."""

from argparse import ArgumentTypeError
from typing import Any

from annotation.management.commands._base import TandemCommand, argument, group
from annotation.planning.pilots import RATERS, Assumptions, PlannedMeasure, PlanSpec
from annotation.planning.plans import plan
from annotation.planning.text import as_text
from annotation.studies.services import find_study

_PRICES = (
    *("pay_per_hit", "minutes_per_hit", "source_share"),
    *("judges", "judge_calls_per_pair", "judge_orders", "judge_cost_per_call"),
)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no list of whole numbers such as 1,3,5") from None


class Command(TandemCommand):
    is_audited = False  # only reads
    help = "Say how many instances, pairs and raters an interval of a wanted width takes, and what they cost."

    arguments = (
        argument("study", metavar="STUDY"),
        argument("--width", type=float, required=True, help="upper less lower bound, between 0 and 1"),
        argument("--measure", choices=list(PlannedMeasure), default=PlannedMeasure.WIN_RATE, type=PlannedMeasure),
        argument("--level", type=float, default=0.95, help="of the interval (default 0.95)"),
        argument("--dataset", help="needed, with --systems, where the study has several configurations"),
        argument("--systems", nargs=2, metavar=("A", "B")),
        argument(
            "--pairs",
            type=_numbers,
            default=(),
            metavar="N,N",
            help="pairs per HIT (default 1,3,5; of consistency one number, the pilot's or the study's)",
        ),
        argument("--raters", type=_numbers, default=RATERS, metavar="R,R", help="raters per HIT (default 1,2,3,5)"),
        argument("--finite", action="store_true", help="the study's instances are all there are"),
        argument("--format", choices=["json", "text"], default="text"),
        group(
            "where the variance comes from: votes of a pilot, or assumptions",
            argument(
                "--pilot-batch",
                nargs="+",
                action="extend",
                default=[],
                metavar="NAME",
                help="whose votes to estimate from (default: all of the configuration)",
            ),
            argument("--assume-win-rate", type=float, help="default 0.5"),
            argument("--assume-tie-share", type=float, help="default 0"),
            argument("--assume-consistency-sd", type=float, help="of single rating sets; default 0.45"),
            *(
                argument(
                    f"--assume-icc-{name}",
                    type=float,
                    help=f"share of the variance that comes from {name}s; default {share}",
                )
                for name, share in (("instance", "0.1; of consistency 0.2"), ("pair", "0.05"), ("rater", "0.35"))
            ),
        ),
        group(
            "costs; pay and minutes are those of the study unless given",
            argument("--pay-per-hit", type=float, help="for a HIT of the study's number of pairs"),
            argument("--minutes-per-hit", type=float),
            argument(
                "--source-share",
                type=float,
                help="share of a HIT's time for its source text (default: as in its characters)",
            ),
            argument("--judges", type=int, help="judges that rate every pair (default 0)"),
            argument("--judge-calls-per-pair", type=float, help="of one judge, in one order (default 1)"),
            argument("--judge-orders", type=int, choices=(1, 2), help="2: each pair in both orders (default 1)"),
            argument("--judge-cost-per-call", type=float, help="in the study's currency"),
        ),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        assumed = {
            name.removeprefix("assume_").removeprefix("icc_"): value
            for name, value in options.items()
            if name.startswith("assume_") and value is not None
        }
        planned = plan(
            find_study(options["study"]),
            PlanSpec(
                width=options["width"],
                measure=options["measure"],
                level=options["level"],
                dataset=options["dataset"],
                systems=tuple(options["systems"]) if options["systems"] else None,
                pairs=options["pairs"],
                raters=options["raters"],
                finite=options["finite"],
                pilot_batches=tuple(options["pilot_batch"]),
                assumptions=Assumptions(**assumed) if assumed else None,
                prices={name.removeprefix("judge_"): options[name] for name in _PRICES if options[name] is not None},
            ),
        )
        self.say_numbers(planned, options["format"], as_text)
