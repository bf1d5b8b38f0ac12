"""Leave a rater, or one of their HITs, out of results."""

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from annotation.management.commands._base import TandemCommand
from annotation.management.commands._raters import add_target, target_of
from annotation.models import Annotator
from annotation.quality.exclusion import exclude_annotator, reject_assignment


class Command(TandemCommand):
    """`exclude STUDY --rater CODE | --assignment KEY --reason TEXT [--reopen]`."""

    help = "Leave a rater, or one submitted HIT, out of results; nothing is deleted, and include takes it back."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        add_target(parser)
        parser.add_argument("--reason", required=True, help="shown with the results")
        parser.add_argument("--reopen", action="store_true", help="open the slots again, so that others rate it")

    def handle(self, *args: Any, **options: Any) -> None:
        """Exclude or reject, and print the result."""
        target, arguments = target_of(options), {"reason": options["reason"], "reopen": options["reopen"]}
        if isinstance(target, Annotator):
            effect = exclude_annotator(annotator=target, by=None, at=timezone.now(), **arguments)
        else:
            effect = reject_assignment(assignment=target, by=None, at=timezone.now(), **arguments)
        self.say(effect.message)
