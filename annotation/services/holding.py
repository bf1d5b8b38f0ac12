"""Taking hold of an assignment before anything is written to it: one person's tabs take turns."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.errors import AssignmentClosed, ConsentNeeded
from annotation.models import Annotator, Assignment, Batch
from annotation.prepared import Prepared
from annotation.services.consent import accepted, has_consented
from annotation.services.queue import for_rating
from annotation.services.slots import take_free_slot

EXPIRED, CLAIMED = Assignment.State.EXPIRED, Assignment.State.CLAIMED


@dataclass(frozen=True)
class Held:
    """A locked assignment that may be written to; `late` when its time had run out before."""

    assignment: Assignment
    late: bool


def locked(assignments: QuerySet[Assignment]) -> QuerySet[Assignment]:
    """Lock each assignment and, before it, its annotator, as a claim does: in one order, nobody waits in a circle."""
    return assignments.select_for_update(of=("annotator", "self"))


def with_annotator(assignment: Assignment) -> Assignment:
    """Hand what the query of `locked` found out about an annotator to the annotator."""
    assignment.annotator.study = assignment.hit.batch.study
    vars(assignment.annotator)["accepted"] = vars(assignment)["accepted"]
    return assignment


def _assignment(assignment: int) -> QuerySet[Assignment]:
    found = Assignment.objects.filter(pk=assignment).select_related("annotator", "hit__batch__study").order_by()
    return locked(found.annotate(accepted=accepted("annotator_id", "annotator__study__consent_version")))


_ASSIGNMENT = Prepared(_assignment)
LEAST_EXTENSION = 1 / 60  # of the lease: a vote every few seconds is not worth a write each


def hold(assignment: Assignment, at: datetime, *, extend: bool = True) -> Held:
    """Lock an assignment that isn't closed, and extend its lease, unless it ends at once.

    One whose time ran out goes on where it was if its slot is still unfilled and its annotator isn't at another HIT;
    otherwise it takes votes all the same, which are kept and don't count.
    Raises: AssignmentClosed; ConsentNeeded when the annotator hasn't accepted the current text, or no longer does.
    """
    if not vars(assignment).pop("is_locked", False):
        found = _ASSIGNMENT.first(assignment=assignment.pk)
        if found is None:
            raise AssignmentClosed(_("This HIT is not there any more; nothing was changed."))
        assignment = with_annotator(found)
    annotator = assignment.annotator
    refuse_over(assignment)
    late = assignment.state == EXPIRED or (assignment.expires_at is not None and assignment.expires_at <= at)
    regained = assignment.state == EXPIRED and not at_another(annotator) and regain(assignment)
    if regained:
        assignment.state = CLAIMED
    if assignment.state == CLAIMED and (regained or extend):
        lease = timedelta(minutes=assignment.hit.batch.lease_minutes)
        until, had = at + lease, assignment.expires_at
        if regained or had is None or until - had >= lease * LEAST_EXTENSION:
            assignment.expires_at = until
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

    A qualification or a check needs none. Whoever was blocked meanwhile, or has as many HITs as one may have, finishes
    what they hold, and gets nothing back; nor does anybody of a batch that is paused or closed by now.
    """
    batch = assignment.hit.batch
    batch.study = assignment.annotator.study
    if assignment.annotator.blocked_at is not None:
        return False
    if batch.status != Batch.Status.OPEN or batch.study.archived_at is not None:
        return False
    if assignment.purpose != Assignment.Purpose.RATING:
        return True
    others = assignment.annotator.assignments.exclude(pk=assignment.pk).exclude(state=EXPIRED)
    if others.filter(hit__matchup_id=assignment.hit.matchup_id).exists():
        return False
    if not for_rating(assignment.annotator, [batch]):
        return False
    return take_free_slot(assignment)
