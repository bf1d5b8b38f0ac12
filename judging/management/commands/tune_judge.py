"""tune_judge STUDY --judge NAME --budget N"""

from dataclasses import asdict
from typing import Any

from annotation.management.commands._base import StudyCommand, argument
from annotation.management.commands._settings import FORMAT
from annotation.models import Study
from annotation.studies.questions import find_question
from judging.management.asking import asking
from judging.management.commands._runs import ESTIMATE, IN_FLIGHT, cost_of, max_cost
from judging.management.commands.add_judge import prompt_named
from judging.models import JudgeTuning
from judging.runs.judges import find_judge
from judging.tuning.candidates import METHODS, SHOTS
from judging.tuning.planning import HELD_OUT, TuningEstimate, TuningSettings, estimate_tuning
from judging.tuning.searching import TuningStopped, tune
from judging.tuning.services import default_name, start_tuning


class Command(StudyCommand):
    help = (
        "Choose the wording, method, examples and tie threshold with which a judge agrees best with people's votes "
        "on some instances. Compare it with the untuned judge on the others. Repeat the command to resume; no call "
        "is repeated."
    )

    arguments = (
        argument("--judge", required=True, metavar="NAME", help="the judge to tune, which stays as it is"),
        argument(
            "--budget",
            required=True,
            type=int,
            metavar="N",
            help="most presentations, all candidates together",
        ),
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
        *(IN_FLIGHT, ESTIMATE, FORMAT),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        settings, cap = tuning_of(study, options), options["max_cost"]
        if options["estimate"]:
            estimate = estimate_tuning(settings)
            values = {"study": study.slug, "judge": settings.judge.name, **as_json(estimate)}
            self.say_document(values, options, cost_of(estimate, cap))
            return
        name = options["name"] or default_name(settings.judge)
        tuning = start_tuning(settings, name=name, in_flight=options["in_flight"], max_cost=cap)
        if tuning.ended_at is None:
            with asking(self.stderr, also=TuningStopped) as work:
                tune(tuning, stop=work.stop, on_progress=work.meter)
            work.conclude()
        self.say_document(as_json(tuning), options)


def tuning_of(study: Study, options: dict[str, Any]) -> TuningSettings:
    """Return what the options ask for.

    Raises: UnknownJudge, UnknownName
    """
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


def as_json(tuning: JudgeTuning | TuningEstimate) -> dict[str, Any]:
    """Return everything for JSON."""
    if isinstance(tuning, TuningEstimate):
        return {**asdict(tuning), "cost": None if tuning.cost is None else float(tuning.cost)}
    names = ("name", "question", "settings", "status", "message", "found")
    description = {
        "study": tuning.study.slug,
        "judge": tuning.judge.name,
        "tuned": tuning.tuned.name if tuning.tuned else None,
    }
    return {**description, **{name: getattr(tuning, name) for name in names}, "rounds": tuning.plan["rounds"]}
