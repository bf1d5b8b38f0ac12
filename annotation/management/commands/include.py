"""Include a rater, or one of their HITs, in results again."""

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from annotation.management.commands._base import TandemCommand
from annotation.management.commands._raters import add_target, target_of
from annotation.models import Annotator
from annotation.quality.exclusion import accept_assignment, include_annotator


class Command(TandemCommand):
    """`include STUDY --rater CODE | --assignment KEY [--reason TEXT]`."""

    help = "Take an exclusion or a rejection back; what others have rated meanwhile stays uncounted."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        add_target(parser)
        parser.add_argument("--reason", default="", help="shown with the results")

    def handle(self, *args: Any, **options: Any) -> None:
        """Include or accept, and print the result."""
        target = target_of(options)
        if isinstance(target, Annotator):
            effect = include_annotator(annotator=target, reason=options["reason"], by=None, at=timezone.now())
        else:
            effect = accept_assignment(assignment=target, reason=options["reason"], by=None, at=timezone.now())
        self.say(effect.message)
