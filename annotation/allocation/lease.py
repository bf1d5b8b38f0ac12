"""The lease on an assignment: locking it, with its annotator, before anything is written to it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _

from annotation.allocation.queue import for_rating
from annotation.allocation.revision import is_revisable
from annotation.core.database.prepared import Prepared
from annotation.core.errors import AssignmentClosed, ConsentNeeded
from annotation.hits.slots import take_free_slot
from annotation.models import Annotator, Assignment, Batch, Consent
from annotation.recruitment.base import ClaimKind

EXPIRED, CLAIMED = Assignment.State.EXPIRED, Assignment.State.CLAIMED


@dataclass(frozen=True)
class LockedHit:
    """An assignment that the transaction has locked, with its annotator. `late` means that its lease had expired."""

    assignment: Assignment
    late: bool = False


def has_consented(annotator: Annotator) -> bool:
    """Tell whether the latest answer to the current text accepts it. No query if `accepted` is known."""
    if annotator.accepted is not None:
        return annotator.accepted
    return bool(_ACCEPTED.first(annotator=annotator.pk, version=annotator.study.consent_version))


def accepted(annotator: str, version: str) -> Subquery:
    """Return an annotation with the last answer to the current text. The arguments name columns of the outer query."""
    answers = Consent.objects.filter(annotator=OuterRef(annotator), version=OuterRef(version)).order_by("-pk")
    return Subquery(answers.values("accepted")[:1])


def _accepted(annotator: int, version: int) -> "QuerySet[Consent, bool]":
    answers = Consent.objects.filter(annotator=annotator, version=version).order_by("-pk")
    return answers.values_list("accepted", flat=True)[:1]


_ACCEPTED = Prepared(_accepted)


def lock_with_annotator(assignments: QuerySet[Assignment]) -> QuerySet[Assignment]:
    """Lock each assignment's annotator, then the assignment: the order in which claims lock, so no deadlock."""
    return assignments.select_for_update(of=("annotator", "self"))


def with_consent(assignments: QuerySet[Assignment]) -> QuerySet[Assignment]:
    """Read assignments with their study, and the annotator's answer to its consent text."""
    rows = assignments.select_related("annotator", "hit__batch__study").order_by()
    rows = rows.defer("annotator__block_reason")  # no vote needs its JSON
    columns = {"accepted": accepted("annotator_id", "hit__batch__study__consent_version")}  # declared on the model
    return rows.annotate(**columns)


def attach_annotator(assignment: Assignment) -> Assignment:
    """Pass the study and the answer to the consent text on to the annotator of an assignment from `with_consent`."""
    assignment.annotator.study = assignment.hit.batch.study
    assignment.annotator.accepted = bool(assignment.accepted)
    return assignment


def _assignment(assignment: int) -> QuerySet[Assignment]:
    return lock_with_annotator(with_consent(Assignment.objects.filter(pk=assignment)))


_ASSIGNMENT = Prepared(_assignment)
LEAST_EXTENSION = 1 / 60  # of the lease: saves a write on most votes


def lock_hit(assignment: Assignment) -> LockedHit:
    """Lock an assignment within the caller's transaction. Raises: AssignmentClosed when it was deleted."""
    row = _ASSIGNMENT.first(assignment=assignment.pk)
    if row is None:
        raise AssignmentClosed(_("This HIT is not there any more; nothing was changed."))
    return LockedHit(attach_annotator(row))


def extend_lease(hit: LockedHit, at: datetime, *, extend: bool = True, revises: bool = False) -> LockedHit:
    """Return a locked HIT that accepts votes, its lease extended unless `extend` is false.

    revises : it may have been submitted, if it may still be changed

    An expired one reacquires a slot if one is free and its annotator has no other HIT claimed; otherwise its votes are
    stored but not counted.
    Raises: AssignmentClosed; ConsentNeeded.
    """
    assignment = hit.assignment
    annotator = assignment.annotator
    # After the lock: a following HIT may have been submitted while this waited for it.
    require_open(assignment, revisable=revises and is_revisable(assignment, at))
    if assignment.state == Assignment.State.SUBMITTED:
        return LockedHit(assignment, assignment.late)
    late = assignment.state == EXPIRED or (assignment.expires_at is not None and assignment.expires_at <= at)
    reacquired = (
        assignment.state == EXPIRED and not annotator.assignments.claimed().exists() and reacquire_slot(assignment)
    )
    if reacquired:
        assignment.state = CLAIMED
    if assignment.state == CLAIMED and (reacquired or extend):
        lease = timedelta(minutes=assignment.hit.batch.lease_minutes)
        until, before = at + lease, assignment.expires_at
        if reacquired or before is None or until - before >= lease * LEAST_EXTENSION:
            assignment.expires_at = until
            assignment.save(update_fields=["state", "expires_at"])
    return LockedHit(assignment, late)


def require_open(assignment: Assignment, *, revisable: bool = False) -> None:
    """Refuse an assignment that is closed, or whose annotator may no longer work on it.

    revisable : it may have been submitted

    Raises: AssignmentClosed; ConsentNeeded when the annotator hasn't accepted the current consent text.
    """
    if assignment.state == Assignment.State.SUBMITTED and not revisable:
        raise AssignmentClosed(_("This HIT was submitted before; nothing was changed."))
    if assignment.state == Assignment.State.RETURNED:
        raise AssignmentClosed(_("You returned this HIT; nothing was changed."))
    if assignment.annotator.excluded or assignment.annotator.withdrawn_at:
        raise AssignmentClosed(_("Your work in this study has ended; nothing was changed. Thank you."))
    if not has_consented(assignment.annotator):
        raise ConsentNeeded(_("Please answer the consent question first; nothing was changed."))


def reacquire_slot(assignment: Assignment) -> bool:
    """Take a free slot for an expired assignment. Return False if none is free or its matchup was rated since.

    Qualifications and checks need no slot. No slot for a blocked annotator, one at a cap, or a batch that isn't open.
    """
    batch = assignment.hit.batch
    batch.study = assignment.annotator.study
    if assignment.annotator.blocked_at is not None:
        return False
    if batch.status != Batch.Status.OPEN or batch.study.archived_at is not None:
        return False
    if assignment.purpose != Assignment.Purpose.RATING:
        return True
    other_claims = assignment.annotator.assignments.exclude(pk=assignment.pk).exclude(state=EXPIRED)
    if other_claims.filter(hit__matchup_id=assignment.hit.matchup_id).exists():
        return False
    if not for_rating(assignment.annotator, [batch], ClaimKind.SENT):
        return False
    return take_free_slot(assignment)
