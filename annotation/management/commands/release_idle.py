"""`release_idle STUDY --batch NAME [--minutes N] [--reason TEXT] [--dry-run] [--format text|json]`."""

import json
from datetime import timedelta
from typing import Any

from django.utils import timezone

from annotation.core.counting import number_of
from annotation.hits.idle import idle_claims
from annotation.management.commands._base import TandemCommand, argument, arguments_of, filled_by
from annotation.management.commands._batches import BATCH, batch_of
from annotation.monitoring.forms import ReleaseIdleForm
from annotation.quality.exclusion import release_idle


class Command(TandemCommand):
    help = (
        "Release claims without a vote or an opened pair for some minutes, so that others can claim the HITs. Votes "
        "are kept."
    )

    arguments = (
        *BATCH,
        *arguments_of(ReleaseIdleForm),
        argument("--dry-run", action="store_true", help="only list idle raters"),
        argument("--format", choices=["text", "json"], default="text"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        batch, at = batch_of(options), timezone.now()
        cleaned = filled_by(ReleaseIdleForm, options).cleaned_data
        after = timedelta(minutes=cleaned["minutes"])
        claims, released = idle_claims(batch, at, after), 0
        if not options["dry_run"]:
            released = release_idle(batch=batch, after=after, reason=cleaned["reason"], by=None, at=at)
        if options["format"] == "json":
            idle = [
                {
                    "rater": claim.assignment.annotator.code,
                    "assignment": claim.assignment.key,
                    "idle_minutes": claim.minutes,
                }
                for claim in claims
            ]
            self.say(json.dumps({"batch": batch.name, "idle": idle, "released": released}, indent=2))
            return
        for claim in claims:
            self.say(f"{claim.assignment.annotator.code}: idle for {claim.minutes} min")
        self.say(f"batch {batch.name}: {number_of(len(claims), 'claim')} idle, {released} released")
