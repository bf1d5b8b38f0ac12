"""Print all data held about a rater."""

from argparse import ArgumentParser
from typing import Any

from annotation.management.commands._base import TandemCommand
from annotation.privacy.erasing import find_raters
from annotation.privacy.own_data import data_of
from annotation.studies.services import find_study


class Command(TandemCommand):
    """`export_rater KEY [--study STUDY]`."""

    help = (
        "Print everything that is held about a rater as JSON, to be handed to them: it names no system, arm or check. "
        "The same as the file on their own page."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("key", metavar="KEY", help="the rater's code, account name or platform id")
        parser.add_argument("--study", metavar="STUDY", help="in this study only")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the document."""
        study = find_study(options["study"]) if options["study"] else None
        raters = find_raters(options["key"], study)
        self.say_json(data_of(raters, raters[0].user))
