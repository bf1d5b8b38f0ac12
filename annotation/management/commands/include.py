"""`include STUDY --rater CODE | --assignment KEY [--reason TEXT]`."""

from typing import Any

from django.utils import timezone

from annotation.management.commands._base import TandemCommand, argument
from annotation.management.commands._raters import TARGET, target_of
from annotation.models import Annotator
from annotation.quality.exclusion import accept_assignment, include_annotator


class Command(TandemCommand):
    help = "Undo an exclusion or a rejection. HITs that others have rated meanwhile stay uncounted."

    arguments = (*TARGET, argument("--reason", default="", help="shown with the results"))

    def handle(self, *args: Any, **options: Any) -> None:
        target = target_of(options)
        if isinstance(target, Annotator):
            effect = include_annotator(annotator=target, reason=options["reason"], by=None, at=timezone.now())
        else:
            effect = accept_assignment(assignment=target, reason=options["reason"], by=None, at=timezone.now())
        self.say(effect.message)
