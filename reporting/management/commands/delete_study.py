"""`delete_study STUDY --confirm STUDY [--preview]`."""

from reporting.corrections.deleting import DeleteStudy
from reporting.management.commands._corrections import CorrectionCommand


class Command(CorrectionCommand):
    help = "Delete a study with its texts, ratings, judgments, files and mails. Export a bundle first."
    form = DeleteStudy
