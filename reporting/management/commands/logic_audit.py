"""logic_audit STUDY, and to ask first: --judge NAME --run|--estimate"""

from typing import Any

from django.core.management.base import CommandError

from annotation.core.files.spreadsheet import csv_lines
from annotation.management.commands._base import argument, arguments_of, group, one_of, whole
from annotation.models import Study
from annotation.studies.questions import find_question
from judging.audits.services import auditor
from judging.management.commands._runs import BATCH_API, ESTIMATE, AskingCommand
from judging.management.commands.run_judge import RunCommand, summary_of
from judging.models import Judge, JudgeRun
from reporting.logic.audits import COLUMNS, as_rows, audit_study, instance_rows, judges_audited
from reporting.logic.forms import LogicAuditForm

ONLY_WHEN_ASKING = {name: name for name in ("seed", "dataset", "repeats", "in_flight", "max_cost", "limit")} | {
    "instances": "sample",
    "negated": "plain",
    "wording": "prompt",
    "way": "batch_api",
}
MOST_LISTED = 20  # of each kind, in JSON


class Command(RunCommand, AskingCommand):
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
            *arguments_of(
                LogicAuditForm,
                exclude=("judge", "question", "negated"),
                instances={"flag": "--sample"},
                wording={"flag": "--prompt"},
            ),
            argument(
                "--plain", dest="negated", action="store_false", default=None, help="leave out the negated question"
            ),
            BATCH_API,
        ),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        listed = {"json": MOST_LISTED, "text": 0}.get(options["format"])
        if options["most"] is not None and listed is None:
            raise CommandError(f"--list {options['most']}: text and json list contradictions")
        options["most"] = options["most"] if options["most"] is not None else listed or 0
        question = find_question(study, options["question"]).number
        if not (options["run"] or options["estimate"]):
            if unused := [
                f"--{flag.replace('_', '-')}" for name, flag in ONLY_WHEN_ASKING.items() if options[name] is not None
            ]:
                raise CommandError(f"{', '.join(unused)}: these need --run or --estimate")
            judges = _judges(study, options["judge"], question, people=options["people"])
            self.show(study, judges, question, options)
            return
        names: list[str] = options["judge"]
        if len(names) != 1:
            raise CommandError(f"--run and --estimate are about one judge: name it with --judge, got {len(names)}")
        if options["format"] == "csv" and options["estimate"]:
            raise CommandError("an estimate is text or json")
        form = self.form_of(LogicAuditForm, study, {**options, "judge": names[0]})
        way = options["way"] or JudgeRun.Way.CALLS
        if options["estimate"]:
            self.say_estimate(form, form.estimate(way=way), options, judge=auditor(form.audit).name)
            return
        run = form.start(way=way)
        self.stderr.write(f"asking judge {run.judge.name}")
        ended = self.work(run, form.cleaned_data["limit"])
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
