"""Prolific's submissions: whose they are, in which state, and with which code their participants are sent back."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.errors import ClaimRefused
from annotation.models import Annotator, Assignment, Channel, Event, Participant, Submission
from annotation.services.arrivals import join_counted
from annotation.services.consent import latest_consent
from annotation.services.log import log
from annotation.services.participants import join, open_submission
from annotation.services.prolific_site import ProlificSettings
from annotation.services.slots import reopen_slots

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
MOST_SUBMISSIONS = 20  # of one participant: Prolific gives a study once
FINAL = frozenset({State.APPROVED, State.REJECTED, State.RETURNED})
RAN_OUT = "TIMED-OUT"
# Outcomes by their values: their module imports the adapter, which imports this one.
COMPLETED, SCREENED_OUT, TIMED_OUT, NOTHING = "completed", "screened-out", "timed-out", "nothing"
_ENDS = {COMPLETED: State.COMPLETED, SCREENED_OUT: State.SCREENED_OUT, TIMED_OUT: State.TIMED_OUT}
_RATED = (Assignment.Purpose.RATING, Assignment.Purpose.GOLD, Assignment.Purpose.REPEAT)


@dataclass(frozen=True)
class Arrival:
    """Who comes, as the address says."""

    participant: str
    submission: str


@dataclass(frozen=True)
class End:
    """How a submission ended: the state it is in, and the code that goes with it, if any."""

    state: str
    code: str = ""


def status_named(text: Any) -> str:
    """Return a status as Prolific's documentation writes it, also where it came with underscores; empty if unknown."""
    plain = str(text).strip().upper().replace("_", " ")
    plain = RAN_OUT if plain == "TIMED OUT" else plain
    return plain if plain in STATES else ""


@transaction.atomic
def admit(
    *, channel: Channel, arrival: Arrival, proven: bool, vouched: bool, address: str | None, at: datetime
) -> Submission:
    """Return the submission of whoever arrives, who is made a rater if they come for the first time.

    proven  : this browser is known to be theirs, or Prolific has signed that it is them
    vouched : Prolific itself has just said that there is this submission, and that it is theirs
    address : where they come from, which counts for those whom nobody vouches for
    Raises: ClaimRefused when the place is another browser's, the submission somebody else's or over, one too many or
    made up, or the channel shut and they are new; TooManyArrivals.
    """
    if vouched:
        participant, is_new = join(channel=channel, external_id=arrival.participant, at=at)
    else:
        participant, is_new = join_counted(channel=channel, external_id=arrival.participant, address=address, at=at)
    if not (is_new or proven or _let_in(participant)):
        raise ClaimRefused(
            _(
                "Somebody began with this link in another browser. If that was you, please go on in that one. "
                "If you can’t, write to the researcher, who can let you in here."
            )
        )
    heard = channel.submissions.filter(external_id=arrival.submission).first()
    if heard is not None and heard.details.get("participant_id", arrival.participant) != arrival.participant:
        raise ClaimRefused(_("This link belongs to somebody else."))
    if not (vouched or (heard is not None and is_vouched_for(heard))):
        _refuse_made_up(participant, is_new=heard is None)
    submission, _made = open_submission(participant=participant, external_id=arrival.submission, at=at)
    if vouched and not submission.details.get("vouched"):
        submission.details = {**submission.details, "vouched": True}
        submission.save(update_fields=["details"])
    if submission.state == State.RETURNED:
        raise ClaimRefused(_("You have returned this submission at Prolific, so there is nothing to do here."))
    if submission.state in FINAL:
        raise ClaimRefused(_("This submission has been decided on at Prolific, so there is nothing more to do here."))
    return submission


def is_vouched_for(submission: Submission) -> bool:
    """Tell whether Prolific has said that there is this submission: on arrival, in a message, or in a sync."""
    return not {"vouched", "status", "in_study"}.isdisjoint(submission.details)


def _refuse_made_up(participant: Participant, *, is_new: bool) -> None:
    """Refuse ids that a participant may have made up: more than anybody needs, and any after a rejection.

    Raises: ClaimRefused.
    """
    if participant.submissions.filter(state=State.REJECTED).exists():
        raise ClaimRefused(
            _("An earlier submission of yours was rejected at Prolific, and Prolific has not told of this one.")
        )
    if is_new and participant.submissions.count() >= MOST_SUBMISSIONS:
        raise ClaimRefused(_("Too many submissions have been opened under this Prolific id."))


def _let_in(participant: Participant) -> bool:
    """Tell whether an admin has let this participant in from another browser; that holds for one arrival."""
    submission = _latest(participant)
    if submission is None or not submission.details.get("other_browser"):
        return False
    submission.details = {name: value for name, value in submission.details.items() if name != "other_browser"}
    submission.save(update_fields=["details"])
    return True


@transaction.atomic
def release_browser(*, submission: Submission) -> None:
    """Let a participant's next arrival in from any browser; the sessions and cookies of the one before are void at once.

    Raises: ClaimRefused when nobody has come for this submission.
    """
    submission = Submission.objects.select_for_update(of=("self",)).get(pk=submission.pk)
    user = submission.participant.annotator.user if submission.participant else None
    if user is None or submission.participant is None:
        raise ClaimRefused(_("Nobody has come for this submission."))
    user.password = make_password(None)  # sessions and cookies are signed with it
    user.save(update_fields=["password"])
    latest = _latest(submission.participant) or submission
    latest.details = {**latest.details, "other_browser": True}
    latest.save(update_fields=["details"])


def _latest(participant: Participant) -> Submission | None:
    return participant.submissions.select_for_update(of=("self",)).order_by("-pk").first()


def is_over(annotator: Annotator) -> bool:
    """Tell whether the participant's present submission takes no further work: at Prolific it is no longer active."""
    submission = Submission.objects.filter(participant__annotator=annotator).order_by("-pk").first()
    if submission is None:
        return False
    status = submission.details.get("status", "")
    if submission.state in FINAL or STATES.get(status, State.STARTED) != State.STARTED:
        return True
    rejected = Submission.objects.filter(participant=submission.participant_id, state=State.REJECTED)
    return not is_vouched_for(submission) and rejected.exists()


@transaction.atomic
def hear(*, submission: Submission, status: str, at: datetime, said_at: float | None = None) -> bool:
    """Take over what Prolific says of a submission; tell whether anything changed.

    A return, or Prolific's time-out, frees the HIT that its participant is at.

    said_at : when a message was sent, whose order is not kept on the way: an older one changes nothing, and none moves
              what was decided back. None: Prolific was asked just now, and what it says holds.
    """
    submission = Submission.objects.select_for_update(of=("self",)).get(pk=submission.pk)
    details, state = submission.details, _state(submission, status)
    if said_at is not None:
        back = submission.state in FINAL and state not in FINAL
        begun_anew = state == State.STARTED != submission.state  # nothing starts after its end
        if said_at < details.get("said_at", 0) or back or begun_anew:
            return False
        details = {**details, "said_at": said_at}
    changed = details.get("status") != status or submission.state != state
    if status in ("RETURNED", RAN_OUT) and changed and submission.participant is not None:
        _release(submission, status, at)
    submission.details = {**details, "status": status}
    submission.state = state
    submission.ended_at = None if state == State.STARTED else submission.ended_at or at
    submission.save(update_fields=["details", "state", "ended_at"])
    return changed


def _state(submission: Submission, status: str) -> State:
    """Return the state for a status; how the work ended here says more than that it awaits review there."""
    own = submission.details.get("outcome")
    if own and status in ("ACTIVE", "RESERVED", "AWAITING REVIEW"):
        return _ENDS[own]
    return STATES[status]


def _release(submission: Submission, status: str, at: datetime) -> None:
    """Free the HIT that a participant is at. After a return nothing more is taken for it, nor for one that ran out."""
    if submission.participant is None or _latest(submission.participant) != submission:
        return  # they are at work for a later submission
    annotator = Annotator.objects.select_for_update(of=("self",)).get(pk=submission.participant.annotator_id)
    returned = status == "RETURNED"
    states = [Assignment.State.CLAIMED, Assignment.State.EXPIRED] if returned else [Assignment.State.CLAIMED]
    held = annotator.assignments.filter(state__in=states).select_for_update(of=("self",)).select_related("hit__batch")
    for assignment in held:
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
def finish(*, annotator: Annotator, outcome: str, given: ProlificSettings, at: datetime) -> End | None:
    """Write down how a participant's work ended and return the code for it; asked again, it is the same.

    None while they are at a HIT, and for raters without a submission. Whoever has completed stays so; whoever is sent
    back for another reason may still complete. A submission for which nothing was rated gets no code for completion.
    """
    submission = (
        Submission.objects.select_for_update(of=("self",))
        .filter(participant__annotator=annotator)
        .order_by("-pk")
        .first()
    )
    if submission is None or annotator.assignments.filter(state=Assignment.State.CLAIMED).exists():
        return None
    if submission.state in FINAL:
        return End(submission.state)
    if submission.details.get("outcome") == COMPLETED:
        return End(State.COMPLETED, submission.code)
    if outcome == COMPLETED and not _rated_for(submission, annotator):
        outcome = NOTHING
    if outcome == NOTHING:
        return End("")
    submission.state = _ENDS[outcome]
    submission.code = _code(annotator, outcome, given)
    submission.details = {**submission.details, "outcome": str(outcome)}
    submission.ended_at = submission.ended_at or at
    submission.save(update_fields=["state", "code", "details", "ended_at"])
    return End(submission.state, submission.code)


def _rated_for(submission: Submission, annotator: Annotator) -> bool:
    """Tell whether a HIT was submitted since the participant's submission before this one ended."""
    mine = annotator.assignments.filter(state=Assignment.State.SUBMITTED, purpose__in=_RATED)
    before = Submission.objects.filter(participant=submission.participant_id, pk__lt=submission.pk)
    ended = before.exclude(ended_at=None).order_by("-ended_at").values_list("ended_at", flat=True).first()
    return (mine.filter(submitted_at__gt=ended) if ended else mine).exists()


def _code(annotator: Annotator, outcome: str, given: ProlificSettings) -> str:
    if outcome == COMPLETED:
        return given.completed
    if outcome == TIMED_OUT:
        return given.timed_out
    consent = latest_consent(annotator)
    return given.no_consent if consent is not None and not consent.accepted else given.screened_out
