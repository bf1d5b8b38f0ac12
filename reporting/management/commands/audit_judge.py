"""audit_judge STUDY --judge NAME [--run | --estimate] [--sample N] [--seed S] [--change NAME …] [--dataset NAME]

[--question KEY] [--in-flight W] [--max-cost X] [--format text|json]
"""

from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import TandemCommand, argument, group, one_of
from annotation.studies.questions import find_question
from annotation.studies.services import find_study
from judging.audits.asking import ask
from judging.audits.estimates import estimate_stress
from judging.audits.stress import CHANGES, StressTest, start_stress, stored_like
from judging.calls.adhoc_runner import IN_FLIGHT
from judging.management.asking import Asking, asking
from judging.management.commands._runs import max_cost
from judging.management.commands.estimate_run import lines
from judging.management.commands.run_judge import parse_money
from judging.models import JudgeAudit
from judging.runs.judges import find_judge
from reporting.audits.stress import stress_findings
from reporting.audits.stress_text import as_text

ASKING = (
    argument("--in-flight", type=int, default=IN_FLIGHT, metavar="W", help=f"calls in flight ({IN_FLIGHT})"),
    max_cost("the whole"),
)
PART = (
    argument("--sample", type=int, metavar="N", help="number of pairs, drawn at random (default: all)"),
    argument("--seed", type=int, default=0, metavar="S", help="seed of the pairs and changes (default: 0)"),
    argument("--dataset", default="", metavar="NAME", help="only pairs of this data set"),
    argument("--question", default="", metavar="KEY", help="question to ask (default: the main one)"),
)


def ask_missing(audit: JudgeAudit, out: Any) -> Asking:
    """Ask for the missing answers of an audit. `out`: for progress."""
    with asking(out) as work:
        ask(audit, stop=work.stop, on_progress=work.meter)
    return work


class Command(TandemCommand):
    help = (
        "Stress-test a judge: change one text of each pair (padding, formatting, claims of authority, injected "
        "instructions and others) and print the share of verdicts that turn. Without --run or --estimate, only "
        "stored answers are used."
    )

    arguments = (
        argument("slug", metavar="STUDY", help="the study"),
        argument("--judge", required=True, metavar="NAME"),
        argument(
            "--change", action="append", metavar="NAME", help=f"only this change; may be repeated: {', '.join(CHANGES)}"
        ),
        *PART,
        argument("--format", choices=["text", "json"], default="text"),
        group(
            "asking the judge",
            one_of(
                argument("--run", action="store_true", help="ask the judge; repeat to resume, no call is repeated"),
                argument(
                    "--estimate", action="store_true", help="print estimated calls, tokens and cost, and make no call"
                ),
            ),
            *ASKING,
        ),
    )

    def handle(self, *args: Any, slug: str, **options: Any) -> None:
        test = stress_test_of(slug, options, tuple(options["change"] or CHANGES))
        if options["estimate"]:
            estimate = estimate_stress(test)
            values = {"study": slug, "judge": test.judge.name, **estimate.as_dict()}
            self.say_result(lines(estimate, parse_money(options["max_cost"])), values, options)
            return
        bounds: dict[str, Any] = {"in_flight": options["in_flight"], "max_cost": parse_money(options["max_cost"])}
        audit = start_stress(test, **bounds) if options["run"] else stored_like(test.as_audit())
        if audit is None:
            raise CommandError(f"judge {test.judge} was not asked this yet: add --estimate, then --run")
        work = ask_missing(audit, self.stderr) if options["run"] else None
        self.say_numbers(stress_findings(audit), options["format"], as_text)
        if work:
            work.conclude()


def stress_test_of(slug: str, options: dict[str, Any], changes: tuple[str, ...] = CHANGES) -> StressTest:
    """Return what the options ask for.

    Raises: UnknownStudy, UnknownJudge, UnknownName
    """
    study = find_study(slug)
    return StressTest(
        study=study,
        judge=find_judge(options["judge"]),
        changes=changes,
        dataset=options["dataset"],
        pairs=options["sample"],
        seed=options["seed"],
        question=find_question(study, options["question"]).number,
    )
