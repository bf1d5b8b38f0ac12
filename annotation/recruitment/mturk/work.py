"""Match MTurk assignments with workers, and with the HITs that they rate here."""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from annotation.annotators.consent import latest_consent
from annotation.annotators.participants import join, open_submission
from annotation.core.errors import ClaimRefused
from annotation.models import Annotator, Assignment, Channel, Participant, PlatformAction, Submission
from annotation.quality.qualification import qualification_status
from annotation.recruitment.arrival_limits import join_limited

State = Submission.State
AT_WORK = (State.STARTED,)
DONE = (State.COMPLETED, State.SCREENED_OUT, State.APPROVED, State.REJECTED)
HIT = "hit"  # kind of action: a HIT offered on MTurk
UNVERIFIED = "unasked"  # stored for an assignment that MTurk was not asked about
MOST_UNDONE = 20  # unverified assignments of one worker without work; MTurk's own queue holds 25


@dataclass(frozen=True)
class MturkArrival:
    """The ids in the address that MTurk opened."""

    worker_id: str
    assignment_id: str
    hit_id: str


@transaction.atomic
def arrive(
    *, channel: Channel, arrival: MturkArrival, verified: str, at: datetime, address: str | None = None
) -> Submission:
    """Return, or create, the submission of an accepted assignment. An assignment stays its first worker's.

    verified : MTurk's answer about it
    address  : network address of the visitor, which is limited if unverified
    Raises: ClaimRefused when the assignment is another worker's or one too many, the HIT is not of this channel, or the
    channel is closed; TooManyArrivals.
    """
    refuse_unknown_hit(channel, arrival.hit_id)
    if verified == UNVERIFIED:
        participant, _new = join_limited(channel=channel, external_id=arrival.worker_id, address=address, at=at)
        opened = participant.submissions.all()
        undone = opened.filter(state__in=AT_WORK, details__verified=UNVERIFIED)
        # The ids may be made up.
        if not opened.filter(external_id=arrival.assignment_id).exists() and undone.count() >= MOST_UNDONE:
            raise ClaimRefused(_("You have accepted many HITs of this study. Please finish or return those first."))
    else:
        participant, _new = join(channel=channel, external_id=arrival.worker_id, at=at)
    submission, created = open_submission(participant=participant, external_id=arrival.assignment_id, at=at)
    if created or "hit_id" not in submission.details:
        submission.details = {**submission.details, "hit_id": arrival.hit_id, "verified": verified}
        submission.save(update_fields=["details"])
    return submission


def refuse_unknown_hit(channel: Channel, hit_id: str) -> None:
    """Refuse a HIT that this channel didn't offer, unless the answer to a CreateHIT is outstanding.

    Raises: ClaimRefused.
    """
    offered = channel.actions.filter(kind=HIT)
    if not offered.exists() or offered.filter(answer__hit_id=hit_id).exists():
        return
    if not offered.exclude(state=PlatformAction.State.DONE).filter(attempts__gte=1).exists():
        raise ClaimRefused(_("This HIT does not belong to this study. Please return it."))


@transaction.atomic
def begin(*, submission: Submission, opens: int, device: str, at: datetime) -> Annotator:
    """Admit a worker by the link in MTurk's frame, and make this assignment their current one.

    A link works once, or again in the same browser; a worker is bound to the first browser.
    opens  : how many links of this assignment had been used when this one was made
    device : a secret of the browser
    Raises: ClaimRefused.
    """
    if submission.participant_id is None:
        raise ValueError(f"submission {submission.pk} has no worker")
    participant = Participant.objects.select_for_update().get(pk=submission.participant_id)
    submission = Submission.objects.select_for_update(of=("self",)).get(pk=submission.pk)
    digest = hashlib.sha256(device.encode()).hexdigest()
    bound = browser_of(participant)
    if bound and not constant_time_compare(bound, digest):
        raise ClaimRefused(
            _("You began in another browser. Please continue in that one, or write to the researcher to use this one.")
        )
    details = submission.details
    if details.get("opens", 0) != opens and not bound:
        raise ClaimRefused(_("This link was used already. Please take the one in the MTurk window."))
    if submission.state in AT_WORK:
        opened = {"opens": details.get("opens", 0) + 1, "opened_at": at.isoformat(), "device": digest}
        submission.details = {**details, **opened}
        submission.save(update_fields=["details"])
    return Annotator.objects.select_related("user", "study").get(pk=participant.annotator_id)


def browser_of(participant: Participant) -> str:
    """Return the digest of a worker's browser. It is empty before the first link was used and after a release."""
    with_device = participant.submissions.filter(details__has_key="device").exclude(details__device="").order_by("-pk")
    return str(with_device.values_list("details__device", flat=True).first() or "")


@transaction.atomic
def release_browser(*, participant: Participant) -> None:
    """Unbind a worker from their browser: the next one that comes is accepted."""
    for submission in participant.submissions.select_for_update().filter(details__has_key="device"):
        submission.details = {**submission.details, "device": ""}
        submission.save(update_fields=["details"])


def current(participant: Participant) -> Submission | None:
    """Return the submission that a worker opened last, for which they rate now."""
    opened = participant.submissions.filter(details__has_key="opened_at")
    return max(opened, key=_opened_at, default=None)


def _opened_at(submission: Submission) -> datetime:
    opened_at = parse_datetime(submission.details["opened_at"])
    if opened_at is None:
        raise ValueError(f"submission {submission.pk} was opened at {submission.details['opened_at']!r}")
    return opened_at


def hits_left(annotator: Annotator) -> int:
    """Return 1 while a worker's current MTurk assignment lacks its HIT, else 0."""
    participant = Participant.objects.get(annotator=annotator)
    submission = current(participant)
    if submission is None or submission.state not in AT_WORK:
        return 0
    return 0 if _unbound(participant, since=_opened_at(submission)) else 1


def _unbound(participant: Participant, since: datetime | None = None) -> list[Assignment]:
    """Return a worker's submitted HITs that are not matched with an MTurk assignment yet, the oldest first."""
    done = participant.annotator.assignments.filter(state=Assignment.State.SUBMITTED, submissions=None)
    done = done.exclude(purpose=Assignment.Purpose.QUALIFICATION)
    return list((done.filter(submitted_at__gte=since) if since else done).order_by("submitted_at", "pk"))


@transaction.atomic
def settle(*, participant: Participant) -> None:
    """Match a worker's submitted HITs with the MTurk assignments that they did them for, one HIT each."""
    participant = Participant.objects.select_for_update().get(pk=participant.pk)
    waiting = [
        candidate for candidate in participant.submissions.filter(state__in=AT_WORK) if "opened_at" in candidate.details
    ]
    for assignment in _unbound(participant) if waiting else []:
        submitted = assignment.submitted_at
        before = [candidate for candidate in waiting if submitted is not None and _opened_at(candidate) <= submitted]
        if not before:
            continue
        submission = max(before, key=_opened_at)
        waiting.remove(submission)
        submission.assignment, submission.ended_at = assignment, submitted
        _end(submission, State.COMPLETED)


@transaction.atomic
def screen_out(*, submission: Submission, at: datetime) -> Submission:
    """End an assignment whose worker was screened out, so that it can be submitted and paid."""
    submission = Submission.objects.select_for_update(of=("self",)).get(pk=submission.pk)
    if submission.state in AT_WORK:
        submission.ended_at = at
        _end(submission, State.SCREENED_OUT)
    return submission


def _end(submission: Submission, state: State) -> None:
    submission.state = state
    submission.code = result_code(submission)
    submission.save(update_fields=["assignment", "ended_at", "state", "code"])


def result_code(submission: Submission) -> str:
    """Return the code that the worker's form submits to MTurk, which proves the work here."""
    return salted_hmac("tandem.mturk.code", f"{submission.channel_id}/{submission.external_id}").hexdigest()[:12]


def cannot_continue(annotator: Annotator) -> bool:
    """Tell whether a worker can't continue: no consent, not qualified, or their work was ended."""
    if annotator.withdrawn_at or annotator.excluded or annotator.blocked_at:
        return True
    consent, status = latest_consent(annotator), qualification_status(annotator)
    return (consent is not None and not consent.accepted) or (status.required and not status.attempts_left)
