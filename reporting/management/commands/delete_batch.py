"""`delete_batch STUDY --batch NAME [--preview]`."""

from reporting.corrections.batches import DeleteBatch
from reporting.management.commands._corrections import CorrectionCommand


class Command(CorrectionCommand):
    help = "Delete a batch on which nobody has voted."
    form = DeleteBatch
