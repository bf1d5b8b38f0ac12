"""rank STUDY --judge NAME [--method pairs|pairs-beam|swiss|all-pairs …] [--calibrate] [--seeds N] [--question KEY]

[--dataset NAME] [--sample N] [--picture FILE] [--format text|json], and to ask for what is not stored:
--run|--estimate [--in-flight W] [--max-cost X] [--limit N]
"""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import argument, group, one_of
from annotation.models import Generation, Study
from annotation.studies.questions import find_question
from annotation.studies.services import find_study
from judging.audits.on_demand import asking_alone
from judging.audits.services import place_in_draw
from judging.jobs.stopping import StopFlag
from judging.management.asking import stopping_on_signals
from judging.management.commands.estimate_run import lines
from judging.management.commands.run_judge import Command as RunJudge
from judging.management.commands.run_judge import parse_money
from judging.models import Judge, JudgeRun
from judging.runs.judges import find_judge
from judging.runs.usage import usage_of
from reporting.core.charts import to_png, to_svg
from reporting.core.estimates import IntervalSettings
from reporting.logic.live_ranking import Asking, ask_rankings, estimate_rankings
from reporting.logic.presentations import judge_presentations, targets
from reporting.logic.ranking import (
    METHODS,
    Known,
    RankingAnswers,
    as_text,
    probabilities,
    rank_sets,
    ranking_chart,
    reference_scores,
)
from reporting.logic.study_audit import judges_audited
from reporting.logic.text_sets import Pairs, TextSet, read_text_sets

PICTURES = {".svg": lambda spec: to_svg(spec).encode(), ".png": to_png}
SEEDS = 100  # of stored answers
ONLY_WHEN_ASKING = ("in_flight", "max_cost", "limit")


class Command(RunJudge):
    help = (
        "Rank the texts of each instance by a judge's answers: PairS, PairS with a beam, Swiss pairing, all pairs; with the "
        "comparisons each takes, and rank correlations with gold or people. By stored answers alone, or with --run asking "
        "the judge for those that are missing (the same command resumes, and asks nothing twice)."
    )

    arguments = (
        argument("slug", help="the study"),
        argument("--judge", metavar="NAME", help="may be left out where one judge alone has answers"),
        argument(
            "--method",
            action="append",
            choices=list(METHODS),
            default=[],
            help="may be repeated (default: all; with --run pairs)",
        ),
        argument("--calibrate", action="store_true", help="each comparison is the mean of both orders"),
        argument(
            "--seeds", type=int, metavar="N", help=f"orders in which the texts come (default {SEEDS}; with --run 1)"
        ),
        argument("--question", default="", metavar="KEY", help="of several questions, the one that is used"),
        argument("--dataset", default="", metavar="NAME", help="only instances of this data set"),
        argument("--sample", type=int, metavar="N", help="about N instances, drawn at random (default: all)"),
        argument(
            "--picture", type=Path, metavar="FILE", help="draw correlations and comparisons into this .svg or .png"
        ),
        argument("--format", choices=["json", "text"], default="text"),
        group(
            "asking the judge",
            one_of(
                argument("--run", action="store_true", help="ask for the comparisons that the rankings lack"),
                argument("--estimate", action="store_true", help="say what that would take at most, and ask nothing"),
            ),
            argument("--in-flight", type=int, metavar="W", help="calls at the same time (default: 8)"),
            argument("--max-cost", metavar="X", help="stop before the run has cost more than this"),
            argument("--limit", type=int, metavar="N", help="ask for so many presentations this time"),
        ),
    )

    def handle(self, *args: Any, slug: str, **options: Any) -> None:
        study, picture, live = find_study(slug), options["picture"], options["run"] or options["estimate"]
        cap = parse_money(options["max_cost"])
        _check(options, live=live)
        question = find_question(study, options["question"]).number
        judge = _judge(study, options["judge"], question, live=live)
        sets, pairs = _text_sets(study, judge, options)
        wanted = _wanted(options, live=live)
        if options["estimate"]:
            expected = estimate_rankings(study, judge, sets, question=question, limit=options["limit"], **wanted)
            values = {"study": study.slug, "judge": judge.name, **expected.as_dict()}
            self.say_result(["at most:", *lines(expected, cap)], values, options)
            return
        target = targets(study, question=question)
        known = probabilities(judge_presentations(study, judge, target, question=question))
        asking, run = None, None
        if live:
            settings = {"in_flight": options["in_flight"], "max_cost": cap}
            with asking_alone(study=study, judge=judge, question=question, **settings) as run:
                asking = self.ask(run, sets, pairs, known, wanted, options["limit"])
        else:
            answered = {text for shown in known for text in shown}
            sets = [one for one in sets if not answered.isdisjoint(one.texts)]
        names = dict(Generation.objects.filter(instance__study=study).values_list("pk", "system__name"))
        answers = RankingAnswers(known, reference_scores(target), names, turnable=not live)
        found = {
            "study": study.slug,
            "rater": f"judge:{judge.name}",
            **rank_sets(sets, answers, IntervalSettings(), **wanted),
            **({"run": _asked(run, asking)} if run and asking else {}),
        }
        self.show(found, picture, options["format"])
        if run and asking and asking.ended:
            self.conclude(run, asking.ended)

    def show(self, found: dict[str, Any], picture: Path | None, form: str) -> None:
        """Print the rankings, and draw them."""
        if picture:
            try:
                picture.write_bytes(PICTURES[picture.suffix](ranking_chart(found)))
            except OSError as error:
                raise CommandError(f"can't write to {picture}: {error.strerror}") from None
        self.say_numbers(found, form, as_text)

    def ask(
        self,
        run: JudgeRun,
        sets: list[TextSet],
        pairs: Pairs,
        known: Known,
        wanted: dict[str, Any],
        limit: int | None,
    ) -> Asking:
        """Ask for what the rankings lack, and say how far they are after each tenth of them."""
        said = [0]

        def say(found: Asking) -> None:
            if (tenths := 10 * (found.sorts - found.unfinished) // max(1, found.sorts)) > said[0]:
                said[0] = tenths
                self.stderr.write(f"{found.finished} of {found.sorts} rankings, {found.asked} presentations asked")

        stop = StopFlag()
        with stopping_on_signals(stop):
            return ask_rankings(run, sets, pairs, known, **wanted, stop=stop, limit=limit, on_step=say)


def _check(options: dict[str, Any], *, live: bool) -> None:
    if options["seeds"] is not None and options["seeds"] < 1:
        raise CommandError(f"--seeds {options['seeds']}: at least one order is needed")
    for name in ("sample", "limit"):
        if options[name] is not None and options[name] < 1:
            raise CommandError(f"--{name} must be 1 or more, got {options[name]}")
    if not live and (
        given := [f"--{name.replace('_', '-')}" for name in ONLY_WHEN_ASKING if options[name] is not None]
    ):
        raise CommandError(f"{', '.join(given)}: add --run or --estimate, which these are about")
    picture = options["picture"]
    if picture and options["estimate"]:
        raise CommandError("--picture: an estimate has no rankings to draw")
    if picture and picture.suffix not in PICTURES:
        raise CommandError(f"--picture {picture}: name a file that ends in {' or '.join(PICTURES)}")


def _wanted(options: dict[str, Any], *, live: bool) -> dict[str, Any]:
    """Return what is to be ranked how often; asking costs, so that less is the default there."""
    return {
        "methods": list(dict.fromkeys(options["method"])) or (["pairs"] if live else list(METHODS)),
        "seeds": options["seeds"] or (1 if live else SEEDS),
        "calibrate": options["calibrate"],
    }


def _judge(study: Study, name: str | None, question: int, *, live: bool) -> Judge:
    """Find the judge: any that can be asked, or one whose answers are stored."""
    if live and name:
        return find_judge(name)
    judges = judges_audited(study, question)
    if name is None:
        if len(judges) != 1:
            raise CommandError(
                f"name the judge with --judge; those that have run on study {study.slug}: {', '.join(judges) or 'none'}"
            )
        (name,) = judges
    if name not in judges:
        known = ", ".join(judges) or "none"
        raise CommandError(
            f"no judge {name} has run on study {study.slug}; those that have: {known}; --run asks another"
        )
    return judges[name]


def _text_sets(study: Study, judge: Judge, options: dict[str, Any]) -> tuple[list[TextSet], Pairs]:
    """Read the texts that are to be ranked.

    Raises: CommandError where there are none
    """
    drawn: list[str] = []
    if options["sample"] is not None:
        chosen = study.instances.filter(**({"dataset": options["dataset"]} if options["dataset"] else {}))
        names = chosen.filter(matchups__pairs__isnull=False).order_by().values_list("instance_id", flat=True).distinct()
        drawn = sorted(names, key=lambda one: place_in_draw(0, one))[: options["sample"]]
    sets, pairs = read_text_sets(study, judge=judge, dataset=options["dataset"], instances=drawn)
    if not sets:
        of = f" of data set {options['dataset']}" if options["dataset"] else ""
        raise CommandError(f"study {study.slug} has no pairs of texts{of}, so that nothing can be ranked")
    return sets, pairs


def _asked(run: JudgeRun, asking: Asking) -> dict[str, Any]:
    """Return what was asked, and how it ended."""
    endpoint = run.judge.endpoint
    spent = usage_of(run.judgments.of_every_question(), endpoint.currency if endpoint else "")
    return {
        "judge": run.judge.name,
        "rankings": asking.sorts,
        "finished": asking.finished,
        "unfinished": asking.unfinished,
        "without_verdict": asking.without_verdict,
        "asked": asking.asked,
        "calls": asking.calls,
        "cost": None if spent.cost is None else str(spent.cost),
        "currency": spent.currency,
        "message": asking.ended.message if asking.ended else "",
    }
