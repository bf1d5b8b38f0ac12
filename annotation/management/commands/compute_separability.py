"""Compute how distinguishable two systems are on each instance."""

from argparse import ArgumentParser
from typing import Any

from analysis import similarity
from annotation.management.commands._base import TandemCommand
from annotation.services.separability import blind_texts, compute_separability
from annotation.services.studies import find_study


class Command(TandemCommand):
    """`compute_separability SLUG --similarity rouge1`."""

    help = "Compute the separability of every matchup of a study, from all pairs of its generations."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("study", metavar="SLUG")
        parser.add_argument("--similarity", default="rouge1", help=f"one of {', '.join(similarity.names())}")
        parser.add_argument(
            "--group",
            default="configuration",
            help="what alignments are min-max normalised over: configuration (default), study, or MIN,MAX",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Compute, store and say what came of it."""
        study = find_study(options["study"])
        name = options["similarity"]
        for result in compute_separability(study=study, similarity=name, group=options["group"]):
            outcome = "computed" if result.changed else "unchanged"
            missing = f", {result.undefined} undefined (a system with one text)" if result.undefined else ""
            self.say(f"{result.configuration}: {result.matchups} matchups {outcome}{missing}")
        if blind := blind_texts(study, name):
            self.stderr.write(
                f"notice: {blind} texts hold no Latin letter or digit, which is all that {name} compares; "
                "their similarity is 0. A similarity of character n-grams (chrF) would see them."
            )
