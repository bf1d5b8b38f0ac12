"""run_status STUDY [--judge NAME [--batch NAME]] [--format json|text]"""

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import TandemCommand, argument
from annotation.studies.services import find_study
from judging.core.errors import UnknownJudge
from judging.models import JudgeRun
from judging.runs.judges import find_judge
from judging.runs.services import find_batch
from judging.runs.status import report_on, reports_by_procedure


class Command(TandemCommand):
    is_audited = False  # only reads
    help = (
        "Print outcomes and usage of a judge's runs on a study. Without --judge: all runs, and sums for each "
        "procedure. A cost is null while a part of it is unknown."
    )

    arguments = (
        argument("study", metavar="STUDY", help="the study's slug"),
        argument("--judge", metavar="NAME"),
        argument("--batch", metavar="NAME", help="only the run on this batch"),
        argument("--format", choices=["text", "json"], default="text"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        runs = JudgeRun.objects.filter(study=study).select_related("study", "judge__endpoint", "batch").order_by("pk")
        if options["batch"]:
            runs = runs.filter(batch=find_batch(study, options["batch"]))
        if options["judge"]:
            judge = find_judge(options["judge"])
            listed = list(runs.filter(judge=judge))
            if not listed:
                raise UnknownJudge(f"judge {judge} has no run on {options['batch'] or study.slug}")
            report = {"study": study.slug, "judge": judge.name, "runs": [run.pk for run in listed], **report_on(listed)}
        else:
            report = {
                "study": study.slug,
                "runs": [
                    {
                        "run": run.pk,
                        "judge": run.judge.name,
                        "batch": run.batch and run.batch.name,
                        "filter": run.pair_filter,
                        **report_on([run]),
                    }
                    for run in runs
                ],
                "procedures": reports_by_procedure(list(runs)),
            }
            if not report["runs"]:
                raise CommandError(f"study {study.slug} has no runs yet")
        self.say_result(lines(report), report, options)


def lines(report: dict[str, Any], indent: str = "") -> Iterator[str]:
    """Write a report as lines. What belongs to an entry of a list is indented."""
    for name, value in report.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for entry in value:
                head, *more_lines = lines(entry, f"{indent}  ")
                yield from (f"{indent}{name}: {head.strip()}", *more_lines)
        else:
            yield f"{indent}{name}: {shown(value)}"


def shown(value: object) -> str:
    """Write one value."""
    if value is None:
        return "unknown"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return f"{value:.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
