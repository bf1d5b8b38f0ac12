"""`set_batch STUDY --batch NAME|--design NAME --status open|paused|closed [--reason TEXT]`."""

from typing import Any

from annotation.batches.designs import batches_of_design, set_design_status
from annotation.batches.forms import SetBatch
from annotation.batches.services import set_batch_status
from annotation.management.commands._base import TandemCommand, argument, arguments_of, filled_by, one_of
from annotation.management.commands._batches import batch_of
from annotation.studies.services import find_study


class Command(TandemCommand):
    help = "Launch a batch, pause it, close it, or open it again; claims already made may be finished."

    arguments = (
        argument("study", metavar="STUDY"),
        one_of(
            argument("--batch", metavar="NAME"),
            argument("--design", metavar="NAME", help="all batches of a design that can take the status"),
            required=True,
        ),
        *arguments_of(SetBatch, only=("status", "reason")),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        to = filled_by(SetBatch, {name: options[name] for name in ("status", "reason")}).cleaned_data
        del to["design"]  # here, a name
        if options["design"]:
            study = find_study(options["study"])
            before = {batch.pk: batch.status for batch in batches_of_design(study, options["design"])}
            batches = set_design_status(study=study, name=options["design"], **to)
        else:
            batch = batch_of(options)
            before = {batch.pk: batch.status}
            batches = [set_batch_status(batch=batch, **to)]
        for batch in batches:
            was = before[batch.pk]
            outcome = f"was {was}" if was != batch.status else "as before; nothing was changed"
            self.say(f"batch {batch.name}: {batch.status} ({outcome})")
