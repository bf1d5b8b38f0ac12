"""Give a batch more raters, further HITs, or both."""

from argparse import ArgumentParser
from typing import Any

from annotation.batches.changes import extend_batch
from annotation.management.commands._base import TandemCommand
from annotation.management.commands._batches import SELECT, add_batch, batch_of, document, selection_of
from annotation.management.commands._settings import add_format
from annotation.models import Batch


class Command(TandemCommand):
    """`extend_batch STUDY --batch NAME [--raters +N] [--select …] --reason TEXT`."""

    help = "Give every HIT of a batch more raters, add HITs of instances that are not in it yet, or both."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        add_batch(parser)
        parser.add_argument("--raters", type=int, default=0, metavar="+N", help="so many more raters on every HIT")
        parser.add_argument("--select", help=f"further instances: {SELECT}, but not importance:N")
        parser.add_argument(
            "--similarity", help="which separability to choose by, or a run's label (default: computed last)"
        )
        parser.add_argument("--seed", type=int, help="of the choice; recorded, drawn when not given")
        parser.add_argument("--reason", required=True, help="why; shown with the results")
        add_format(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Extend the batch and print a summary."""
        batch = batch_of(options)
        select, similarity = options["select"], options["similarity"]
        selection = {} if select is None else selection_of(select, similarity).arguments
        before = batch.hits.count()
        done = extend_batch(
            batch=batch, more_raters=options["raters"], seed=options["seed"], reason=options["reason"], **selection
        )
        if options["format"] == "json":
            self.say_json(document(done.study, done))
            return
        hits = done.hits.count()
        raters = f", for {done.raters_per_hit} raters each" if done.purpose == Batch.Purpose.RATING else ""
        self.say(f"batch {done.name}: {hits} HITs, {hits - before} of them new{raters or ', for every rater'}")
