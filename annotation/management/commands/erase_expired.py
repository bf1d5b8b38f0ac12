"""Delete personal data past its retention period."""

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from annotation.management.commands._base import TandemCommand
from annotation.privacy.retention import SIGN_IN_DAYS, Expired, erase_expired, erase_traces, expired_studies


class Command(TandemCommand):
    """`erase_expired [--dry-run]`."""

    help = (
        "Delete who raters are in studies whose time for keeping that is over (keep_personal_days), sessions that ran "
        f"out and failed sign-ins of more than {SIGN_IN_DAYS} days ago. A worker does this every hour."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the option."""
        parser.add_argument("--dry-run", action="store_true", help="only say what would be deleted")

    def handle(self, *args: Any, **options: Any) -> None:
        """Delete, and print the studies."""
        now = timezone.now()
        if options["dry_run"]:
            for one in expired_studies(now):
                self.say(_describe(one))
            self.say("nothing was changed")
            return
        for one in erase_expired(at=now):
            self.say(_describe(one))
        self.say(f"sessions and failed sign-ins: {erase_traces(at=now)} rows deleted")


def _describe(one: Expired) -> str:
    return f"{one.study.slug}: personal data of {one.raters} raters, due since {one.since:%Y-%m-%d}"
