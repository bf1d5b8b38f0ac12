"""`rename STUDY [--system NAME|--judge NAME] --to NAME [--preview]`."""

from reporting.corrections.renaming import Rename
from reporting.management.commands._corrections import CorrectionCommand


class Command(CorrectionCommand):
    help = (
        "Rename a study, one of its systems, or a judge that ran on it. Exports carry the new name; the log has both."
    )
    form = Rename
