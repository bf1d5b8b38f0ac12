"""Leave a rater, or one of their HITs, out of results."""

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from annotation.management.commands._base import TandemCommand
from annotation.management.commands._raters import add_whom, whom
from annotation.models import Annotator
from annotation.services.exclusion import exclude_annotator, reject_assignment


class Command(TandemCommand):
    """`exclude STUDY --rater CODE | --assignment KEY --reason TEXT [--reopen]`."""

    help = "Leave a rater, or one submitted HIT, out of results; nothing is deleted, and include takes it back."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        add_whom(parser)
        parser.add_argument("--reason", required=True, help="shown with the results")
        parser.add_argument("--reopen", action="store_true", help="open the slots again, so that others rate it")

    def handle(self, *args: Any, **options: Any) -> None:
        """Decide, and say what came of it."""
        found, decided = whom(options), {"reason": options["reason"], "reopen": options["reopen"]}
        if isinstance(found, Annotator):
            effect = exclude_annotator(annotator=found, by=None, at=timezone.now(), **decided)
        else:
            effect = reject_assignment(assignment=found, by=None, at=timezone.now(), **decided)
        self.say(effect.told)
