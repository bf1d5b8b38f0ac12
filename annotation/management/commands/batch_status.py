"""`batch_status STUDY --batch NAME [--format text|json]`."""

from typing import Any

from django.utils import timezone

from annotation.management.commands._base import TandemCommand, argument
from annotation.management.commands._batches import BATCH, batch_of
from annotation.monitoring.batch_status import batch_status


class Command(TandemCommand):
    is_audited = False  # only reads
    help = "Print a batch's slots, ratings per pair, duplicates and HITs that don't count."

    arguments = (*BATCH, argument("--format", choices=["text", "json"], default="text"))

    def handle(self, *args: Any, **options: Any) -> None:
        status = batch_status(batch_of(options), timezone.now())
        self.say_document(status.as_json(), options)
