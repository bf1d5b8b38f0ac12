"""Taking hold of an assignment before anything is written to it: one person's tabs take turns."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from annotation.errors import AssignmentClosed, ConsentNeeded
from annotation.models import Annotator, Assignment
from annotation.services.consent import has_consented
from annotation.services.slots import take_free_slot

EXPIRED, CLAIMED = Assignment.State.EXPIRED, Assignment.State.CLAIMED


@dataclass(frozen=True)
class Held:
    """A locked assignment that may be written to; `late` when its time had run out before."""

    assignment: Assignment
    late: bool


def hold(assignment: Assignment, at: datetime) -> Held:
    """Lock an assignment that isn't closed, and extend its lease.

    One whose time ran out goes on where it was if its slot is still unfilled and its annotator isn't at another HIT;
    otherwise it takes votes all the same, which are kept and don't count.
    Raises: AssignmentClosed; ConsentNeeded when the annotator hasn't accepted the current text, or no longer does.
    """
    annotator = (
        Annotator.objects.select_for_update(of=("self",)).select_related("study").get(pk=assignment.annotator_id)
    )
    assignment = (
        Assignment.objects.select_for_update(of=("self",)).select_related("hit__batch__study").get(pk=assignment.pk)
    )
    assignment.annotator = annotator
    refuse_over(assignment)
    late = assignment.state == EXPIRED or (assignment.expires_at is not None and assignment.expires_at <= at)
    if assignment.state == EXPIRED and not at_another(annotator) and regain(assignment):
        assignment.state = CLAIMED
    if assignment.state == CLAIMED:
        assignment.expires_at = at + timedelta(minutes=assignment.hit.batch.lease_minutes)
        assignment.save(update_fields=["state", "expires_at"])
    return Held(assignment, late)


def refuse_over(assignment: Assignment) -> None:
    """Refuse an assignment that takes nothing any more, and that nothing more is shown of.

    Raises: AssignmentClosed; ConsentNeeded when the annotator hasn't accepted the current text, or no longer does.
    """
    if assignment.state == Assignment.State.SUBMITTED:
        raise AssignmentClosed(_("This HIT was submitted before; nothing was changed."))
    if assignment.state == Assignment.State.RETURNED:
        raise AssignmentClosed(_("You returned this HIT; nothing was changed."))
    if assignment.annotator.excluded or assignment.annotator.withdrawn_at:
        raise AssignmentClosed(_("Your work in this study has ended; nothing was changed. Thank you."))
    if not has_consented(assignment.annotator):
        raise ConsentNeeded(_("Please answer the consent question first; nothing was changed."))


def at_another(annotator: Annotator) -> bool:
    """Tell whether the annotator has a HIT claimed."""
    return annotator.assignments.filter(state=CLAIMED).exists()


def regain(assignment: Assignment) -> bool:
    """Give an assignment whose time ran out a slot of its HIT again; False when none is free or its matchup was rated.

    A qualification or a check needs none. Whoever was blocked meanwhile finishes what they hold, and gets nothing back.
    """
    if assignment.annotator.blocked_at is not None:
        return False
    if assignment.purpose != Assignment.Purpose.RATING:
        return True
    others = assignment.annotator.assignments.exclude(pk=assignment.pk).exclude(state=EXPIRED)
    if others.filter(hit__matchup_id=assignment.hit.matchup_id).exists():
        return False
    return take_free_slot(assignment)
