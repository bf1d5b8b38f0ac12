"""check_drift STUDY [--judge NAME] [--run | --estimate] [--sample N] [--seed S] [--dataset NAME] [--question KEY]

[--in-flight W] [--max-cost X] [--format text|json]
"""

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import TandemCommand, argument, group, one_of
from annotation.studies.services import find_study
from judging.audits.drift import checks_of, conclude, pinned, settings_of, start_check
from judging.audits.estimates import estimate_check
from judging.audits.stress import AGAIN, StressTest
from judging.core.errors import Interrupted
from judging.management.asking import Asking
from judging.management.commands.estimate_run import lines
from judging.management.commands.run_judge import parse_money
from judging.models import JudgeAudit
from reporting.core.text import estimate_text, printable
from reporting.core.units import counted_in_english as count
from reporting.management.commands.audit_judge import ASKING, PART, ask_missing, stress_test_of

ABOUT_PAIRS = ("sample", "seed", "dataset", "question")


class Command(TandemCommand):
    help = (
        "See whether a judge has changed: --run asks pinned pairs, past the cache, and compares the verdicts with those of the "
        "check before. The first check of a judge draws the pairs and asks each twice, which shows what differs by chance. "
        "Without --judge every judge with pinned pairs is asked, as by cron; without --run the checks so far are shown."
    )

    arguments = (
        argument("slug", metavar="STUDY", help="the study"),
        argument("--judge", metavar="NAME", help="needed to pin pairs (default: all judges that have some)"),
        *PART,
        argument("--format", choices=["text", "json"], default="text"),
        group(
            "asking the judge",
            one_of(
                argument(
                    "--run", action="store_true", help="ask the pinned pairs; a check that is not done is continued"
                ),
                argument("--estimate", action="store_true", help="say what that would take, and ask nothing"),
            ),
            *ASKING,
        ),
    )

    def handle(self, *args: Any, slug: str, **options: Any) -> None:
        tests = self.tests(slug, options)
        if options["estimate"]:
            for test in tests:
                found = estimate_check(test)
                values = {"study": slug, "judge": test.judge.name, **found.as_dict()}
                self.say_result(lines(found, parse_money(options["max_cost"])), values, options)
            return
        stopped: list[Asking] = []
        for test in tests if options["run"] else []:
            check = start_check(test)
            work = ask_missing(check, options, self.stderr)
            conclude(check)
            stopped += [work] if work.ended else []
            if isinstance(work.ended, Interrupted):
                break
        judges = {test.judge.pk for test in tests}
        checks = [as_json(one) for one in checks_of(find_study(slug)) if one.judge_id in judges]
        document = {"study": slug, "checks": checks}
        self.say_result(text_lines(checks), document, options)
        for work in stopped[-1:]:
            work.conclude()

    def tests(self, slug: str, options: dict[str, Any]) -> list[StressTest]:
        """Return what is to be asked: of one judge, or the pinned pairs of all."""
        if options["judge"]:
            return [stress_test_of(slug, options, (AGAIN,))]
        if given := [f"--{name}" for name in ABOUT_PAIRS if options[name]]:
            raise CommandError(f"{', '.join(given)}: name the --judge whose pairs are to be pinned")
        if not (found := [settings_of(one) for one in pinned(checks_of(find_study(slug)))]):
            raise CommandError(f"no judge has pinned pairs in study {slug}: name a --judge, with --run")
        return found


def as_json(check: JudgeAudit) -> dict[str, Any]:
    """Return a check for JSON."""
    return {
        "judge": check.judge.name,
        "model": check.model,
        "pairs": check.pairs,
        "seed": check.seed,
        "check": check.wave,
        "begun": check.created_at.isoformat(),
        "ended": check.ended_at and check.ended_at.isoformat(),
        "calls": check.calls,
        "cost": None if check.cost is None else float(check.cost),
        "currency": check.currency,
        "found": check.found,
    }


def text_lines(checks: list[dict[str, Any]]) -> Iterator[str]:
    """Write checks as lines of text."""
    for one in checks:
        state = f"{'' if one['ended'] else 'not done, '}{count(one['calls'], 'calls')}"
        yield f"{printable(one['judge'])}, check {one['check']} of {one['begun'][:16]}: {state}, {printable(one['model'])}"
        if one["found"] is None:
            continue
        names = {"changed": "changed since", "by_chance": "by chance", "beyond_chance": "beyond chance"}
        yield from (f"  {label:<14} {estimate_text(one['found'][name])}" for name, label in names.items())
        said = {True: "the judge has changed", False: "no change is shown", None: "too little to tell"}
        yield f"  {said[one['found']['drifted']]}"
