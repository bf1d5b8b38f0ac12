"""`set_batch STUDY --batch NAME --status open|paused|closed [--reason TEXT]`."""

from typing import Any

from annotation.batches.services import set_batch_status
from annotation.management.commands._base import TandemCommand, argument
from annotation.management.commands._batches import BATCH, batch_of
from annotation.models import Batch


class Command(TandemCommand):
    help = "Launch a batch, pause it, close it, or open it again; claims already made may be finished."

    arguments = (
        *BATCH,
        argument(
            "--status", required=True, choices=[state for state in Batch.Status.values if state != Batch.Status.DRAFT]
        ),
        argument("--reason", default="", help="kept in the study's log"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        batch = batch_of(options)
        before = batch.status
        batch = set_batch_status(batch=batch, status=options["status"], reason=options["reason"])
        outcome = f"was {before}" if before != batch.status else "as before; nothing was changed"
        self.say(f"batch {batch.name}: {batch.status} ({outcome})")
