"""`import_sources FILE --study SLUG`."""

from typing import Any

from annotation.core.files.mapping import parse_mapping
from annotation.importing import study_files
from annotation.importing.formats.study_file import DEFAULT_DATASET
from annotation.management.commands._base import TandemCommand, argument, find_file
from annotation.management.commands._settings import MAP, NEW_STUDY, study_settings


class Command(TandemCommand):
    help = (
        "Import sources without generations (JSON Lines, or CSV with instance_id and source) into a new or existing "
        "study. Then sample texts with `generate`."
    )

    arguments = (
        argument("file"),
        argument("--study", required=True, metavar="SLUG"),
        argument("--dataset", default=DEFAULT_DATASET, help="data set of lines that name none"),
        MAP,
        NEW_STUDY,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        data, name = find_file(options["file"])
        settings = {"mapping": parse_mapping(options["map"]), **study_settings(options)}
        study, stored = study_files.import_study(
            data=data, name=name, slug=options["study"], dataset=options["dataset"], sources_only=True, **settings
        )
        self.say(study_files.summary(name, study, stored))
