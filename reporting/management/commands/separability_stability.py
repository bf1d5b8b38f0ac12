"""`manage.py separability_stability`: how far separability moves with fewer samples, or another temperature."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import TandemCommand
from annotation.services.separability_measure import check_draws
from annotation.services.studies import find_study
from reporting.separability_rows import Look
from reporting.separability_stability import stabilities
from reporting.separability_stability_text import as_text


class Command(TandemCommand):
    """Print the stability of separability, by similarities that need a model as well, and the temperatures."""

    help = "Print how far separability moves with fewer generations or cross pairs, and by temperature."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("slug", help="the study")
        parser.add_argument("--dataset", default="", help="only this data set")
        parser.add_argument(
            "--systems", nargs="+", default=[], metavar="SYSTEM", help="only pairs of one or two systems"
        )
        parser.add_argument(
            "--similarity", default="", help="whose separability, or a run's label (default: computed last)"
        )
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
        parser.add_argument("--format", choices=["text", "json"], default="text")
        parser.add_argument("--seed", type=int, default=0, help="of the draws and resamples (default 0)")

    def handle(self, *args: Any, slug: str, **options: Any) -> None:
        """Compute and print."""
        if options["seed"] < 0:
            raise CommandError(f"--seed {options['seed']}: a seed is 0 or more")
        if len(options["systems"]) > 2:
            raise CommandError(f"--systems: a pair has two systems, {len(options['systems'])} are named")
        for samples in options["samples"]:
            check_draws(samples, None, None)
        look = Look(
            dataset=options["dataset"],
            systems=tuple(dict.fromkeys(options["systems"])),
            similarity=options["similarity"],
            seed=options["seed"],
        )
        found = stabilities(find_study(slug), look, model=options["model"])
        if options["samples"]:  # all are drawn, so that a row is the same whichever others are shown
            for one in found["configurations"]:
                rows = one["stability"]["samples"]
                one["stability"]["samples"] = [row for row in rows if row["samples"] in options["samples"]]
        if options["format"] == "json":
            self.say(json.dumps(found, ensure_ascii=False, allow_nan=False, indent=1))
        else:
            self.say(as_text(found))
