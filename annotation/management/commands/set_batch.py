"""Launch, pause or close a batch."""

from argparse import ArgumentParser
from typing import Any

from annotation.batches.services import set_batch_status
from annotation.management.commands._base import TandemCommand
from annotation.management.commands._batches import add_batch, batch_of
from annotation.models import Batch


class Command(TandemCommand):
    """`set_batch STUDY --batch NAME --status open|paused|closed [--reason TEXT]`."""

    help = "Launch a batch, pause it, close it, or open it again; claims already made may be finished."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        add_batch(parser)
        states = [Batch.Status.OPEN, Batch.Status.PAUSED, Batch.Status.CLOSED]
        parser.add_argument("--status", required=True, choices=[state.value for state in states])
        parser.add_argument("--reason", default="", help="kept in the study's log")

    def handle(self, *args: Any, **options: Any) -> None:
        """Set the status and print it."""
        batch = batch_of(options)
        before = batch.status
        batch = set_batch_status(batch=batch, status=options["status"], reason=options["reason"])
        outcome = f"was {before}" if before != batch.status else "as before; nothing was changed"
        self.say(f"batch {batch.name}: {batch.status} ({outcome})")
