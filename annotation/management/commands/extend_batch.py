"""`extend_batch STUDY --batch NAME [--raters +N] [--select …] --reason TEXT`."""

from typing import Any

from annotation.batches.forms import ExtendBatch
from annotation.core.counting import number_of
from annotation.management.commands._base import TandemCommand, arguments_of, filled_by
from annotation.management.commands._batches import BATCH, NOT_OPTIONS, SELECT, batch_of, document, with_ids
from annotation.management.commands._settings import FORMAT
from annotation.models import Batch


class Command(TandemCommand):
    help = "Add raters to every HIT of a batch, HITs of more instances, or both."

    arguments = (
        *BATCH,
        *arguments_of(
            ExtendBatch,
            exclude=(*NOT_OPTIONS, "known_raters", "known_hits"),
            more_raters={"flag": "--raters", "metavar": "+N"},
            select={"help": f"more instances: {SELECT['help']}, but not importance:N or active:N"},
        ),
        FORMAT,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        batch = batch_of(options)
        before = batch.hits.count()
        done = filled_by(ExtendBatch, with_ids(options)).run(batch)
        hits = done.hits.count()
        raters = f", for {number_of(done.raters_per_hit, 'rater')} each" if done.purpose == Batch.Purpose.RATING else ""
        line = (
            f"batch {done.name}: {number_of(hits, 'HIT')}, {hits - before} of them new{raters or ', for every rater'}"
        )
        self.say_result([line], document(done.study, done), options)
