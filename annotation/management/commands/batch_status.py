"""Show a batch's progress."""

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from annotation.management.commands._base import TandemCommand
from annotation.management.commands._batches import add_batch, batch_of
from annotation.models import Batch
from annotation.monitoring.batch_status import BatchStatus, batch_status


class Command(TandemCommand):
    """`batch_status STUDY --batch NAME [--format text|json]`."""

    help = "Count a batch's slots, its ratings per pair, and what must not be there: duplicates."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        add_batch(parser)
        parser.add_argument("--format", choices=["text", "json"], default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        """Count and print."""
        found = batch_status(batch_of(options), timezone.now())
        if options["format"] == "json":
            self.say_json(found.as_json())
            return
        for line in _lines(found):
            self.say(line)


def _lines(found: BatchStatus) -> list[str]:
    batch, slots = found.batch, found.slots
    lines = [
        f"batch {batch.name} of study {batch.study.slug}: {batch.status}",
        f"{found.hits} HITs of {batch.pairs_per_hit} pairs: {found.pairs} pairs",
    ]
    if batch.purpose == Batch.Purpose.RATING:
        lapsed = f", {slots.lapsed} of them claimed with their time run out" if slots.lapsed else ""
        histogram = ", ".join(f"{pairs} with {count}" for count, pairs in found.ratings_per_pair.items())
        lines += [
            f"{slots.total} slots: {slots.filled} filled, {slots.claimed} claimed, {slots.open} open{lapsed}",
            f"pairs by counted ratings: {histogram}",
            f"duplicates: {found.duplicates.total}",
        ]
    left_out = f"{found.not_counted.surplus} surplus, {found.not_counted.excluded} excluded"
    return [*lines, f"submitted and not counted: {found.not_counted.total} HITs ({left_out})"]
