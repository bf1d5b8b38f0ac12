"""`copy_batch STUDY --batch NAME --to NAME [--dataset NAME] [--systems A B] [--seed S] [--launch]`."""

from typing import Any

from annotation.batches.forms import CopyBatch
from annotation.management.commands._base import TandemCommand, argument, arguments_of, filled_by
from annotation.management.commands._batches import BATCH, TWO, batch_of, document
from annotation.management.commands._settings import FORMAT


class Command(TandemCommand):
    help = "Create a batch with the settings of another one, for the same or another data set and systems."

    arguments = (
        *BATCH,
        *arguments_of(CopyBatch, exclude=["status"], name={"flag": "--to", "metavar": "NAME"}, systems=TWO),
        argument(
            "--launch", dest="status", action="store_const", const="open", help="launch it at once (default: a draft)"
        ),
        FORMAT,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        batch = batch_of(options)
        copy, created = filled_by(CopyBatch, options).run(batch)
        outcome = f"copied from {batch.name}, {copy.status}" if created else "exists already with the same settings"
        line = f"batch {copy.name}: {copy.hits.count()} HITs (seed {copy.seed}), {outcome}"
        self.say_result([line], document(batch.study, copy, made=created), options)
