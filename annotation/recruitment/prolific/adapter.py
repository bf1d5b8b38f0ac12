"""The Prolific channel: participants arrive with three ids in the address, and leave with a completion code.

The ids can be forged. Therefore a participant is bound to the first browser that comes, by a signed cookie and its
session, and others are refused; and if the channel is set so, links must be signed by Prolific, or Prolific is asked
about the submission (which researcher-help.prolific.com/en/article/f0a9b6 recommends to authorise access).
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _

from annotation.core.errors import ClaimRefused, Unacceptable
from annotation.core.http import client_ip
from annotation.models import Annotator, Assignment, Channel, Participant, Submission
from annotation.recruitment.arrival_limits import (
    look_up,
)
from annotation.recruitment.arriving import (
    SESSION_LIFETIME,
    confirmation_page,
    is_robot,
    is_signed_in_as,
    refusal_page,
    refused,
    welcome,
)
from annotation.recruitment.base import Adapter, ClaimKind, CompletionMessage, Panel, WorkOutcome, register
from annotation.recruitment.outbox import PlatformUnreachable
from annotation.recruitment.prolific.client import ProlificClient, ProlificRefused, ProlificUnreachable, TokenMissing
from annotation.recruitment.prolific.panel import panel_of, run_panel_action
from annotation.recruitment.prolific.site import (
    ASKED,
    ID,
    SIGNED,
    ProlificOptionsForm,
    ProlificSettings,
    completion_url,
)
from annotation.recruitment.prolific.submissions import (
    FINAL,
    ProlificArrival,
    State,
    admit,
    finish,
    is_over,
    is_unpaid,
    status_named,
)
from annotation.recruitment.prolific.tokens import PARAMETER, claims_of
from annotation.recruitment.prolific.work import work_of

NAMES = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
_SALT = "tandem.prolific"
_WORKING = ("ACTIVE", "RESERVED", "AWAITING REVIEW")


@register
class Prolific(Adapter):
    """Participants of one study at Prolific."""

    kind = Channel.Kind.PROLIFIC
    summary = "Paid participants from Prolific, with completion codes, approval and bonuses."
    options_form = ProlificOptionsForm

    def problems(self, channel: Channel) -> dict[str, list[str]]:
        """Refuse variables of other groups."""
        return ProlificSettings(channel).secret_problems()

    def arrive(self, request: HttpRequest, channel: Channel) -> HttpResponse:
        """Sign a participant in and redirect them to their work, or say why not.

        Link previews, and browsers in which another user is signed in, get a button first.
        """
        try:
            submission = _admit_visitor(request, channel, timezone.now())
        except Unacceptable as refusal:
            return refusal_page(request, channel, str(refusal), status=400, title=_("This link is not complete"))
        except (PlatformUnreachable, TokenMissing):
            wait = _("Prolific can’t be asked about you at the moment. Please try the same link again in some minutes.")
            return refusal_page(request, channel, wait, status=503)
        except ClaimRefused as refusal:
            return refused(request, channel, refusal)
        if submission is None:
            return confirmation_page(request, channel)
        participant = Participant.objects.select_related("annotator__user").get(submissions=submission)
        cookie = _cookie(channel, participant.external_id)
        return welcome(request, channel, participant, cookie, _place(participant), salt=_SALT)

    def panel(self, channel: Channel) -> Panel:
        """Show the addresses for Prolific, the codes, the submissions, and the actions."""
        return panel_of(channel)

    def act(self, *, channel: Channel, action: str, data: Mapping[str, str], by: User, at: datetime) -> str:
        """Run a panel action.

        Raises: as `run_panel_action`.
        """
        return run_panel_action(channel=channel, action=action, data=data, at=at)

    def hits_left(self, *, annotator: Annotator, channel: Channel, claim: ClaimKind = ClaimKind.NEW) -> int | None:
        """Return how many further HITs a participant may have: none once their submission has ended.

        An unfinished HIT may be finished after the end at Prolific, unless they returned it or were rejected.
        """
        over = is_unpaid(annotator) if claim == ClaimKind.SENT else is_over(annotator, begun=claim == ClaimKind.RESUMED)
        return 0 if over else super().hits_left(annotator=annotator, channel=channel, claim=claim)

    def work_of(self, annotator: Annotator) -> QuerySet[Assignment]:
        """Return the HITs of a participant's current submission: each submission has an outcome of its own."""
        return work_of(annotator)

    def completion_message(
        self, *, annotator: Annotator, outcome: WorkOutcome, at: datetime
    ) -> CompletionMessage | None:
        """Return how a participant submits their completion code, or returns the submission."""
        channel = Channel.objects.get(participants__annotator=annotator)
        end = finish(annotator=annotator, outcome=outcome, prolific=ProlificSettings(channel), at=at)
        if end is None:
            return None
        state, code = end
        if state in FINAL:
            ended = _("Your submission has ended at Prolific, so there is nothing more to do here. Thank you.")
            return CompletionMessage(ended, code=code, leaves=True)
        if not code:  # it is returned there
            texts = {
                State.COMPLETED: _("Your work here is done. Please choose “no code” at Prolific. Thank you."),
                State.TIMED_OUT: _(
                    "Your time ran out. Please return your submission at Prolific: that does not count against you."
                ),
            }
            nothing = _("Please return your submission at Prolific: that does not count against you.")
            return CompletionMessage(texts.get(State(state), nothing) if state else nothing, leaves=True)
        texts = {
            State.COMPLETED: _(
                "Your work here is done. Hand your submission in at Prolific with this code. Thank you!"
            ),
            State.TIMED_OUT: _("Your time ran out. Please end your submission at Prolific with this code."),
        }
        text = texts.get(
            State(state), _("Thank you for coming. Please end your submission at Prolific with this code.")
        )
        return CompletionMessage(text, completion_url(code), _("Back to Prolific"), code=code, leaves=True)


def _admit_visitor(request: HttpRequest, channel: Channel, at: datetime) -> Submission | None:
    """Admit a visitor with the proof that the channel requires, or None for those who have to press a button first.

    Raises: Unacceptable; ClaimRefused; PlatformUnreachable; TokenMissing.
    """
    prolific, token = ProlificSettings(channel), request.GET.get(PARAMETER, "")
    claims = None
    if prolific.proof == SIGNED and token:
        client = ProlificClient(prolific, hasty=True)
        try:
            claims = claims_of(token, client=client, host=request.get_host(), path=request.path)
        except ProlificRefused as refusal:
            raise ProlificUnreachable(str(refusal), may_have_worked=False) from None
    arrival = _arrival(request.GET, claims, prolific)
    participants = channel.participants.filter(external_id=arrival.participant)
    participant = participants.select_related("annotator__user").first()
    own = participant is not None and _is_own_browser(request, channel, participant)
    # Who has come with this submission before has given the proof.
    mine = own and channel.submissions.filter(external_id=arrival.submission, participant=participant).exists()
    if prolific.proof == SIGNED and claims is None and not mine:
        raise ClaimRefused(_("This study opens from Prolific only. Please open it there."))
    if request.method != "POST" and (is_robot(request) or (request.user.is_authenticated and not own)):
        return None
    address, confirmed = client_ip(request), claims is not None
    if prolific.proof == ASKED and not mine:
        look_up(
            channel=channel,
            address=address,
            name=f"{arrival.participant}-{arrival.submission}",
            refusal=_unknown_submission(),
            ask=lambda: _verify(arrival, prolific),
        )
        confirmed = True
    proven = own or claims is not None
    return admit(channel=channel, arrival=arrival, proven=proven, confirmed=confirmed, address=address, at=at)


def _arrival(named: QueryDict, claims: Mapping[str, Any] | None, prolific: ProlificSettings) -> ProlificArrival:
    """Read the three ids. Signed ones must equal those in the address.

    Raises: Unacceptable when an id is missing or invalid; ClaimRefused for another study.
    """
    ids = []
    for name in NAMES:
        values = set(named.getlist(name))
        if claims is not None:
            values.add(str(claims.get(name, "")))
        value = values.pop() if len(values) == 1 else ""
        if not ID.fullmatch(value):
            raise Unacceptable(
                _("It has to be opened from Prolific, which puts %(names)s into it. Please open the study there again.")
                % {"names": ", ".join(NAMES)}
            )
        ids.append(value)
    participant, study, submission = ids
    if not prolific.study_id or study != prolific.study_id:
        raise ClaimRefused(_("This link is for another study. Please open the study from Prolific again."))
    return ProlificArrival(participant, submission)


def _verify(arrival: ProlificArrival, prolific: ProlificSettings) -> None:
    """Verify with Prolific that the submission exists, is active and theirs.

    Raises: ClaimRefused; ProlificUnreachable; TokenMissing.
    """
    try:
        submission = ProlificClient(prolific, hasty=True).submission(arrival.submission)
    except ProlificRefused as refusal:
        if refusal.code in (401, 403):  # the token is wrong, which is not the participant's fault
            raise ProlificUnreachable(str(refusal), may_have_worked=False) from None
        raise ClaimRefused(_unknown_submission()) from None
    named = (submission.get("participant", submission.get("participant_id")), submission.get("study_id"))
    if named != (arrival.participant, prolific.study_id) or status_named(submission.get("status")) not in _WORKING:
        raise ClaimRefused(_unknown_submission())


def _unknown_submission() -> str:
    return _("Prolific knows no such submission at work. Please open the study from Prolific again.")


def _is_own_browser(request: HttpRequest, channel: Channel, participant: Participant) -> bool:
    """Tell whether the browser is the one that the participant is bound to, by its session or cookie."""
    if is_signed_in_as(request, participant.annotator):
        return True
    name = _cookie(channel, participant.external_id)
    cookie = request.get_signed_cookie(name, default="", salt=_SALT, max_age=SESSION_LIFETIME) or ""
    return constant_time_compare(cookie, _place(participant))


def _cookie(channel: Channel, external_id: str) -> str:
    """Return the name of a participant's cookie, from a hash of their id. Participants may share a browser."""
    return f"tandem-{channel.key}-{salted_hmac(_SALT, external_id, algorithm='sha256').hexdigest()[:12]}"


def _place(participant: Participant) -> str:
    """Return the cookie's value, which changes when an admin releases the browser."""
    user = participant.annotator.user
    return "" if user is None else f"{participant.pk}:{user.get_session_auth_hash()}"
