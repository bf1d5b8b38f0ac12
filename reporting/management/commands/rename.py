"""`rename STUDY [--system NAME] --to NAME [--preview]`."""

from reporting.corrections.renaming import Rename
from reporting.management.commands._corrections import CorrectionCommand


class Command(CorrectionCommand):
    help = "Rename a study, or one of its systems. Exports carry the new name; the log has both."
    form = Rename
