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
    argument("--in-flight", type=int, default=IN_FLIGHT, metavar="W", help=f"calls at the same time ({IN_FLIGHT})"),
    max_cost("the whole"),
)
PART = (
    argument("--sample", type=int, metavar="N", help="so many pairs, drawn at random (default: all)"),
    argument("--seed", type=int, default=0, metavar="S", help="draws them, and what is changed (0)"),
    argument("--dataset", default="", metavar="NAME", help="only pairs of this data set"),
    argument("--question", default="", metavar="KEY", help="of several questions, the one that is asked"),
)


def ask_missing(audit: JudgeAudit, out: Any) -> Asking:
    """Ask for the missing answers of an audit. `out`: for progress."""
    with asking(out) as work:
        ask(audit, stop=work.stop, on_progress=work.meter)
    return work


class Command(TandemCommand):
    help = (
        "Test what a judge's verdicts depend on: one text of each pair is changed (padding, formatting, claims of authority, "
        "injected instructions and others), and the share of verdicts that turn is counted. --run asks what is missing, "
        "--estimate says what it would take; without either the stored answers are shown."
    )

    arguments = (
        argument("slug", metavar="STUDY", help="the study"),
        argument("--judge", required=True, metavar="NAME"),
        argument(
            "--change", action="append", metavar="NAME", help=f"only this one; may be repeated: {', '.join(CHANGES)}"
        ),
        *PART,
        argument("--format", choices=["text", "json"], default="text"),
        group(
            "asking the judge",
            one_of(
                argument("--run", action="store_true", help="ask; the same command resumes, and asks nothing twice"),
                argument("--estimate", action="store_true", help="say what that would take, and ask nothing"),
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
