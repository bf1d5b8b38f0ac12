"""`erase_expired [--dry-run]`."""

from typing import Any

from django.utils import timezone

from annotation.core.counting import number_of
from annotation.management.commands._base import TandemCommand, argument
from annotation.privacy.retention import SIGN_IN_DAYS, Expired, erase_expired, erase_traces, expired_studies


class Command(TandemCommand):
    help = (
        "Delete personal data that are due: of raters by the study's setting keep_personal_days, expired sessions, "
        f"and failed sign-ins older than {SIGN_IN_DAYS} days. A worker does this every hour."
    )

    arguments = (argument("--dry-run", action="store_true", help="only list what would be deleted"),)

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        if options["dry_run"]:
            for expired in expired_studies(now):
                self.say(_describe(expired))
            self.say("nothing was changed")
            return
        for expired in erase_expired(at=now):
            self.say(_describe(expired))
        self.say(f"sessions and failed sign-ins: {number_of(erase_traces(at=now), 'row')} deleted")


def _describe(expired: Expired) -> str:
    return (
        f"{expired.study.slug}: personal data of {number_of(expired.raters, 'rater')}, due since "
        f"{expired.since:%Y-%m-%d}"
    )
