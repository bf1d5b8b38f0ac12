"""`manage.py separability_advice`: which instances are worth a person's time, from separability and a pilot."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import TandemCommand
from annotation.services.studies import find_study
from reporting.separability_numbers import distinguishable
from reporting.separability_rows import THRESHOLDS, Look
from reporting.separability_text import as_text


class Command(TandemCommand):
    """Print how distinguishable systems are, how consistency goes with it, and what leaving instances out saves."""

    help = "Print separability with scenarios, and the threshold below which ratings are mostly inconsistent."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("slug", help="the study")
        parser.add_argument("--similarity", default="", help="whose separability (default: computed last)")
        parser.add_argument("--dataset", default="", help="only this data set")
        parser.add_argument(
            "--systems", nargs="+", default=[], metavar="SYSTEM", help="only pairs of one or two systems"
        )
        parser.add_argument(
            "--threshold",
            choices=THRESHOLDS,
            default="half",
            help="from where on an alignment is high, for the scenarios: half of the normalised scale, or the median",
        )
        parser.add_argument("--format", choices=["text", "json"], default="text")
        parser.add_argument("--seed", type=int, default=0, help="of the intervals' resamples (default 0)")

    def handle(self, *args: Any, slug: str, **options: Any) -> None:
        """Compute and print."""
        if options["seed"] < 0:
            raise CommandError(f"--seed {options['seed']}: a seed is 0 or more")
        if len(options["systems"]) > 2:
            raise CommandError(f"--systems: a pair has two systems, {len(options['systems'])} are named")
        look = Look(
            dataset=options["dataset"],
            systems=tuple(dict.fromkeys(options["systems"])),
            similarity=options["similarity"],
            threshold=options["threshold"],
            seed=options["seed"],
        )
        found = distinguishable(find_study(slug), look)
        if options["format"] == "json":
            self.say(json.dumps(found, ensure_ascii=False, allow_nan=False, indent=1))
        else:
            self.say(as_text(found))
