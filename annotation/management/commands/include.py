"""`include STUDY --rater CODE | --assignment KEY [--reason TEXT]`."""

from annotation.management.commands._raters import DecisionCommand
from annotation.monitoring.forms import OptionalReasonForm
from annotation.quality.exclusion import accept_assignment, include_annotator


class Command(DecisionCommand):
    help = "Undo an exclusion or a rejection. HITs that others have rated meanwhile stay uncounted."
    form = OptionalReasonForm
    of_rater, of_assignment = staticmethod(include_annotator), staticmethod(accept_assignment)
