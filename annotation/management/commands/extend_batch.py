"""`extend_batch STUDY --batch NAME [--raters +N] [--select …] --reason TEXT`."""

from typing import Any

from annotation.batches.changes import extend_batch
from annotation.core.counting import number_of
from annotation.management.commands._base import TandemCommand, argument
from annotation.management.commands._batches import BATCH, SELECT, batch_of, document, selection_of
from annotation.management.commands._settings import FORMAT
from annotation.models import Batch


class Command(TandemCommand):
    help = "Give every HIT of a batch more raters, add HITs of instances that are not in it yet, or both."

    arguments = (
        *BATCH,
        argument("--raters", type=int, default=0, metavar="+N", help="so many more raters on every HIT"),
        argument("--select", help=f"further instances: {SELECT}, but not importance:N"),
        argument("--similarity", help="which separability to choose by, or a run's label (default: computed last)"),
        argument("--seed", type=int, help="of the choice; recorded, drawn when not given"),
        argument("--reason", required=True, help="why; shown with the results"),
        FORMAT,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        batch = batch_of(options)
        select, similarity = options["select"], options["similarity"]
        selection = {} if select is None else selection_of(select, similarity).arguments
        before = batch.hits.count()
        done = extend_batch(
            batch=batch, more_raters=options["raters"], seed=options["seed"], reason=options["reason"], **selection
        )
        hits = done.hits.count()
        raters = f", for {number_of(done.raters_per_hit, 'rater')} each" if done.purpose == Batch.Purpose.RATING else ""
        line = (
            f"batch {done.name}: {number_of(hits, 'HIT')}, {hits - before} of them new{raters or ', for every rater'}"
        )
        self.say_result([line], document(done.study, done), options)
