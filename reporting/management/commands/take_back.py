"""`take_back STUDY --record NUMBER|FILE [--preview]`."""

from reporting.corrections.taking_back import TakeBack
from reporting.management.commands._corrections import CorrectionCommand


class Command(CorrectionCommand):
    help = "Take back an import: delete all that the file added, if nothing was built on it."
    form = TakeBack
