"""sc2_ablation STUDY [--endpoint NAME [--table-endpoint NAME] [--table-variant NAME …] [--estimate|--report]] [--part PART …] [--rounds R] [--format text|json|csv], and:

[--samples C …] [--scheme S …] [--aspects A …] [--budget B …] [--shots K …] [--in-flight W] [--max-cost X] [--seed N]
[--batch NAME] [--dataset NAME] [--systems A B] [--tag TAG …] [--instances FILE]
"""

import json
import sys
from decimal import Decimal
from typing import Any

from django.core.management.base import CommandError

from annotation.core.counting import number_of
from annotation.core.files.spreadsheet import csv_lines
from annotation.management.commands._base import TandemCommand, argument
from annotation.models import Study
from annotation.studies.services import find_study
from judging.ablation.judge_configurations import PAPER, PARTS, ROUNDS, Axes
from judging.ablation.services import (
    FEWER_CALLS,
    SEED,
    Ablation,
    AblationEstimate,
    AblationRow,
    estimate_ablation,
    rows_of,
    start_row,
)
from judging.core.pricing import money
from judging.endpoints.services import find_endpoint
from judging.jobs.stopping import StopFlag
from judging.management.asking import STOPPED_BY_SIGNAL, STOPPED_ELSEWHERE, stopping_on_signals
from judging.management.commands._runs import IN_FLIGHT, PAIRS, max_cost, pairs_of
from judging.management.commands.run_judge import parse_money, summary
from judging.management.meter import Meter
from judging.methods.options import OFFLINE, ONLINE
from judging.methods.sc2.bracket import SCHEMES
from judging.models import JudgeRun
from judging.runs.execution import ExecutionResult, execute
from judging.runs.status import count_judgments
from reporting.ablation import files
from reporting.ablation.study_ablation import ablation

FORMATS = ("text", "json", "csv")
SHARED = "calls that rows have in common are counted with the first of them"

RESUMES = "The same command resumes without repeating a call."


class Command(TandemCommand):
    help = (
        "Set ways of judging side by side: methods, schemes of inference, models of aspects, numbers of calls and of "
        "tables, over several rounds. With --endpoint it asks what is missing (the same command resumes, and asks "
        "nothing twice); with --estimate it says what that would take; else it prints what is there."
    )

    arguments = (
        *PAIRS,
        argument("--endpoint", default="", metavar="NAME", help="ask there; in a report: only what it said"),
        argument("--table-endpoint", metavar="NAME", help="let SC² make its tables there, and judge at --endpoint"),
        argument(
            "--table-variant",
            nargs="+",
            metavar="NAME",
            help="a further row of SC² for each: shown the study's stored tables of this variant, as another model has made them",
        ),
        argument("--estimate", action="store_true", help="say what it would take, and ask nothing"),
        argument("--report", action="store_true", help="print what is there, and ask nothing"),
        argument("--part", action="append", choices=list(PARTS), help=f"may be repeated (default: {', '.join(PAPER)})"),
        argument("--rounds", type=int, default=ROUNDS, metavar="R", help=f"default {ROUNDS}"),
        argument("--samples", type=int, nargs="+", metavar="C", help="numbers of tables (default: 1 4 8)"),
        argument("--scheme", nargs="+", choices=list(SCHEMES), metavar="S", help="default: all three"),
        argument("--aspects", nargs="+", choices=[ONLINE, OFFLINE], metavar="A", help="default: both"),
        argument("--budget", type=int, nargs="+", metavar="B", help="calls a verdict (default: 8 15 24)"),
        argument("--shots", type=int, nargs="+", metavar="K", help="examples shown (default: 3 5)"),
        IN_FLIGHT,
        max_cost("all of it together"),
        argument("--seed", type=int, default=SEED, help=f"of the judges (default {SEED})"),
        argument("--format", choices=FORMATS, default="text"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        asks = bool(options["endpoint"]) and not options["report"]
        if options["estimate"]:
            if not asks:
                raise CommandError("an estimate is about an endpoint: name one with --endpoint, and leave out --report")
            self.show_expected(estimate_ablation(ablation_from(study, options)), options["format"])
            return
        if asks:
            self.ask(ablation_from(study, options), options)
        self.show(study, options)

    def ask(self, asked: Ablation, options: dict[str, Any]) -> None:
        """Execute the runs in order; stop at the first that fails."""
        rows, stop, max_cost = rows_of(asked), StopFlag(), parse_money(options["max_cost"])
        self.stderr.write(total_line(estimate_ablation(asked, calls=FEWER_CALLS)))
        with stopping_on_signals(stop):
            for number, row in enumerate(rows, start=1):
                self.stderr.write(f"{number} of {len(rows)}: {row.judge.name}")
                self.finish(*self.fill(row, asked, rows, stop, options["in_flight"], max_cost))

    def fill(
        self,
        row: AblationRow,
        asked: Ablation,
        rows: list[AblationRow],
        stop: StopFlag,
        in_flight: int | None,
        max_cost: Decimal | None,
    ) -> tuple[JudgeRun, ExecutionResult]:
        """Execute one run."""
        run = start_row(row, asked, among=rows, in_flight=in_flight, max_cost=max_cost)
        meter = Meter(self.stderr)
        ended = execute(run.pk, stop=stop, when_stopped=JudgeRun.Status.PAUSED, on_progress=meter)
        meter.close(ended.progress)
        return run, ended

    def finish(self, run: JudgeRun, ended: ExecutionResult) -> None:
        """Print how a run ended; stop the command where the next run would fail too."""
        counts = count_judgments(run.judgments.all())
        self.stderr.write(summary(counts, ended.progress))
        if ended.signal:
            self.stderr.write("stopped; the same command resumes without repeating a call")
            sys.exit(STOPPED_BY_SIGNAL)
        if ended.status in (JudgeRun.Status.PAUSED, JudgeRun.Status.CANCELLED):
            raise CommandError(f"{ended.message}\n{RESUMES}", returncode=STOPPED_ELSEWHERE)
        if ended.status != JudgeRun.Status.DONE:
            raise CommandError(f"{ended.message}\n{RESUMES}")
        if counts.errors:
            reasons = run.judgments.filter(status="error").values_list("failure", flat=True)
            self.stderr.write(f"{counts.errors} without an answer, for example: {reasons.first()}; {RESUMES.lower()}")

    def show(self, study: Study, options: dict[str, Any]) -> None:
        """Print the ablation."""
        endpoint = find_endpoint(options["endpoint"]).name if options["endpoint"] else ""
        numbers = ablation(study, parts=options["part"] or PARTS, endpoint=endpoint)
        if options["format"] == "json":
            self.say(json.dumps(numbers, ensure_ascii=False, allow_nan=False, indent=1))
        elif options["format"] == "csv":
            rows = files.csv_rows(numbers)
            self.stdout.write("".join(csv_lines(rows, files.COLUMNS)), ending="")
        else:
            self.stdout.write(files.text(numbers), ending="")

    def show_expected(self, expected: AblationEstimate, form: str) -> None:
        """Print the estimate."""
        if form == "json":
            report = {
                "rows": [{"judge": row.judge.name, **estimate.as_dict()} for row, estimate in expected.rows],
                "total": expected.total.as_dict(),
            }
            self.say(json.dumps(report, ensure_ascii=False, indent=1))
            return
        for row, estimate in expected.rows:
            cost = money(estimate.cost, estimate.currency)
            self.say(
                f"{row.judge.name}: {number_of(estimate.pending, 'presentation')}, "
                f"about {number_of(estimate.calls, 'call')}, {cost}"
            )
        self.say(total_line(expected))


def total_line(expected: AblationEstimate) -> str:
    """Return the line on all rows together."""
    total = expected.total
    about = "" if total.is_exact else f", from {total.sampled:,} of {number_of(total.pending, 'presentation')}"
    return (
        f"together: about {number_of(total.calls, 'call')} (already there: {number_of(total.cached, 'answer')}), "
        f"{number_of(total.prompt_tokens, 'token')} sent and {total.completion_tokens:,} written, "
        f"cost {money(total.cost, total.currency)}{about}; {SHARED}"
    )


def ablation_from(study: Study, options: dict[str, Any]) -> Ablation:
    """Return the ablation that the options describe.

    Raises: UnknownName, BadSettings
    """
    if options["seed"] < 0:
        raise CommandError(f"--seed {options['seed']}: a seed is 0 or more")
    given = {
        "samples": options["samples"],
        "schemes": options["scheme"],
        "aspects": options["aspects"],
        "budgets": options["budget"],
        "shots": options["shots"],
        "variants": options["table_variant"],
    }
    return Ablation(
        study=study,
        endpoint=find_endpoint(options["endpoint"]),
        table_endpoint=find_endpoint(options["table_endpoint"]) if options["table_endpoint"] else None,
        parts=tuple(options["part"] or PAPER),
        axes=Axes(**{name: tuple(values) for name, values in given.items() if values}),
        rounds=options["rounds"],
        seed=options["seed"],
        **pairs_of(study, options),
    )
