"""Leaving raters and their work out of results, and taking them back in. Nothing is ever deleted by it."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.errors import AssignmentClosed, Unacceptable
from annotation.models import Annotator, Assignment, Event
from annotation.services.checks import unblock
from annotation.services.log import log
from annotation.services.slots import reopen_slots, take_free_slot

LONGEST_REASON = 300
CLAIMED, EXPIRED, SUBMITTED = Assignment.State.CLAIMED, Assignment.State.EXPIRED, Assignment.State.SUBMITTED
RATING = Assignment.Purpose.RATING


@dataclass(frozen=True)
class Effect:
    """What came of a decision.

    changed  : False when it had been taken before, and nothing was written
    reopened : slots of submitted HITs that are free for others now
    ended    : open claims that were ended
    counted  : HITs that count again
    surplus  : HITs that stay stored but don't count: others have filled their places meanwhile
    """

    changed: bool
    reopened: int = 0
    ended: int = 0
    counted: int = 0
    surplus: int = 0

    @property
    def told(self) -> str:
        """What came of it, for whoever decided."""
        if not self.changed:
            return _("That was so already; nothing was changed.")
        said = [_("Done.")]
        if self.reopened:
            said.append(ngettext("%d slot is open again.", "%d slots are open again.", self.reopened) % self.reopened)
        if self.ended:
            said.append(_("The HIT that they were at is free for others."))
        if self.counted:
            said.append(ngettext("%d HIT counts again.", "%d HITs count again.", self.counted) % self.counted)
        if self.surplus:
            told = ngettext(
                "%d HIT stays uncounted: others have its place.",
                "%d HITs stay uncounted: others have their places.",
                self.surplus,
            )
            said.append(told % self.surplus)
        return " ".join(said)


@transaction.atomic
def exclude_annotator(*, annotator: Annotator, reason: str, reopen: bool, by: User | None, at: datetime) -> Effect:
    """Leave everything that a rater rated out of results; they get no further HIT, and the one they are at ends.

    With `reopen` others may rate what they rated; that may be asked for later too, by excluding them again.
    Raises: Unacceptable without a reason, with one that is too long, or for somebody who has withdrawn.
    """
    annotator, reason = _lock(annotator), _read(reason)
    newly = not annotator.excluded
    claims = list(annotator.assignments.filter(state=CLAIMED).select_for_update(of=("self",)))
    held = annotator.assignments.filter(state=SUBMITTED, slot__isnull=False) if reopen else Assignment.objects.none()
    losing = list(held.only("pk", "key", "hit_id"))
    if not (newly or claims or losing):
        return Effect(changed=False)
    _reopen([*losing, *claims])
    _end(claims, at)
    if newly:
        annotator.excluded, annotator.exclusion_reason = True, reason
        annotator.save(update_fields=["excluded", "exclusion_reason"])
    changes = {"slots_reopened": len(losing), "claims_ended": len(claims), **_lost(losing)}
    _log(Event.Kind.EXCLUDED, annotator, reason, by, at, changes=changes)
    return Effect(changed=True, reopened=len(losing), ended=len(claims))


@transaction.atomic
def include_annotator(*, annotator: Annotator, reason: str = "", by: User | None, at: datetime) -> Effect:
    """Take an exclusion back. Work whose slot was given to others counts again only where one of the HIT is still free.

    HITs that were rejected one by one stay rejected.
    Raises: Unacceptable when the reason is too long, or for somebody who has withdrawn.
    """
    annotator, reason = _lock(annotator), _read(reason, needed=False)
    if not annotator.excluded:
        return Effect(changed=False)
    annotator.excluded, annotator.exclusion_reason = False, ""
    annotator.save(update_fields=["excluded", "exclusion_reason"])
    standing = annotator.assignments.filter(state=SUBMITTED, purpose=RATING, excluded=False)
    kept = standing.filter(slot__isnull=False).count()
    counted, surplus = _take_back(annotator, standing)
    changes = {"hits_counted_again": kept + counted, "hits_left_uncounted": surplus}
    _log(Event.Kind.INCLUDED, annotator, reason, by, at, changes=changes)
    return Effect(changed=True, counted=kept + counted, surplus=surplus)


@transaction.atomic
def reject_assignment(*, assignment: Assignment, reason: str, reopen: bool, by: User | None, at: datetime) -> Effect:
    """Leave one submitted HIT out of results; with `reopen` others may rate it. What is owed for it stays as it was.

    Raises: Unacceptable without a reason, with one that is too long, or when its rater has withdrawn; AssignmentClosed
    when it isn't submitted.
    """
    assignment, reason = _lock_assignment(assignment), _read(reason)
    if assignment.state != SUBMITTED:
        raise AssignmentClosed(_("Only a submitted HIT can be rejected; a claim can be released."))
    newly = not assignment.excluded
    losing = [assignment] if reopen and hasattr(assignment, "slot") else []
    if not (newly or losing):
        return Effect(changed=False)
    _reopen(losing)
    if newly:
        assignment.excluded, assignment.exclusion_reason = True, reason
        assignment.save(update_fields=["excluded", "exclusion_reason"])
    changes = {"slots_reopened": len(losing), **_lost(losing)}
    _log(Event.Kind.REJECTED, assignment.annotator, reason, by, at, assignment=assignment, changes=changes)
    return Effect(changed=True, reopened=len(losing))


@transaction.atomic
def accept_assignment(*, assignment: Assignment, reason: str = "", by: User | None, at: datetime) -> Effect:
    """Take a rejection back. If others had its slot, it counts again only where one of the HIT is still free.

    Raises: Unacceptable when the reason is too long, or when its rater has withdrawn.
    """
    assignment, reason = _lock_assignment(assignment), _read(reason, needed=False)
    if not assignment.excluded:
        return Effect(changed=False)
    annotator = assignment.annotator
    assignment.excluded, assignment.exclusion_reason = False, ""
    assignment.save(update_fields=["excluded", "exclusion_reason"])
    counted = surplus = 0
    if not annotator.excluded:  # else they wait for their rater
        counted = int(hasattr(assignment, "slot"))
        regained, surplus = _take_back(annotator, annotator.assignments.filter(pk=assignment.pk, purpose=RATING))
        counted += regained
    changes = {"hits_counted_again": counted, "hits_left_uncounted": surplus}
    _log(Event.Kind.ACCEPTED, annotator, reason, by, at, assignment=assignment, changes=changes)
    return Effect(changed=True, counted=counted, surplus=surplus)


@transaction.atomic
def release_claim(*, assignment: Assignment, reason: str = "", by: User | None, at: datetime) -> Effect:
    """End a claim as if its time had run out: others may have the HIT, and its rater goes on if none has taken it.

    Raises: AssignmentClosed when nobody is at it any more; Unacceptable when the reason is too long.
    """
    assignment, reason = _lock_assignment(assignment), _read(reason, needed=False)
    if assignment.state != CLAIMED:
        raise AssignmentClosed(_("Nobody is at this HIT any more; nothing was changed."))
    _reopen([assignment])
    _end([assignment], at)
    _log(Event.Kind.RELEASED, assignment.annotator, reason, by, at, assignment=assignment)
    return Effect(changed=True, ended=1)


@transaction.atomic
def let_go_on(*, annotator: Annotator, by: User | None, at: datetime) -> Effect:
    """Let a blocked rater go on, and keep who decided it.

    Raises: Unacceptable for somebody who has withdrawn.
    """
    annotator = _lock(annotator)
    if annotator.blocked_at is None:
        return Effect(changed=False)
    reason = annotator.block_reason
    unblock(annotator=annotator)
    _log(Event.Kind.UNBLOCKED, annotator, "", by, at, changes={"block_reason": [reason, ""]})
    return Effect(changed=True)


def _lock(annotator: Annotator) -> Annotator:
    """Lock a rater, so that this and what they send take turns."""
    found = Annotator.objects.select_for_update(of=("self",)).select_related("study").get(pk=annotator.pk)
    if found.withdrawn_at is not None:
        raise Unacceptable(_("This rater has withdrawn: nothing of theirs counts, and that is final."))
    return found


def _lock_assignment(assignment: Assignment) -> Assignment:
    annotator = _lock(assignment.annotator)
    locked = Assignment.objects.select_for_update(of=("self",)).select_related("hit__batch").get(pk=assignment.pk)
    locked.annotator = annotator
    return locked


def _read(reason: str, *, needed: bool = True) -> str:
    reason = reason.replace("\x00", "").strip()
    if needed and not reason:
        raise Unacceptable(_("Please give a reason; it is shown with the results."))
    if len(reason) > LONGEST_REASON:
        raise Unacceptable(_("The reason may have %d characters at most.") % LONGEST_REASON)
    return reason


def _end(claims: Collection[Assignment], at: datetime) -> None:
    Assignment.objects.filter(pk__in=[one.pk for one in claims]).update(state=EXPIRED, expires_at=at)


def _reopen(assignments: Collection[Assignment]) -> None:
    reopen_slots([one.pk for one in assignments], {one.hit_id for one in assignments})


def _lost(losing: Collection[Assignment]) -> dict[str, str]:
    """Note which assignments lose their slots, so that these and no others are given one when that is taken back."""
    return {"assignments": " ".join(one.key for one in losing)} if losing else {}


def _take_back(annotator: Annotator, assignments: QuerySet[Assignment]) -> tuple[int, int]:
    """Give those of these assignments that lost a slot a free one of their HIT; return how many got one, how many none."""
    took = annotator.events.filter(kind__in=(Event.Kind.EXCLUDED, Event.Kind.REJECTED))
    lost = {
        key for changes in took.values_list("changes", flat=True) for key in str(changes.get("assignments", "")).split()
    }
    without = assignments.filter(slot=None, key__in=lost).order_by("submitted_at", "pk")
    taken = [take_free_slot(one) for one in without]
    return sum(taken), len(taken) - sum(taken)


def _log(kind: Event.Kind, annotator: Annotator, reason: str, by: User | None, at: datetime, **what: Any) -> None:
    assignment = what.get("assignment")
    if assignment is not None:
        what["batch"] = assignment.hit.batch
    log(study=annotator.study, kind=kind, by=by, at=at, annotator=annotator, reason=reason, **what)
