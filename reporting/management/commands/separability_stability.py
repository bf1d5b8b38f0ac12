"""`manage.py separability_stability`: how far separability moves with fewer samples, or another temperature."""

from typing import Any

from annotation.management.commands._base import StudyCommand, argument, whole
from annotation.models import Study
from annotation.separability.measure import LEAST_SAMPLES
from reporting.management.commands._separability_filters import FILTERS, filters_of
from reporting.separability.stability import stabilities


class Command(StudyCommand):
    is_audited = False  # only reads
    help = "Print how much separability changes with fewer generations or cross pairs, and by temperature."

    arguments = (
        *FILTERS,
        argument("--model", default="", help="language model (default: the recorded one)"),
        argument(
            "--samples",
            nargs="+",
            type=whole(LEAST_SAMPLES),
            default=[],
            metavar="K",
            help="numbers of generations of each system (default: from 2 on)",
        ),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        filters = filters_of(options)
        numbers = stabilities(study, filters, model=options["model"])
        if options["samples"]:  # filtered here, so that a row does not depend on the others
            for configuration in numbers["configurations"]:
                rows = configuration["stability"]["samples"]
                configuration["stability"]["samples"] = [row for row in rows if row["samples"] in options["samples"]]
        self.say_numbers(numbers, options["format"])
