"""run_status STUDY --judge NAME [--batch NAME] [--format json|text]"""

import json
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.commands._base import TandemCommand
from annotation.services.studies import find_study
from judging.errors import UnknownJudge
from judging.models import Judgment
from judging.services.judges import find_judge
from judging.services.runs import find_batch
from judging.services.status import count_judgments, count_tokens


class Command(TandemCommand):
    """Print what came of a judge's runs on a study so far."""

    help = "Count what came of a judge's runs on a study. Calls are answers fetched; cached ones cost none."

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the options."""
        parser.add_argument("study", metavar="STUDY", help="the study's slug")
        parser.add_argument("--judge", required=True, metavar="NAME")
        parser.add_argument("--batch", metavar="NAME", help="only the run on this batch")
        parser.add_argument("--format", choices=["text", "json"], default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the counts."""
        study, judge = find_study(options["study"]), find_judge(options["judge"])
        runs = judge.runs.filter(study=study)
        if options["batch"]:
            runs = runs.filter(batch=find_batch(study, options["batch"]))
        if not runs.exists():
            raise UnknownJudge(f"judge {judge} has no run on {options['batch'] or study.slug}")
        judgments = Judgment.objects.filter(run__in=runs)
        status = {
            "study": study.slug,
            "judge": judge.name,
            "status": [run.status for run in runs],
            "messages": [run.message for run in runs if run.message],
            **count_judgments(judgments).as_dict(),
            **count_tokens(judgments),
            "cost": None,
        }
        if options["format"] == "json":
            self.stdout.write(json.dumps(status, ensure_ascii=False, indent=2))
            return
        for name, value in status.items():
            shown = ", ".join(map(str, value)) or "none" if isinstance(value, list) else value
            self.stdout.write(f"{name}: {'unknown' if value is None else shown}")
