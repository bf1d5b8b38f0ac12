"""logic_audit STUDY, and to ask first: --judge NAME --run|--estimate"""

from typing import Any

from django.core.management.base import CommandError

from annotation.core.files.spreadsheet import csv_lines
from annotation.management.commands._base import StudyCommand, argument, group, one_of, whole
from annotation.models import Study
from annotation.studies.questions import find_question
from judging.audits.services import REPEATS, Audit, auditor, estimate_audit, start_audit
from judging.management.commands._runs import ESTIMATE, IN_FLIGHT, LIMIT, cost_of, max_cost
from judging.management.commands.add_judge import prompt_named
from judging.management.commands.run_judge import RunCommand, summary_of
from judging.models import Judge, JudgeRun
from judging.runs.judges import find_judge
from reporting.logic.audit_text import COLUMNS, as_rows
from reporting.logic.audits import audit_study, instance_rows, judges_audited

ONLY_WHEN_ASKING = (
    *("sample", "seed", "dataset", "repeats", "plain", "prompt"),
    *("in_flight", "max_cost", "limit", "batch_api"),
)
UNSET = (None, "", False)
MOST_LISTED = 20  # of each kind, in JSON


class Command(RunCommand, StudyCommand):
    help = (
        "Print how consistent judges are with themselves: transitivity, commutativity, negation invariance, "
        "self-agreement and position. --run first asks a judge what is missing; repeat to resume, no call is "
        "repeated."
    )

    arguments = (
        argument("--judge", action="append", default=[], metavar="NAME", help="may be repeated (default: every judge)"),
        argument("--people", action="store_true", help="people's first votes as well"),
        argument("--question", default="", metavar="KEY", help="question (default: the main one)"),
        argument(
            "--list",
            dest="most",
            type=whole(0),
            metavar="N",
            help="contradictions listed of each kind, with texts and answers (default: none in text, 20 in json)",
        ),
        argument(
            "--format",
            choices=["json", "text", "csv"],
            default="text",
            help="csv has a row for each measure",
        ),
        group(
            "asking a judge",
            one_of(
                argument(
                    "--run", action="store_true", help="ask all pairs in both orders, plain and negated, repeatedly"
                ),
                ESTIMATE,
            ),
            argument(
                "--sample", type=whole(1), metavar="N", help="number of instances, drawn at random (default: all)"
            ),
            argument("--seed", type=whole(0), metavar="S", help="seed of the draw (default: 0)"),
            argument("--dataset", default="", metavar="NAME", help="only instances of this data set"),
            argument(
                "--repeats", type=whole(1), metavar="R", help=f"of each question (default: the judge's, else {REPEATS})"
            ),
            argument("--plain", action="store_true", help="leave out the negated question"),
            argument("--prompt", metavar="NAME[:VERSION]", help="a prompt file of your own"),
            IN_FLIGHT,
            max_cost("the run"),
            LIMIT,
            argument("--batch-api", action="store_true", help="use the provider's Batch API"),
        ),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        listed = {"json": MOST_LISTED, "text": 0}.get(options["format"])
        if options["most"] is not None and listed is None:
            raise CommandError(f"--list {options['most']}: text and json list contradictions")
        options["most"] = options["most"] if options["most"] is not None else listed or 0
        question = find_question(study, options["question"]).number
        if not (options["run"] or options["estimate"]):
            if unused := [f"--{name.replace('_', '-')}" for name in ONLY_WHEN_ASKING if options[name] not in UNSET]:
                raise CommandError(f"{', '.join(unused)}: these need --run or --estimate")
            judges = _judges(study, options["judge"], question, people=options["people"])
            self.show(study, judges, question, options)
            return
        audit = _audit(study, question, options)
        way = JudgeRun.Way.BATCH if options["batch_api"] else JudgeRun.Way.CALLS
        cap = options["max_cost"]
        if options["estimate"]:
            estimate = estimate_audit(audit, limit=options["limit"], way=way)
            values = {"study": study.slug, "judge": auditor(audit).name, **estimate.as_dict()}
            self.say_document(values, options, cost_of(estimate, cap))
            return
        run = start_audit(audit, in_flight=options["in_flight"], max_cost=cap, way=way)
        self.stderr.write(f"asking judge {run.judge.name}")
        ended = self.work(run, options["limit"])
        self.stderr.write(summary_of(run, ended.progress))
        self.show(study, [*([None] if options["people"] else []), run.judge], question, options)
        self.conclude(run, ended)

    def show(self, study: Study, judges: list[Judge | None], question: int, options: dict[str, Any]) -> None:
        """Print the audits of these judges, or None stands for people."""
        audit = audit_study(study, judges, question=question, limit=options["most"])
        if options["format"] == "csv":
            self.stdout.write("".join(csv_lines(as_rows(audit), COLUMNS)), ending="")
            return
        if options["format"] == "json":
            audit["by_instance"] = list(instance_rows(study, judges, question=question))
        self.say_numbers(audit, options["format"])


def _audit(study: Study, question: int, options: dict[str, Any]) -> Audit:
    """Return what the options ask for.

    Raises: CommandError, UnknownJudge
    """
    if len(options["judge"]) != 1:
        raise CommandError(
            f"--run and --estimate are about one judge: name it with --judge, got {len(options['judge'])}"
        )
    if options["format"] == "csv" and options["estimate"]:
        raise CommandError("an estimate is text or json")
    return Audit(
        study=study,
        judge=find_judge(options["judge"][0]),
        repeats=options["repeats"],
        negated=not options["plain"],
        wording=prompt_named(options["prompt"]),
        dataset=options["dataset"],
        instances=options["sample"],
        seed=options["seed"] or 0,
        question=question,
    )


def _judges(study: Study, names: list[str], question: int, *, people: bool) -> list[Judge | None]:
    """Find the judges that were asked, all if none is named, or None stands for people."""
    existing = judges_audited(study, question)
    if strangers := [name for name in names if name not in existing]:
        listed = ", ".join(existing) or "none"
        raise CommandError(f"no judge {', '.join(strangers)} has run on study {study.slug}; those that have: {listed}")
    judges: list[Judge | None] = [existing[name] for name in dict.fromkeys(names or existing)]
    if not (judges or people):
        raise CommandError(f"no judge has run on study {study.slug}; let one with --judge NAME --run, or add --people")
    return [*([None] if people else []), *judges]
