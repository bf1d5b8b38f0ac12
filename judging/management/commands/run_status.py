"""run_status STUDY [--judge NAME [--batch NAME]] [--format json|text]"""

from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import StudyCommand, argument
from annotation.models import Study
from judging.core.errors import UnknownJudge
from judging.models import JudgeRun
from judging.runs.judges import find_judge
from judging.runs.services import find_batch
from judging.runs.status import report_on, reports_by_procedure


class Command(StudyCommand):
    is_audited = False  # only reads
    help = (
        "Print outcomes and usage of a judge's runs on a study. Without --judge: all runs, and sums for each "
        "procedure. A cost is null while a part of it is unknown."
    )

    arguments = (
        argument("--judge", metavar="NAME"),
        argument("--batch", metavar="NAME", help="only the run on this batch"),
        argument("--format", choices=["text", "json"], default="text"),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
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
        self.say_document(report, options)
