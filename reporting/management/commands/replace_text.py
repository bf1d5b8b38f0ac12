"""`replace_text STUDY --instance ID [--system NAME --index N] --text TEXT [--preview]`."""

from reporting.corrections.replacing import ReplaceText
from reporting.management.commands._corrections import CorrectionCommand


class Command(CorrectionCommand):
    help = "Replace the source of an instance, or a text of a system. Its ratings and judgments are listed, and stay."
    form = ReplaceText
