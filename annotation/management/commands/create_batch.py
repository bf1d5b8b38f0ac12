"""Make a batch of HITs."""

from argparse import ArgumentParser
from typing import Any

from annotation.management.commands._base import TandemCommand, read_file
from annotation.models import Batch
from annotation.services.batches import create_batch, lacks_gold
from annotation.services.studies import find_study


class Command(TandemCommand):
    """`create_batch STUDY --name NAME --dataset NAME --systems A B --pairs N --raters R --select … --seed S [--purpose …]`."""

    help = "Choose instances of one data set and two systems, and publish them as HITs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("--name", required=True)
        parser.add_argument("--dataset", required=True)
        parser.add_argument("--systems", required=True, nargs=2, metavar=("A", "B"))
        parser.add_argument("--pairs", type=int, default=5, help="pairs per HIT")
        parser.add_argument("--raters", type=int, default=3, help="raters per HIT")
        parser.add_argument(
            "--select", default="all", help="all, random:N, top:N, stratified:BxN, importance:N, or ids:FILE"
        )
        parser.add_argument("--similarity", help="which separability to choose by (default: the latest computed)")
        parser.add_argument("--seed", type=int, help="recorded; drawn when not given")
        parser.add_argument(
            "--lease-minutes", type=int, default=60, help="how long a HIT stays claimed without a sign of its rater"
        )
        parser.add_argument(
            "--purpose",
            default=Batch.Purpose.RATING,
            choices=Batch.Purpose.values,
            help="rating; or qualification or gold, of instances whose gold prefers one of the two systems",
        )
        checks = parser.add_argument_group("hidden checks, of a batch for rating")
        checks.add_argument("--gold-rate", type=float, default=0.0, help="share of a rater's HITs that are gold HITs")
        checks.add_argument("--repeat-rate", type=float, default=0.0, help="share that repeat an earlier HIT")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make the batch and say what it holds."""
        select, instance_ids = options["select"], []
        if select.startswith("ids:"):
            data, _ = read_file(select.removeprefix("ids:"))
            instance_ids = [
                line.strip() for line in data.decode("utf-8-sig", errors="replace").splitlines() if line.strip()
            ]
            select = "ids"
        batch, made = create_batch(
            study=find_study(options["study"]),
            name=options["name"],
            dataset=options["dataset"],
            systems=tuple(options["systems"]),
            pairs=options["pairs"],
            raters=options["raters"],
            select=select,
            seed=options["seed"],
            instance_ids=instance_ids,
            similarity=options["similarity"],
            lease_minutes=options["lease_minutes"],
            purpose=options["purpose"],
            gold_rate=options["gold_rate"],
            repeat_rate=options["repeat_rate"],
        )
        self._report(batch, made)

    def _report(self, batch: Batch, made: bool) -> None:
        hits = batch.hits.count()
        if not made:
            self.say(f"batch {batch.name} is there already, made the same way: {hits} HITs; nothing was changed")
            return
        if batch.purpose == Batch.Purpose.RATING:
            ratings = hits * batch.pairs_per_hit * batch.raters_per_hit
            outcome = f"for {batch.raters_per_hit} raters each = {ratings} ratings"
        else:
            outcome = f"for every rater ({batch.get_purpose_display()})"
        self.say(f"batch {batch.name}: {hits} HITs of {batch.pairs_per_hit} pairs {outcome} (seed {batch.seed})")
        for reason, count in batch.selection["left_out"].items():
            self.stderr.write(f"notice: {count} instances {reason} were left out")
        if lacks_gold(batch):
            self.stderr.write("notice: the study has no open gold batch: until there is one, no gold HIT is given out")
