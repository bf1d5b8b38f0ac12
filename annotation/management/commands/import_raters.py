"""`import_raters FILE --study SLUG`."""

from annotation.importing.raters import import_raters
from annotation.management.commands._exported import ExportedRowsCommand


class Command(ExportedRowsCommand):
    help = "Read what is known of raters, as export_study writes it: kind, exclusion, warnings."
    what = "rater"
    importer = staticmethod(import_raters)
