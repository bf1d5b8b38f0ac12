"""`merge_raters STUDY --rater CODE --into CODE [--preview]`."""

from reporting.corrections.merging import MergeRaters
from reporting.management.commands._corrections import CorrectionCommand


class Command(CorrectionCommand):
    help = "Merge two raters who are one person. Refused where both rated the same pair."
    form = MergeRaters
