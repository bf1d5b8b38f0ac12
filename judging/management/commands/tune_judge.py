"""tune_judge STUDY --judge NAME --budget N [--estimate] [--name NEW] [--method M …] [--prompt NAME …] [--shots K …]

[--held-out S] [--question KEY] [--seed N] [--max-cost X] [--in-flight W] [--format text|json]
"""

from typing import Any

from annotation.core.counting import number_of
from annotation.management.commands._base import TandemCommand, argument
from annotation.studies.questions import find_question
from annotation.studies.services import find_study
from judging.core.pricing import cost_line
from judging.management.asking import asking
from judging.management.commands._runs import IN_FLIGHT, max_cost
from judging.management.commands.add_judge import prompt_named
from judging.management.commands.run_judge import parse_money
from judging.runs.judges import find_judge
from judging.tuning.candidates import METHODS, SHOTS
from judging.tuning.planning import HELD_OUT, TuningEstimate, TuningSettings, estimate_tuning
from judging.tuning.searching import TuningStopped, tune
from judging.tuning.services import default_name, start_tuning
from judging.tuning.text import as_json, lines_of


class Command(TandemCommand):
    help = (
        "Choose the wording, method, examples and tie threshold with which a judge agrees best with people's votes "
        "on some instances. Compare it with the untuned judge on the others. Repeat the command to resume; no call "
        "is repeated."
    )

    arguments = (
        argument("slug", metavar="STUDY", help="the study"),
        argument("--judge", required=True, metavar="NAME", help="the judge to tune, which stays as it is"),
        argument(
            "--budget",
            required=True,
            type=int,
            metavar="N",
            help="most presentations, all candidates together",
        ),
        argument("--estimate", action="store_true", help="print estimated calls, tokens and cost, and make no call"),
        argument("--name", default="", metavar="NEW", help="name of the tuned judge (default: NAME-tuned)"),
        argument(
            "--method",
            nargs="+",
            default=list(METHODS),
            metavar="M",
            help=f"methods to try (default: {' '.join(METHODS)})",
        ),
        argument("--prompt", nargs="+", default=[], metavar="NAME[:VERSION]", help="prompt files of your own to try"),
        argument(
            "--shots",
            nargs="*",
            type=int,
            default=list(SHOTS),
            metavar="K",
            help="numbers of examples from the votes to try with few-shot (default: 1 3 5)",
        ),
        argument("--held-out", type=float, default=HELD_OUT, metavar="S", help=f"share of the instances ({HELD_OUT})"),
        argument("--question", default="", metavar="KEY", help="question to tune on (default: the main one)"),
        argument("--seed", type=int, default=0, metavar="S", help="draws the split (0)"),
        max_cost("all of it together"),
        IN_FLIGHT,
        argument("--format", choices=["text", "json"], default="text"),
    )

    def handle(self, *args: Any, slug: str, **options: Any) -> None:
        settings = tuning_of(slug, options)
        cap = parse_money(options["max_cost"])
        if options["estimate"]:
            estimate = estimate_tuning(settings)
            sentences = [*lines(estimate), cost_line(estimate.cost, estimate.currency, total=estimate.cost, cap=cap)]
            self.say_result(sentences, {"study": slug, "judge": settings.judge.name, **as_json(estimate)}, options)
            return
        name = options["name"] or default_name(settings.judge)
        tuning = start_tuning(settings, name=name, in_flight=options["in_flight"], max_cost=cap)
        if tuning.ended_at is None:
            with asking(self.stderr, also=TuningStopped) as work:
                tune(tuning, stop=work.stop, on_progress=work.meter)
            work.conclude()
        self.say_result(lines_of(tuning), as_json(tuning), options)


def lines(estimate: TuningEstimate) -> list[str]:
    """Format an estimate."""
    rounds = ", then ".join(
        f"{candidates} on {number_of(instances, 'instance')}" for candidates, instances in estimate.rounds
    )
    return [
        f"candidates: {rounds}, of {estimate.choosing} to choose on; {estimate.held_out} are held out",
        f"presentations: at most {estimate.presentations:,}; calls: about {estimate.calls:,}",
    ]


def tuning_of(slug: str, options: dict[str, Any]) -> TuningSettings:
    """Return what the options ask for.

    Raises: UnknownStudy, UnknownJudge, UnknownName
    """
    study = find_study(slug)
    prompts = [prompt for name in options["prompt"] if (prompt := prompt_named(name)) is not None]
    return TuningSettings(
        study=study,
        judge=find_judge(options["judge"]),
        budget=options["budget"],
        methods=options["method"],
        prompts=prompts,
        shots=options["shots"],
        held_out=options["held_out"],
        seed=options["seed"],
        question=find_question(study, options["question"]).number,
    )
