"""`set_batch STUDY --batch NAME|--design NAME [--status open|paused|closed] [--stop-rule RULE] [--reason TEXT]`."""

from typing import Any

from annotation.batches.designs import batches_of_design, set_design_status
from annotation.batches.forms import SetBatch
from annotation.batches.services import notices_of
from annotation.management.commands._base import TandemCommand, argument, arguments_of, filled_by, one_of
from annotation.management.commands._batches import batch_of
from annotation.studies.services import find_study


class Command(TandemCommand):
    help = "Launch, pause, close or reopen a batch, or change its stop rule. Raters can finish the HITs that they have."

    arguments = (
        argument("study", metavar="STUDY"),
        one_of(
            argument("--batch", metavar="NAME"),
            argument("--design", metavar="NAME", help="all batches of a design"),
            required=True,
        ),
        *arguments_of(SetBatch, only=("status", "stop_rule", "reason")),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        names = ("status", "stop_rule", "reason")
        form = filled_by(SetBatch, {name: options[name] for name in names})
        if options["design"]:
            study = find_study(options["study"])
            before = {
                batch.pk: (batch.status, batch.stop_rule) for batch in batches_of_design(study, options["design"])
            }
            values = {name: form.cleaned_data[name] for name in names}
            batches = set_design_status(study=study, name=options["design"], **values)
        else:
            batch = batch_of(options)
            before = {batch.pk: (batch.status, batch.stop_rule)}
            batches = form.run(batch)
        for batch in batches:
            was, earlier_rule = before[batch.pk]
            is_same = (batch.status, batch.stop_rule) == (was, earlier_rule)
            outcome = "as before; nothing was changed" if is_same else f"was {was}"
            rule = f"; stops when: {batch.stop_rule}" if batch.stop_rule else ""
            self.say(f"batch {batch.name}: {batch.status} ({outcome}){rule}")
            for notice in notices_of(batch):
                self.say(notice)
