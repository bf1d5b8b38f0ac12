"""`import_flags FILE --study SLUG`."""

from annotation.importing.flags import import_flags
from annotation.management.commands._exported import ExportedRowsCommand


class Command(ExportedRowsCommand):
    help = "Read flags and returned HITs, as export_study writes them, after the ratings."
    what = "flag"
    importer = staticmethod(import_flags)
