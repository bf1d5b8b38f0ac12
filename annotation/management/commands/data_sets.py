"""`data_sets STUDY [--format text|json]`."""

from typing import Any

from annotation.management.commands._base import StudyCommand, argument
from annotation.models import Study
from annotation.studies.data_sets import data_sets


class Command(StudyCommand):
    is_audited = False  # only reads
    help = "Count instances, systems, pairs and words in a study's data sets."

    arguments = (argument("--format", choices=["text", "json"], default="text"),)

    def run(self, study: Study, options: dict[str, Any]) -> None:
        values = {"study": study.slug, "data_sets": [item.as_row() for item in data_sets(study)]}
        self.say_document(values, options)
