"""`manage.py findings`: the numbers of a study on standard output."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import TandemCommand
from annotation.studies.outcomes import batches_named
from annotation.studies.services import find_study
from reporting.findings.inputs import judges_named, similarity_named
from reporting.findings.study_findings import findings
from reporting.findings.text import as_text


class Command(TandemCommand):
    """Print findings as text for people or as JSON for programs."""

    help = "Print a study's findings: people and judges, per configuration."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("slug", help="the study")
        parser.add_argument("--format", choices=["json", "text"], default="text")
        parser.add_argument(
            "--similarity", help="whose separability to bin by, or a run's label (default: computed last)"
        )
        parser.add_argument("--batch", action="append", default=[], help="only this batch; may be repeated")
        parser.add_argument("--judge", action="append", default=[], help="only this judge; may be repeated")
        parser.add_argument("--drop-incomplete", action="store_true", help="leave out rating sets that lack a rating")
        parser.add_argument("--seed", type=int, default=0, help="of the intervals' resamples (default 0)")

    def handle(self, *args: Any, slug: str, **options: Any) -> None:
        """Compute and print."""
        study = find_study(slug)
        if options["seed"] < 0:
            raise CommandError(f"--seed {options['seed']}: a seed is 0 or more")
        numbers = findings(
            study,
            similarity=similarity_named(study, options["similarity"]),
            batches=batches_named(study, options["batch"]),
            drop_incomplete=options["drop_incomplete"],
            judges=judges_named(study, options["judge"]),
            seed=options["seed"],
        )
        self.say_numbers(numbers, options["format"], as_text)
