"""run_status STUDY --judge NAME [--batch NAME] [--format json|text]"""

import json
from typing import Any

from django.core.management.base import CommandParser

from judging.errors import UnknownJudge
from judging.management.base import JudgingCommand, add_study_argument, find_study
from judging.models import Judgment
from judging.services.judges import find_judge
from judging.services.runs import find_batch
from judging.services.status import count_judgments, count_tokens


class Command(JudgingCommand):
    """Print what came of a judge's runs on a study so far."""

    help = "Count what came of a judge's runs on a study. Calls are answers fetched; cached ones cost none."

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the options."""
        add_study_argument(parser)
        parser.add_argument("--judge", required=True, metavar="NAME")
        parser.add_argument("--batch", metavar="NAME", help="only the run on this batch")
        parser.add_argument("--format", choices=["text", "json"], default="text")

    def run(self, **options: Any) -> None:
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
            **count_judgments(judgments).as_dict(),
            **count_tokens(judgments),
            "cost": None,
        }
        if options["format"] == "json":
            self.stdout.write(json.dumps(status, ensure_ascii=False, indent=2))
            return
        for name, value in status.items():
            self.stdout.write(f"{name}: {'unknown' if value is None else value}")
