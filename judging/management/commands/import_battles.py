"""`import_battles FILE --study SLUG`."""

from judging.management.commands._elsewhere import ImportCommand, files_and_study


class Command(ImportCommand):
    help = "Import Arena battles (model_a, model_b, winner, judge, two conversations) into a new or existing study."
    arguments = files_and_study("battles")
    kind = "battles"
