"""Claim and return HITs, in one short transaction each that is safe on both databases."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

from django.db import transaction
from django.db.models import Exists, Max, QuerySet
from django.utils.translation import gettext as _

from annotation.allocation import queue
from annotation.allocation.lease import accepted, has_consented, require_open
from annotation.allocation.no_work import has_ended, no_work_reason
from annotation.core.database.prepared import Prepared, PreparedInsert, PreparedUpdate
from annotation.core.errors import AssignmentClosed, ClaimRefused, ConsentNeeded
from annotation.core.keys import new_seed
from annotation.hits.displays import derived_seed, draw_displays
from annotation.hits.slots import release_expired, reopen_slots
from annotation.models import Annotator, ArmDraw, Assignment, Batch, Display, Instance, Slot, Study
from annotation.models.hits import SlotQuerySet
from annotation.models.studies import ArmUnit
from annotation.quality import qualification
from annotation.quality.hidden_checks import CHECKS, next_check
from annotation.recruitment.base import ClaimKind


def arm_of(assignment: Assignment) -> str:
    """Return an assignment's arm, drawn now if its rater or instance has none. It is empty without a second stage."""
    study = assignment.hit.batch.study
    if not study.is_two_stage or assignment.purpose == Assignment.Purpose.QUALIFICATION:
        return ""
    if assignment.repeat_of:
        return assignment.repeat_of.arm
    if study.arm_unit == ArmUnit.RATER:
        return draw_arm(study=study, annotator=assignment.annotator)
    if assignment.purpose == Assignment.Purpose.GOLD:  # gold instances are not among those compared
        drawn: str = Random(derived_seed(assignment.seed, "arm")).choice(list(study.arms))
        return drawn
    return draw_arm(study=study, instance=assignment.hit.matchup.instance)


def arm_of_rater(annotator: Annotator, *, draw: bool = True) -> str:
    """Return a rater's arm where the study assigns raters to arms, else an empty string.

    draw : store it if it is new; without, return the arm that would be drawn now
    """
    study = annotator.study
    if not study.is_two_stage or study.arm_unit != ArmUnit.RATER:
        return ""
    if draw:
        return draw_arm(study=study, annotator=annotator)
    if drawn := ArmDraw.objects.filter(study=study, annotator=annotator).first():
        return drawn.arm
    return nth_arm(study, _next_number(study))


@transaction.atomic
def draw_arm(*, study: Study, annotator: Annotator | None = None, instance: Instance | None = None) -> str:
    """Return the arm of a rater or an instance, drawn at their first arrival.

    Each block of arrivals holds every arm once, in a seeded order: the sizes of two arms differ by one at most, and
    the next arm can't be predicted.
    """
    unit = {"annotator": annotator, "instance": instance}
    draws = ArmDraw.objects.filter(study=study, **unit)
    if drawn := draws.first():
        return drawn.arm
    study = Study.objects.select_for_update().get(pk=study.pk)  # arrivals take turns
    if drawn := draws.first():
        return drawn.arm
    number = _next_number(study)
    return ArmDraw.objects.create(study=study, number=number, arm=nth_arm(study, number), **unit).arm


def _next_number(study: Study) -> int:
    last = ArmDraw.objects.filter(study=study).aggregate(last=Max("number"))["last"]
    return 0 if last is None else last + 1


def nth_arm(study: Study, number: int) -> str:
    """Return the arm of the n-th arrival (from 0)."""
    block, index = divmod(number, len(study.arms))
    order = list(study.arms)
    Random(derived_seed(study.seed, "arms", block)).shuffle(order)
    return str(order[index])


def _unfinished(annotator: int) -> QuerySet[Assignment]:
    return Assignment.objects.unfinished().filter(annotator=annotator).order_by("pk")


def _annotator_for_update(annotator: int, at: datetime) -> QuerySet[Annotator]:
    locked = Annotator.objects.select_for_update(of=("self",)).select_related("study").filter(pk=annotator).order_by()
    columns = {
        "accepted": accepted("pk", "study__consent_version"),
        "any_expired": Exists(Assignment.objects.expired(at).order_by()),
    }
    return locked.annotate(**columns)


def _fill_slot(slot: int, assignment: int) -> tuple[QuerySet[Slot], dict[str, Any]]:
    return Slot.objects.filter(pk=slot), {"assignment": assignment}


_UNFINISHED, _LOCKED, _FILL_SLOT = Prepared(_unfinished), Prepared(_annotator_for_update), PreparedUpdate(_fill_slot)
_NEW_ASSIGNMENT, _NEW_DISPLAYS = PreparedInsert(Assignment), PreparedInsert(Display)


def claim_hit(*, annotator: Annotator, at: datetime) -> Assignment:
    """Return the annotator's open HIT, or claim the next one.

    In this order: a qualification; an unfinished HIT whose lease expired; at the batch's rates, a hidden check; the HIT
    with the fewest filled or claimed slots, within every cap and the balance of arms. No annotator gets a HIT twice
    (declared repeats aside), nor a second HIT of the same matchup.
    Raises: ConsentNeeded; ClaimRefused saying why there is nothing to rate.
    """
    claimed = _claim(annotator, at)
    if claimed is None:
        release_expired(at=at)  # in a transaction of its own, kept even if this annotator gets nothing
        claimed = _claim(annotator, at, stop_at_expired=False)
    if claimed is None:
        raise TypeError("a claim without stop_at_expired returns an assignment")
    return claimed


def claim_at_once(*, annotator: Annotator, at: datetime) -> Assignment | None:
    """Claim as `claim_hit` a HIT that is shown at once, within the caller's transaction, which has locked this annotator.

    The annotator has no unfinished HIT; no expired claims are released. None if refused.
    """
    try:
        if not _may_work(annotator):
            return None
        if not annotator.study.is_two_stage:
            return _claim_new(annotator, at, shown_at=at)
        with transaction.atomic():
            claimed = _claim_new(annotator, at, shown_at=at)
            # Undoes the draw of an arm where there is no HIT; nothing else is written before a refusal.
            transaction.set_rollback(claimed is None)
            return claimed
    except (ConsentNeeded, ClaimRefused):
        return None


@transaction.atomic
def _claim(annotator: Annotator, at: datetime, *, stop_at_expired: bool = True) -> Assignment | None:
    """Claim as `claim_hit`, or None when expired claims are to be released first."""
    annotator = _locked(annotator, at)
    if stop_at_expired and annotator.any_expired:
        return None
    if (claimed := _claim_locked(annotator, at)) is None:
        # This undoes the draw of an arm too, which keeps the arms balanced.
        raise ClaimRefused(no_work_reason(annotator, at))
    return claimed


def _claim_locked(annotator: Annotator, at: datetime) -> Assignment | None:
    """Claim for an annotator who is locked, or None where there is nothing for them."""
    if not _may_work(annotator):
        return None
    # A query of its own: the locking statement may have waited, and reads the other tables as of its start.
    unfinished = _UNFINISHED.all(annotator=annotator.pk)
    if current := next((assignment for assignment in unfinished if assignment.state == Assignment.State.CLAIMED), None):
        return current
    return _claim_new(annotator, at, unfinished)


def _may_work(annotator: Annotator) -> bool:
    """Tell whether an annotator's work goes on. Raises: ConsentNeeded."""
    if has_ended(annotator):
        return False
    if not has_consented(annotator):
        raise ConsentNeeded(_("Please answer the consent question first."))
    return True


def _claim_new(
    annotator: Annotator, at: datetime, unfinished: Sequence[Assignment] = (), shown_at: datetime | None = None
) -> Assignment | None:
    """Claim for an annotator who is locked, may work and has no open HIT, or None where there is nothing for them."""
    batches = queue.open_batches(annotator)
    qualifies = any(batch.purpose == Batch.Purpose.QUALIFICATION for batch in batches)
    if qualifies and (test := qualification.next_assignment(annotator, at)) is not None:
        return _begin(test, at, shown_at)
    if unfinished and (resumed := _resume(annotator, unfinished, batches, at)) is not None:
        return resumed
    return _claim_next(annotator, batches, at, shown_at)


def _claim_next(
    annotator: Annotator, batches: Sequence[Batch], at: datetime, shown_at: datetime | None
) -> Assignment | None:
    """Claim the next HIT of the queue, or the hidden check due before it, or None where there is neither."""
    rating = queue.for_rating(annotator, batches)
    slot = queue.lock_next(annotator, rating, arm_of_rater(annotator)) if rating else None
    if slot is None:
        return None
    batch = next(candidate for candidate in rating if candidate.pk == slot.batch_id)
    if (check := next_check(annotator, batch)) is not None:
        return _begin(check, at, shown_at)
    slot.hit.batch = batch
    assignment = Assignment(hit=slot.hit, annotator=annotator, seed=new_seed())
    return _start_in_slot(slot, assignment, at, shown_at)


def _resume(
    annotator: Annotator, unfinished: Sequence[Assignment], batches: Sequence[Batch], at: datetime
) -> Assignment | None:
    """Claim an unfinished HIT, or an unfinished hidden check, once more."""
    if (check := next((candidate for candidate in unfinished if candidate.purpose in CHECKS), None)) is not None:
        return _begin(check, at)
    by_hit = {candidate.hit_id: candidate for candidate in unfinished if candidate.purpose == Assignment.Purpose.RATING}
    rating = queue.for_rating(annotator, batches, ClaimKind.RESUMED) if by_hit else []
    if not rating:
        return None
    arms = queue.arms_open_to(annotator, arm_of_rater(annotator))
    slots = queue.free_slots(annotator, rating).filter(hit__in=by_hit, arm__in=arms)
    slot = queue.lock_first(slots)
    if slot is None:
        return None
    assignment = by_hit[slot.hit_id]
    assignment.hit = slot.hit
    return _start_in_slot(slot, assignment, at)


def _start_in_slot(slot: Slot, assignment: Assignment, at: datetime, shown_at: datetime | None = None) -> Assignment:
    """Begin an assignment in a locked slot."""
    slot.assignment = _begin(assignment, at, shown_at)
    _FILL_SLOT.run(slot=slot.pk, assignment=assignment.pk)
    return assignment


def _locked(annotator: Annotator, at: datetime) -> Annotator:
    """Lock an annotator, which serializes one person's tabs."""
    row = _LOCKED.first(annotator=annotator.pk, at=at)
    if row is None:
        raise Annotator.DoesNotExist(annotator.pk)
    return row


def _begin(assignment: Assignment, at: datetime, shown_at: datetime | None = None) -> Assignment:
    """Start an assignment's lease, and draw its displays unless it has them."""
    is_new = assignment.pk is None
    if is_new:
        assignment.claimed_at = at
        assignment.arm = arm_of(assignment)
    assignment.state = Assignment.State.CLAIMED
    assignment.expires_at = at + timedelta(minutes=assignment.hit.batch.lease_minutes)
    if is_new:
        _NEW_ASSIGNMENT.run([assignment])
    else:
        assignment.save()
    if is_new or not assignment.displays.exists():
        displays = draw_displays(assignment)
        for display in displays:
            display.shown_at = shown_at
        _NEW_DISPLAYS.run(displays)
    return assignment


def claimable_slots(annotator: Annotator) -> SlotQuerySet:
    """Return the free slots that this annotator may take now."""
    rating = queue.for_rating(annotator, queue.open_batches(annotator))
    slots = queue.free_slots(annotator, rating)
    return slots.filter(arm__in=queue.arms_open_to(annotator, arm_of_rater(annotator, draw=False)))


def has_work(annotator: Annotator) -> bool:
    """Tell whether this annotator has a claimed HIT, one to claim, or a qualification."""
    if has_ended(annotator):
        return False
    if annotator.assignments.claimed().exists():
        return True
    if not claimable_slots(annotator).exists():
        return False  # no qualification where no HIT would follow
    standing = qualification.qualification_status(annotator)
    return not standing.required or standing.attempts_left > 0


@transaction.atomic
def return_hit(*, assignment: Assignment, reason: str, comment: str, at: datetime) -> Assignment:
    """Return a HIT: its slot becomes free, its votes are kept but not counted, and the annotator doesn't get it again.

    Raises: AssignmentClosed when it is submitted or returned already, belongs to the qualification, or the annotator
    has withdrawn; ConsentNeeded.
    """
    annotator = _locked(assignment.annotator, at)
    assignment = Assignment.objects.select_for_update(of=("self",)).get(pk=assignment.pk)
    assignment.annotator = annotator
    require_open(assignment)
    if assignment.purpose == Assignment.Purpose.QUALIFICATION:
        raise AssignmentClosed(_("The first HITs can't be returned. You may stop whenever you like."))
    assignment.state = Assignment.State.RETURNED
    assignment.returned_at, assignment.expires_at = at, None
    assignment.return_reason, assignment.return_comment = reason, comment
    assignment.save()
    reopen_slots([assignment.pk], {assignment.hit_id})
    return assignment
