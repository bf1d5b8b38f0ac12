"""`import_history FILE --study SLUG`."""

from annotation.importing.vote_history import import_history
from annotation.management.commands._exported import ExportedRowsCommand


class Command(ExportedRowsCommand):
    help = "Read the changes of imported votes, as export_study writes them, after the ratings."
    what = "vote change"
    importer = staticmethod(import_history)
