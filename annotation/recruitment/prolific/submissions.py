"""Prolific's submissions: their participants, states and completion codes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.annotators.consent import latest_consent
from annotation.annotators.participants import join, open_submission
from annotation.core.errors import ClaimRefused
from annotation.hits.slots import reopen_slots
from annotation.models import Annotator, Assignment, Channel, Event, Participant, Submission
from annotation.recruitment.arrival_limits import join_limited
from annotation.recruitment.prolific.site import ProlificSettings
from annotation.recruitment.prolific.work import (
    current_submission,
    note_opened,
    submissions_of,
    work_of,
)
from annotation.studies.log import log

State = Submission.State
STATES = {
    "RESERVED": State.STARTED,
    "ACTIVE": State.STARTED,
    "AWAITING REVIEW": State.COMPLETED,
    "APPROVED": State.APPROVED,
    "PARTIALLY APPROVED": State.APPROVED,
    "REJECTED": State.REJECTED,
    "RETURNED": State.RETURNED,
    "TIMED-OUT": State.TIMED_OUT,
    "SCREENED OUT": State.SCREENED_OUT,
}
MOST_SUBMISSIONS = 20  # of one participant; Prolific offers a study once
FINAL = frozenset({State.APPROVED, State.REJECTED, State.RETURNED})
UNPAID = frozenset({State.RETURNED, State.REJECTED})
RAN_OUT = "TIMED-OUT"
# The values of WorkOutcome, whose module imports the adapter, which imports this one.
COMPLETED, SCREENED_OUT, TIMED_OUT, NOTHING = "completed", "screened-out", "timed-out", "nothing"
_ENDS = {COMPLETED: State.COMPLETED, SCREENED_OUT: State.SCREENED_OUT, TIMED_OUT: State.TIMED_OUT}


@dataclass(frozen=True)
class ProlificArrival:
    """The ids in the address of an arrival."""

    participant: str
    submission: str


def status_named(text: Any) -> str:
    """Normalize a status to the spelling of Prolific's documentation, or an empty string if unknown."""
    plain = str(text).strip().upper().replace("_", " ")
    plain = RAN_OUT if plain == "TIMED OUT" else plain
    return plain if plain in STATES else ""


@transaction.atomic
def admit(
    *, channel: Channel, arrival: ProlificArrival, proven: bool, confirmed: bool, address: str | None, at: datetime
) -> Submission:
    """Return the submission of an arriving participant, who becomes a rater if new.

    proven    : the browser is known to be theirs, or Prolific has signed the ids
    confirmed : Prolific has just confirmed the submission and its participant
    address   : network address of the visitor, which is limited unless confirmed
    Raises: ClaimRefused when the participant is bound to another browser, the submission is another participant's,
    over, one too many or made up, or the channel is closed to newcomers; TooManyArrivals.
    """
    if confirmed:
        participant, is_new = join(channel=channel, external_id=arrival.participant, at=at)
    else:
        participant, is_new = join_limited(channel=channel, external_id=arrival.participant, address=address, at=at)
    latest = _latest(participant) if not (is_new or proven) else None
    if latest is not None and latest.details.get("other_browser"):  # an admin has released the browser, once
        latest.details = {name: value for name, value in latest.details.items() if name != "other_browser"}
        latest.save(update_fields=["details"])
    elif not (is_new or proven):
        raise ClaimRefused(
            _(
                "This link was first used in another browser. If that was you, please continue in that one. "
                "If you can’t, write to the researcher, who can let you in here."
            )
        )
    existing = channel.submissions.filter(external_id=arrival.submission).first()
    if existing is not None and existing.details.get("participant_id", arrival.participant) != arrival.participant:
        raise ClaimRefused(_("This link belongs to another person."))
    if not (confirmed or (existing is not None and is_confirmed(existing))):  # the id may be made up
        if participant.submissions.filter(state=State.REJECTED).exists():
            raise ClaimRefused(
                _("An earlier submission of yours was rejected at Prolific, and Prolific has not reported this one.")
            )
        if existing is None and participant.submissions.count() >= MOST_SUBMISSIONS:
            raise ClaimRefused(_("Too many submissions have been opened under this Prolific id."))
    came_before = existing is not None and existing.participant_id is not None
    submission, _created = open_submission(participant=participant, external_id=arrival.submission, at=at)
    if confirmed and not submission.details.get("vouched"):
        submission.details = {**submission.details, "vouched": True}
        submission.save(update_fields=["details"])
    if submission.state == State.RETURNED and not submission.code:
        raise ClaimRefused(_("You have returned this submission at Prolific, so there is nothing to do here."))
    if submission.state in FINAL and not submission.code:
        raise ClaimRefused(_("This submission has been decided on at Prolific, so there is nothing more to do here."))
    # A claimed HIT stays with the submission that it was claimed for, unless this one takes further work.
    at_work = participant.annotator.assignments.filter(state=Assignment.State.CLAIMED)
    if (_is_active(submission) and not _has_ended(submission)) or not at_work.exists():
        note_opened(submission, came_before=came_before, at=at)
    return submission


def is_confirmed(submission: Submission) -> bool:
    """Tell whether Prolific has confirmed this submission: on arrival, by a webhook, or in a sync."""
    return not {"vouched", "status", "in_study"}.isdisjoint(submission.details)


@transaction.atomic
def release_browser(*, submission: Submission) -> None:
    """Admit a participant's next arrival from any browser, and invalidate the present sessions and cookies.

    Raises: ClaimRefused when the submission has no participant.
    """
    submission = Submission.objects.select_for_update(of=("self",)).get(pk=submission.pk)
    user = submission.participant.annotator.user if submission.participant else None
    if user is None or submission.participant is None:
        raise ClaimRefused("No rater has come with this submission.")
    user.password = make_password(None)  # sessions and cookies are signed with it
    user.save(update_fields=["password"])
    latest = _latest(submission.participant) or submission
    latest.details = {**latest.details, "other_browser": True}
    latest.save(update_fields=["details"])


def _latest(participant: Participant) -> Submission | None:
    return participant.submissions.select_for_update(of=("self",)).order_by("-pk").first()


def is_over(annotator: Annotator, *, begun: bool = False) -> bool:
    """Tell whether the participant's current submission takes no further HIT: it has ended here or at Prolific.

    begun : for an unfinished HIT, which may be finished after the end at Prolific until they have a code
    """
    submissions = submissions_of(annotator)
    current = current_submission(submissions)
    if current is None:
        return False
    if _has_ended(current) or not (begun or _is_active(current)):
        return True
    return not is_confirmed(current) and any(submission.state == State.REJECTED for submission in submissions)


def is_unpaid(annotator: Annotator) -> bool:
    """Tell whether the participant's current submission was returned or rejected, so that further work isn't paid."""
    current = current_submission(submissions_of(annotator))
    return current is not None and current.state in UNPAID


def _is_active(submission: Submission) -> bool:
    """Tell whether a submission is active at Prolific, by its last known status."""
    return STATES.get(submission.details.get("status", ""), State.STARTED) == State.STARTED


def _has_ended(submission: Submission) -> bool:
    """Tell whether a submission is decided on, or has an outcome that can't improve."""
    outcome = submission.details.get("outcome")
    return submission.state in FINAL or outcome == COMPLETED or (outcome == TIMED_OUT and bool(submission.code))


@transaction.atomic
def apply_status(*, submission: Submission, status: str, at: datetime, said_at: float | None = None) -> bool:
    """Apply Prolific's status to a submission and return whether anything changed.

    A return, or Prolific's time-out, releases the participant's claimed HIT. Nothing is due for the HITs of a submission
    that was returned or rejected.

    said_at : when a webhook message was sent; messages may arrive out of order, so an older one changes nothing, and
              none reverts a decision. None for the answer to a request, which always applies.
    """
    submission = Submission.objects.select_for_update(of=("self",)).get(pk=submission.pk)
    details, state = submission.details, _state(submission, status)
    if said_at is not None:
        back = submission.state in FINAL and state not in FINAL
        restarts = state == State.STARTED != submission.state  # nothing starts after its end
        if said_at < details.get("said_at", 0) or back or restarts:
            return False
        details = {**details, "said_at": said_at}
    changed = details.get("status") != status or submission.state != state
    if status in ("RETURNED", RAN_OUT) and changed and submission.participant is not None:
        _release(submission, submission.participant, status, at)
    submission.details = _settle_pay(submission, state, {**details, "status": status})
    submission.state = state
    submission.ended_at = None if state == State.STARTED else submission.ended_at or at
    submission.save(update_fields=["details", "state", "ended_at"])
    return changed


def _state(submission: Submission, status: str) -> State:
    """Return the state for a status. The outcome here is more specific than that it awaits review there.

    Completed work awaits a decision even if Prolific's time-out came before the code was submitted.
    """
    own = submission.details.get("outcome")
    if own and (status in ("ACTIVE", "RESERVED", "AWAITING REVIEW") or (own == COMPLETED and status == RAN_OUT)):
        return _ENDS[own]
    return STATES[status]


def _settle_pay(submission: Submission, state: State, details: dict[str, Any]) -> dict[str, Any]:
    """Set the pay of a submission's HITs to 0 where Prolific pays nothing, and back if that changes.

    Returns: the submission's details, with the pay that was due before in `unpaid`, by HIT
    """
    unpaid: dict[str, str | None] = details.get("unpaid", {})
    if state not in UNPAID:
        for pk, pay in unpaid.items():
            Assignment.objects.filter(pk=pk).update(pay_due=pay)
        return {name: value for name, value in details.items() if name != "unpaid"}
    if submission.participant is None:
        return details
    work = work_of(submission.participant.annotator, submission)
    submitted = work.filter(state=Assignment.State.SUBMITTED).exclude(pk__in=unpaid)
    settled = {str(pk): None if pay is None else str(pay) for pk, pay in submitted.values_list("pk", "pay_due")}
    Assignment.objects.filter(pk__in=settled, pay_due__isnull=False).update(pay_due=0)
    return {**details, "unpaid": {**unpaid, **settled}} if settled else details


def _release(submission: Submission, participant: Participant, status: str, at: datetime) -> None:
    """Release a participant's claimed HIT. After a return, mark it and expired ones as returned."""
    if current_submission(list(participant.submissions.all())) != submission:
        return  # they are at work for another submission
    annotator = Annotator.objects.select_for_update(of=("self",)).get(pk=participant.annotator_id)
    returned = status == "RETURNED"
    states = [Assignment.State.CLAIMED, Assignment.State.EXPIRED] if returned else [Assignment.State.CLAIMED]
    mine = annotator.assignments.filter(state__in=states).select_for_update(of=("self",)).select_related("hit__batch")
    for assignment in mine:
        was_claimed = assignment.state == Assignment.State.CLAIMED
        reopen_slots([assignment.pk], {assignment.hit_id})
        if returned and assignment.purpose != Assignment.Purpose.QUALIFICATION:
            assignment.state, assignment.returned_at, assignment.expires_at = Assignment.State.RETURNED, at, None
            assignment.return_reason = Assignment.ReturnReason.OTHER
        else:
            assignment.state, assignment.expires_at = Assignment.State.EXPIRED, at
        assignment.save(update_fields=["state", "returned_at", "expires_at", "return_reason"])
        if was_claimed:
            log(
                study=annotator.study,
                kind=Event.Kind.RELEASED,
                at=at,
                annotator=annotator,
                batch=assignment.hit.batch,
                assignment=assignment,
                reason=f"Prolific: {status}",
            )


@transaction.atomic
def finish(*, annotator: Annotator, outcome: str, prolific: ProlificSettings, at: datetime) -> tuple[str, str] | None:
    """Record the outcome of a participant's current submission, and return its state and the code, if any.

    None while a HIT is claimed, and for raters without a submission. A code that was shown is kept; only the code for
    completion replaces another one.
    outcome : of the HITs done for this submission
    """
    current = current_submission(submissions_of(annotator))
    if current is None or annotator.assignments.filter(state=Assignment.State.CLAIMED).exists():
        return None
    submission = Submission.objects.select_for_update(of=("self",)).get(pk=current.pk)
    before = submission.details.get("outcome")
    if submission.state in FINAL:
        return submission.state, submission.code
    if before == COMPLETED or (submission.code and outcome != COMPLETED):
        return _ENDS[before], submission.code
    if outcome == NOTHING or (
        outcome == COMPLETED and not work_of(annotator).filter(state=Assignment.State.SUBMITTED).exists()
    ):
        return "", ""
    submission.state = _ENDS[outcome]
    consent = latest_consent(annotator) if outcome == SCREENED_OUT else None
    out = prolific.no_consent if consent is not None and not consent.accepted else prolific.screened_out
    submission.code = {COMPLETED: prolific.completed, TIMED_OUT: prolific.timed_out, SCREENED_OUT: out}[outcome]
    submission.details = {**submission.details, "outcome": str(outcome)}
    submission.ended_at = submission.ended_at or at
    submission.save(update_fields=["state", "code", "details", "ended_at"])
    return submission.state, submission.code
