"""Exclude raters and their work from results, and include them again. Nothing is deleted."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from annotation.core.counting import number_of
from annotation.core.errors import AssignmentClosed, Unacceptable
from annotation.core.reasons import NO_REASON
from annotation.hits.idle import idle_claims, idle_minutes, with_activity
from annotation.hits.slots import reopen_slots, take_free_slot
from annotation.models import Annotator, Assignment, Batch, Event
from annotation.studies.log import log

LONGEST_REASON = 300
CLAIMED, EXPIRED, SUBMITTED = Assignment.State.CLAIMED, Assignment.State.EXPIRED, Assignment.State.SUBMITTED
RATING = Assignment.Purpose.RATING


@dataclass(frozen=True)
class Effect:
    """The result of a decision, in numbers.

    changed  : False when it had been taken before, and nothing was written
    reopened : slots of submitted HITs that are free for others now
    ended    : open claims that were ended
    counted  : HITs that count again
    surplus  : HITs that stay stored but don't count: others have filled their slots meanwhile
    """

    changed: bool
    reopened: int = 0
    ended: int = 0
    counted: int = 0
    surplus: int = 0

    @property
    def message(self) -> str:
        """The result as a message to the admin."""
        if not self.changed:
            return "This was done before; nothing was changed."
        parts = ["Done."]
        if self.reopened:
            parts.append(f"{number_of(self.reopened, 'slot')} {'is' if self.reopened == 1 else 'are'} open again.")
        if self.ended:
            parts.append("Their open HIT is free for others.")
        if self.counted:
            parts.append(f"{number_of(self.counted, 'HIT')} {'counts' if self.counted == 1 else 'count'} again.")
        if self.surplus:
            stays, places = ("stays", "its place") if self.surplus == 1 else ("stay", "their places")
            parts.append(f"{number_of(self.surplus, 'HIT')} {stays} uncounted: others have {places}.")
        return " ".join(parts)


@transaction.atomic
def exclude_annotator(*, annotator: Annotator, reason: str, reopen: bool, by: User | None, at: datetime) -> Effect:
    """Exclude a rater and all their ratings from results. They get no further HIT, and their open claim ends.

    reopen : open the slots of their HITs for others; possible later too, by excluding them again
    Raises: Unacceptable for a rater who has withdrawn.
    """
    annotator = _lock(annotator)
    newly = not annotator.excluded
    claims = list(annotator.assignments.filter(state=CLAIMED).select_for_update(of=("self",)))
    filled = annotator.assignments.filter(state=SUBMITTED, slot__isnull=False) if reopen else Assignment.objects.none()
    losing = list(filled.only("pk", "key", "hit_id"))
    if not (newly or claims or losing):
        return Effect(changed=False)
    _reopen([*losing, *claims])
    _expire(claims, at)
    if newly:
        annotator.excluded, annotator.exclusion_reason = True, reason
        annotator.save(update_fields=["excluded", "exclusion_reason"])
    changes = {"slots_reopened": len(losing), "claims_ended": len(claims), **_lost_slots(losing)}
    _log(Event.Kind.EXCLUDED, annotator, reason, by, at, changes=changes)
    return Effect(changed=True, reopened=len(losing), ended=len(claims))


@transaction.atomic
def include_annotator(*, annotator: Annotator, reason: str = "", by: User | None, at: datetime) -> Effect:
    """Take an exclusion back. A HIT that lost its slot counts again only if a slot is still free.

    HITs that were rejected one by one stay rejected.
    Raises: Unacceptable for a rater who has withdrawn.
    """
    annotator = _lock(annotator)
    if not annotator.excluded:
        return Effect(changed=False)
    annotator.excluded, annotator.exclusion_reason = False, ""
    annotator.save(update_fields=["excluded", "exclusion_reason"])
    standing = annotator.assignments.filter(state=SUBMITTED, purpose=RATING, excluded=False)
    slots_held = standing.filter(slot__isnull=False).count()
    counted, surplus = _refill_slots(annotator, standing)
    changes = {"hits_counted_again": slots_held + counted, "hits_left_uncounted": surplus}
    _log(Event.Kind.INCLUDED, annotator, reason, by, at, changes=changes)
    return Effect(changed=True, counted=slots_held + counted, surplus=surplus)


@transaction.atomic
def reject_assignment(*, assignment: Assignment, reason: str, reopen: bool, by: User | None, at: datetime) -> Effect:
    """Exclude one submitted HIT from results. With `reopen` others may rate it. The pay due for it doesn't change.

    Raises: Unacceptable when its rater has withdrawn; AssignmentClosed when it isn't submitted.
    """
    assignment = _lock_assignment(assignment)
    if assignment.state != SUBMITTED:
        raise AssignmentClosed("Only a submitted HIT can be rejected; a claim can be released.")
    newly = not assignment.excluded
    losing = [assignment] if reopen and hasattr(assignment, "slot") else []
    if not (newly or losing):
        return Effect(changed=False)
    _reopen(losing)
    if newly:
        assignment.excluded, assignment.exclusion_reason = True, reason
        assignment.save(update_fields=["excluded", "exclusion_reason"])
    changes = {"slots_reopened": len(losing), **_lost_slots(losing)}
    _log(Event.Kind.REJECTED, assignment.annotator, reason, by, at, assignment=assignment, changes=changes)
    return Effect(changed=True, reopened=len(losing))


@transaction.atomic
def accept_assignment(*, assignment: Assignment, reason: str = "", by: User | None, at: datetime) -> Effect:
    """Take a rejection back. A HIT that lost its slot counts again only if a slot is still free.

    Raises: Unacceptable when its rater has withdrawn.
    """
    assignment = _lock_assignment(assignment)
    if not assignment.excluded:
        return Effect(changed=False)
    annotator = assignment.annotator
    assignment.excluded, assignment.exclusion_reason = False, ""
    assignment.save(update_fields=["excluded", "exclusion_reason"])
    counted = surplus = 0
    if not annotator.excluded:  # else `include_annotator` does it
        counted = int(hasattr(assignment, "slot"))
        refilled, surplus = _refill_slots(annotator, annotator.assignments.filter(pk=assignment.pk, purpose=RATING))
        counted += refilled
    changes = {"hits_counted_again": counted, "hits_left_uncounted": surplus}
    _log(Event.Kind.ACCEPTED, annotator, reason, by, at, assignment=assignment, changes=changes)
    return Effect(changed=True, counted=counted, surplus=surplus)


@transaction.atomic
def release_claim(
    *, assignment: Assignment, reason: str = "", by: User | None, at: datetime, idle: timedelta | None = None
) -> Effect:
    """End a claim as if its lease had expired: others may claim the HIT, and until then its rater can continue.

    idle : release it only if its rater has been idle for at least this time
    Raises: AssignmentClosed when it isn't claimed any more; Unacceptable when its rater has withdrawn.
    """
    assignment = _lock_assignment(assignment)
    if assignment.state != CLAIMED:
        raise AssignmentClosed("This HIT is no longer claimed; nothing was changed.")
    changes = {}
    if idle is not None:
        minutes = idle_minutes(with_activity(Assignment.objects.filter(pk=assignment.pk)).get(), at, idle)
        if minutes is None:
            return Effect(changed=False)
        changes = {"idle_minutes": minutes}
    _reopen([assignment])
    _expire([assignment], at)
    _log(Event.Kind.RELEASED, assignment.annotator, reason, by, at, assignment=assignment, changes=changes)
    return Effect(changed=True, ended=1)


def release_idle(*, batch: Batch, after: timedelta, reason: str = "", by: User | None, at: datetime) -> int:
    """Release the claims of a batch whose raters have been idle for at least `after` and return how many.

    Each claim is checked again in a transaction of its own: a rater who votes or submits meanwhile keeps their HIT.
    """
    released = 0
    for claim in idle_claims(batch, at, after):
        try:
            effect = release_claim(assignment=claim.assignment, reason=reason, by=by, at=at, idle=after)
        except (AssignmentClosed, Unacceptable):  # submitted, returned or withdrawn since
            continue
        released += effect.ended
    return released


@transaction.atomic
def unblock_annotator(*, annotator: Annotator, by: User | None, at: datetime) -> Effect:
    """Unblock a rater, and log who decided it. A further check may block them again.

    Raises: Unacceptable for a rater who has withdrawn.
    """
    annotator = _lock(annotator)
    if annotator.blocked_at is None:
        return Effect(changed=False)
    reason = annotator.block_reason.stored()
    annotator.blocked_at, annotator.block_reason = None, NO_REASON
    annotator.save(update_fields=["blocked_at", "block_reason"])
    _log(Event.Kind.UNBLOCKED, annotator, "", by, at, changes={"block_reason": [reason, ""]})
    return Effect(changed=True)


def _lock(annotator: Annotator) -> Annotator:
    """Lock a rater, which serializes the decision with their own requests."""
    locked = Annotator.objects.select_for_update(of=("self",)).select_related("study").get(pk=annotator.pk)
    if locked.withdrawn_at is not None:
        raise Unacceptable("This rater has withdrawn: nothing of theirs counts, and that is final.")
    return locked


def _lock_assignment(assignment: Assignment) -> Assignment:
    annotator = _lock(assignment.annotator)
    locked = Assignment.objects.select_for_update(of=("self",)).select_related("hit__batch").get(pk=assignment.pk)
    locked.annotator = annotator
    return locked


def _expire(claims: Collection[Assignment], at: datetime) -> None:
    Assignment.objects.filter(pk__in=[claim.pk for claim in claims]).update(state=EXPIRED, expires_at=at)


def _reopen(assignments: Collection[Assignment]) -> None:
    reopen_slots([assignment.pk for assignment in assignments], {assignment.hit_id for assignment in assignments})


def _lost_slots(losing: Collection[Assignment]) -> dict[str, str]:
    """Record in the log's changes which assignments lose their slots: only these may be refilled later."""
    return {"assignments": " ".join(assignment.key for assignment in losing)} if losing else {}


def _refill_slots(annotator: Annotator, assignments: QuerySet[Assignment]) -> tuple[int, int]:
    """Give assignments that lost their slot a free one of their HIT and return how many got one, and how many none."""
    events = annotator.events.filter(kind__in=(Event.Kind.EXCLUDED, Event.Kind.REJECTED))
    lost = {
        key
        for changes in events.values_list("changes", flat=True)
        for key in str(changes.get("assignments", "")).split()
    }
    without = assignments.filter(slot=None, key__in=lost).order_by("submitted_at", "pk")
    refilled = [take_free_slot(assignment) for assignment in without]
    return sum(refilled), len(refilled) - sum(refilled)


def _log(kind: Event.Kind, annotator: Annotator, reason: str, by: User | None, at: datetime, **details: Any) -> None:
    assignment = details.get("assignment")
    if assignment is not None:
        details["batch"] = assignment.hit.batch
    log(study=annotator.study, kind=kind, by=by, at=at, annotator=annotator, reason=reason, **details)
