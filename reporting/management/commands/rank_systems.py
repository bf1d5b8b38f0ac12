"""rank_systems STUDY --judge NAME --run|--estimate [--design all|balanced:N|swiss|adaptive] [--settle P] [--budget N] [--step N]

[--both-orders] [--seed S] [--dataset NAME] [--sample N] [--question KEY] [--in-flight W] [--max-cost X] [--limit N] [--format text|json]
"""

from decimal import Decimal
from typing import Any

from django.core.management.base import CommandError

from analysis.adaptive import STEP
from annotation.core.counting import number_of
from annotation.management.commands._base import argument, group, one_of
from annotation.studies.questions import find_question
from annotation.studies.services import find_study
from judging.audits.on_demand import asking_alone
from judging.jobs.stopping import StopFlag
from judging.management.asking import stopping_on_signals
from judging.management.commands._runs import IN_FLIGHT, max_cost
from judging.management.commands.estimate_run import lines
from judging.management.commands.run_judge import Command as RunJudge
from judging.management.commands.run_judge import parse_money
from judging.runs.judges import find_judge
from reporting.system_ranking.asking import Spent, ask_for
from reporting.system_ranking.designs import DESIGNS, OPTIONS, WantedRanking, as_text, estimate_ranking

LEAST = {"settle": 0, "budget": 1, "step": 1, "seed": 0, "sample": 1, "limit": 1}


class Command(RunJudge):
    help = (
        "Rank a study's systems by a judge that is asked step by step: all pairs of systems, a balanced part, neighbours in the "
        "ranking (swiss), or where the ranking is the least sure (adaptive); until places are settled, or a budget is used. "
        "The same command resumes, and asks nothing twice."
    )

    arguments = (
        argument("slug", help="the study"),
        argument("--judge", required=True, metavar="NAME"),
        one_of(
            argument("--run", action="store_true", help="ask, and rank"),
            argument("--estimate", action="store_true", help="say what that would take at most, and ask nothing"),
            required=True,
        ),
        argument("--design", default="adaptive", help=f"{DESIGNS} (default: adaptive)"),
        argument(
            "--settle", type=int, default=1, metavar="P", help="stop when P places are settled (default 1; 0: never)"
        ),
        argument("--budget", type=int, metavar="N", help="comparisons at most"),
        argument(
            "--step",
            type=int,
            default=STEP,
            metavar="N",
            help=f"comparisons between two checks of the ranking (default {STEP})",
        ),
        argument("--both-orders", action="store_true", help="ask each comparison in both orders; else one is drawn"),
        argument("--seed", type=int, default=0, metavar="S", help="of instances, order and design (default 0)"),
        argument("--dataset", default="", metavar="NAME", help="only instances of this data set"),
        argument("--sample", type=int, metavar="N", help="only N instances, drawn at random"),
        argument("--question", default="", metavar="KEY", help="of several questions, the one that is asked"),
        argument("--format", choices=["json", "text"], default="text"),
        group(
            "asking the judge",
            IN_FLIGHT,
            max_cost("the run"),
            argument("--limit", type=int, metavar="N", help="ask for so many presentations this time"),
        ),
    )

    def handle(self, *args: Any, slug: str, **options: Any) -> None:
        for name, least in LEAST.items():
            if options[name] is not None and options[name] < least:
                raise CommandError(f"--{name} must be {least} or more, got {options[name]}")
        study, cap = find_study(slug), parse_money(options["max_cost"])
        wanted = WantedRanking(
            study=study,
            judge=find_judge(options["judge"]),
            question=find_question(study, options["question"]).number,
            **{name: options[name] for name in OPTIONS},
        )
        if options["run"]:
            self.ask(wanted, cap, options)
            return
        expected = estimate_ranking(wanted, limit=options["limit"])
        values = {"study": study.slug, "judge": wanted.judge.name, **expected.as_dict()}
        self.say_result(["at most:", *lines(expected, cap)], values, options)

    def ask(self, wanted: WantedRanking, cap: Decimal | None, options: dict[str, Any]) -> None:
        """Ask step by step, and print the ranking."""
        stop = StopFlag()
        settings = {"in_flight": options["in_flight"], "max_cost": cap}

        def say(spent: Spent) -> bool:
            self.stderr.write(f"{number_of(spent.asked, 'presentation')} asked")
            return True

        alone = asking_alone(study=wanted.study, judge=wanted.judge, question=wanted.question, **settings)
        with stopping_on_signals(stop), alone as run:
            found, spent = ask_for(wanted, run, stop=stop, limit=options["limit"], on_step=say)
        self.say_numbers(found, options["format"], as_text)
        if spent.ended:
            self.conclude(run, spent.ended)
