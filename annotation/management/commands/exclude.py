"""`exclude STUDY --rater CODE | --assignment KEY --reason TEXT [--reopen]`."""

from annotation.management.commands._raters import DecisionCommand
from annotation.monitoring.forms import LeaveOutForm
from annotation.quality.exclusion import exclude_annotator, reject_assignment


class Command(DecisionCommand):
    help = "Exclude a rater or one submitted HIT from results. Nothing is deleted; include undoes it."
    form = LeaveOutForm
    of_rater, of_assignment = staticmethod(exclude_annotator), staticmethod(reject_assignment)
