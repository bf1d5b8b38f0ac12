"""`manage.py separability_stability`: how far separability moves with fewer samples, or another temperature."""

import json
from argparse import ArgumentParser
from typing import Any

from annotation.management.commands._base import TandemCommand
from annotation.services.separability_measure import check_draws
from annotation.services.studies import find_study
from reporting.management.commands._look import add_look, look_of
from reporting.separability_stability import stabilities
from reporting.separability_stability_text import as_text


class Command(TandemCommand):
    """Print the stability of separability, by similarities that need a model as well, and the temperatures."""

    help = "Print how far separability moves with fewer generations or cross pairs, and by temperature."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        add_look(parser)
        parser.add_argument(
            "--model", default="", help="what reads the texts (default: found by the name that was recorded)"
        )
        parser.add_argument(
            "--samples",
            nargs="+",
            type=int,
            default=[],
            metavar="K",
            help="only so many generations of each system (default: from 2 on)",
        )

    def handle(self, *args: Any, slug: str, **options: Any) -> None:
        """Compute and print."""
        look = look_of(options)
        for samples in options["samples"]:
            check_draws(samples, None, None)
        found = stabilities(find_study(slug), look, model=options["model"])
        if options["samples"]:  # all are drawn, so that a row is the same whichever others are shown
            for one in found["configurations"]:
                rows = one["stability"]["samples"]
                one["stability"]["samples"] = [row for row in rows if row["samples"] in options["samples"]]
        if options["format"] == "json":
            self.say(json.dumps(found, ensure_ascii=False, allow_nan=False, indent=1))
        else:
            self.say(as_text(found))
