"""`exclude STUDY --rater CODE | --assignment KEY --reason TEXT [--reopen]`."""

from typing import Any

from django.utils import timezone

from annotation.management.commands._base import TandemCommand, argument
from annotation.management.commands._raters import TARGET, target_of
from annotation.models import Annotator
from annotation.quality.exclusion import exclude_annotator, reject_assignment


class Command(TandemCommand):
    help = "Exclude a rater or one submitted HIT from results. Nothing is deleted; include undoes it."

    arguments = (
        *TARGET,
        argument("--reason", required=True, help="shown with the results"),
        argument("--reopen", action="store_true", help="open the slots again for other raters"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        target, arguments = target_of(options), {"reason": options["reason"], "reopen": options["reopen"]}
        if isinstance(target, Annotator):
            effect = exclude_annotator(annotator=target, by=None, at=timezone.now(), **arguments)
        else:
            effect = reject_assignment(assignment=target, by=None, at=timezone.now(), **arguments)
        self.say(effect.message)
