"""Import source texts without generations."""

from argparse import ArgumentParser
from typing import Any

from annotation.importing import study_files
from annotation.importing.formats.study_file import DEFAULT_DATASET
from annotation.management.commands._base import TandemCommand, read_file
from annotation.management.commands._settings import add_study_settings, study_settings


class Command(TandemCommand):
    """`import_sources FILE --study SLUG`."""

    help = (
        "Read instances that have a source and no generations yet (JSON Lines, or a CSV with instance_id and source) into "
        "a study, which is made when it is new. `generate` then samples the texts of systems."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("file")
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--dataset", default=DEFAULT_DATASET, help="data set of lines that name none")
        add_study_settings(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Import the file and print a summary."""
        data, name = read_file(options["file"])
        settings = study_settings(options)
        study, stored = study_files.import_study(
            data=data, name=name, slug=options["study"], dataset=options["dataset"], sources_only=True, **settings
        )
        self.say(study_files.summary(name, study, stored))
