"""`import_tables FILE --study SLUG`."""

from annotation.importing.tables import import_tables
from annotation.management.commands._exported import ExportedRowsCommand


class Command(ExportedRowsCommand):
    help = "Read comparison tables (JSON Lines or CSV) of a study's pairs."
    what = "table"
    importer = staticmethod(import_tables)
