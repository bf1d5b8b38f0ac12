"""`manage.py separability_advice`: which instances are worth a person's time, from separability and a pilot."""

from typing import Any

from annotation.management.commands._base import StudyCommand, argument
from annotation.models import Study
from annotation.studies.questions import question_named
from reporting.management.commands._separability_filters import FILTERS, filters_of
from reporting.separability.arrays import THRESHOLDS
from reporting.separability.reading import distinguishable


class Command(StudyCommand):
    is_audited = False  # only reads
    help = "Print separability with scenarios, and the threshold below which ratings are mostly inconsistent."

    arguments = (
        *FILTERS,
        argument(
            "--threshold",
            choices=THRESHOLDS,
            default="half",
            help=(
                "from where an alignment counts as high, for the scenarios: half of the normalised scale, or the median"
            ),
        ),
        argument("--question", default="", metavar="KEY", help="question (default: the main one)"),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        filters = filters_of(
            options, threshold=options["threshold"], question=question_named(study, options["question"])
        )
        numbers = distinguishable(study, filters)
        self.say_numbers(numbers, options["format"])
