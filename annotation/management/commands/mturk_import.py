"""Import the results of an exported batch."""

import json
from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from annotation.management.commands._base import TandemCommand, read_file
from annotation.recruitment.mturk.offline_results import import_results


class Command(TandemCommand):
    """`mturk_import STUDY --batch NAME FILE`."""

    help = (
        "Read the results CSV of a batch that mturk_export wrote, onto that batch. Prints one JSON document. Reading a "
        "file again changes nothing; ratings of another batch or from elsewhere are read by import_mturk."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("file", metavar="FILE")
        parser.add_argument("--batch", required=True, metavar="NAME")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import the file and print the counts."""
        data, file_name = read_file(options["file"])
        counts = import_results(
            data=data, file_name=file_name, slug=options["study"], name=options["batch"], at=timezone.now()
        )
        self.say(json.dumps(vars(counts)))
