"""`batch_status STUDY --batch NAME [--format text|json]`."""

from typing import Any

from django.utils import timezone

from annotation.core.counting import number_of
from annotation.management.commands._base import TandemCommand, argument
from annotation.management.commands._batches import BATCH, batch_of
from annotation.models import Batch
from annotation.monitoring.batch_status import BatchStatus, batch_status


class Command(TandemCommand):
    is_audited = False  # only reads
    help = "Print a batch's slots, ratings per pair, duplicates and HITs that don't count."

    arguments = (*BATCH, argument("--format", choices=["text", "json"], default="text"))

    def handle(self, *args: Any, **options: Any) -> None:
        status = batch_status(batch_of(options), timezone.now())
        self.say_result(_lines(status), status.as_json(), options)


def _lines(status: BatchStatus) -> list[str]:
    batch, slots = status.batch, status.slots
    lines = [
        f"batch {batch.name} of study {batch.study.slug}: {batch.status}",
        (
            f"{number_of(status.hits, 'HIT')} of {number_of(batch.pairs_per_hit, 'pair')}: "
            f"{number_of(status.pairs, 'pair')}"
        ),
    ]
    if batch.purpose == Batch.Purpose.RATING:
        lapsed = f", {slots.lapsed} of them expired claims" if slots.lapsed else ""
        histogram = ", ".join(f"{pairs} with {count}" for count, pairs in status.ratings_per_pair.items())
        lines += [
            (
                f"{number_of(slots.total, 'slot')}: {slots.filled} filled, {slots.claimed} claimed, {slots.open} "
                f"open{lapsed}"
            ),
            f"pairs by counted ratings: {histogram}",
            f"duplicates: {status.duplicates.total}",
        ]
    left_out = f"{status.not_counted.surplus} surplus, {status.not_counted.excluded} excluded"
    return [*lines, f"submitted and not counted: {number_of(status.not_counted.total, 'HIT')} ({left_out})"]
