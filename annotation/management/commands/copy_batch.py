"""`copy_batch STUDY --batch NAME --to NAME [--dataset NAME] [--systems A B] [--seed S] [--launch]`."""

from typing import Any

from annotation.batches.changes import copy_batch
from annotation.management.commands._base import TandemCommand, argument
from annotation.management.commands._batches import BATCH, batch_of, document
from annotation.management.commands._settings import FORMAT
from annotation.models import Batch
from annotation.studies.configurations import configuration


class Command(TandemCommand):
    help = "Make a batch after the pattern of another one, of the same or another data set and systems."

    arguments = (
        *BATCH,
        argument("--to", required=True, metavar="NAME", help="name of the new batch"),
        argument("--dataset", help="default: the same"),
        argument("--systems", nargs=2, metavar=("A", "B"), help="default: the same"),
        argument("--seed", type=int, help="recorded; drawn when not given"),
        argument("--launch", action="store_true", help="open it at once; else it is a draft"),
        FORMAT,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        batch = batch_of(options)
        systems = options["systems"] or (batch.system_a.name, batch.system_b.name)
        target = configuration(batch.study, dataset=options["dataset"] or batch.dataset, systems=tuple(systems))
        copy, made = copy_batch(
            batch=batch,
            name=options["to"],
            configuration=target,
            seed=options["seed"],
            status=Batch.Status.OPEN if options["launch"] else Batch.Status.DRAFT,
        )
        outcome = f"made after {batch.name}, {copy.status}" if made else "there already, made the same way"
        line = f"batch {copy.name}: {copy.hits.count()} HITs (seed {copy.seed}), {outcome}"
        self.say_result([line], document(batch.study, copy, made=made), options)
