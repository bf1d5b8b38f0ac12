"""What this app's commands have in common."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.errors import AnnotationError, UnknownStudy
from annotation.models import Study


class JudgingCommand(BaseCommand):
    """A command whose domain errors end it with their own words and a non-zero exit status."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        try:
            self.run(**options)
        except AnnotationError as error:
            raise CommandError(str(error)) from error

    def run(self, **options: Any) -> None:
        """Do the work of the command; for subclasses."""
        raise NotImplementedError


def add_study_argument(parser: CommandParser) -> None:
    """Take the study's slug as the first argument."""
    parser.add_argument("study", metavar="STUDY", help="the study's slug")


def find_study(slug: str) -> Study:
    """Return the study with this slug.

    Raises: UnknownStudy listing those that exist.
    """
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        known = ", ".join(Study.objects.values_list("slug", flat=True)) or "none yet"
        raise UnknownStudy(f"there is no study {slug}; there are: {known}")
    return study
