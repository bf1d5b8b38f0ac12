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
from annotation.recruitment.arriving import (
    SESSION_LIFETIME,
    confirmation_page,
    is_robot,
    is_signed_in_as,
    redirect_to_work,
    refusal_page,
    refused,
    set_browser_cookie,
    sign_in,
)
from annotation.recruitment.base import Adapter, ClaimKind, CompletionMessage, Panel, WorkOutcome, register
from annotation.recruitment.platform_access import variable_problems
from annotation.recruitment.prolific.client import ProlificClient, ProlificRefused, ProlificUnreachable, TokenMissing
from annotation.recruitment.prolific.options import ProlificOptionsForm
from annotation.recruitment.prolific.panel import panel_context, panel_forms, run_panel_action
from annotation.recruitment.prolific.site import ASKED, ID, SIGNED, ProlificSettings, completion_url
from annotation.recruitment.prolific.submissions import (
    FINAL,
    ProlificArrival,
    State,
    SubmissionEnd,
    admit,
    finish,
    is_over,
    is_unpaid,
    status_named,
)
from annotation.recruitment.prolific.tokens import PARAMETER, claims_of
from annotation.recruitment.prolific.work import work_for
from annotation.recruitment.throttling import (
    is_unresponsive,
    note_refused,
    note_unresponsive,
    throttle_lookup,
    was_refused,
)

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
        return variable_problems(channel, ("token_env", "webhook_secret_env"))

    def arrive(self, request: HttpRequest, channel: Channel) -> HttpResponse:
        """Sign a participant in and redirect them to their work, or say why not.

        Link previews, and browsers in which another user is signed in, get a button first.
        """
        try:
            submission = _admit_visitor(request, channel, timezone.now())
        except Unacceptable as refusal:
            return refusal_page(request, channel, str(refusal), status=400, title=_("This link is not complete"))
        except (ProlificUnreachable, TokenMissing):
            wait = _("Prolific can’t be asked about you at the moment. Please try the same link again in some minutes.")
            return refusal_page(request, channel, wait, status=503)
        except ClaimRefused as refusal:
            return refused(request, channel, refusal)
        return confirmation_page(request, channel) if submission is None else _welcome(request, channel, submission)

    def panel(self, channel: Channel) -> Panel:
        """Show the addresses for Prolific, the codes, the submissions, and the actions."""
        return Panel("annotation/recruitment/prolific/_panel.html", panel_context(channel), panel_forms(channel))

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
        return work_for(annotator)

    def completion_message(
        self, *, annotator: Annotator, outcome: WorkOutcome, at: datetime
    ) -> CompletionMessage | None:
        """Return how a participant submits their completion code, or returns the submission."""
        channel = Channel.objects.filter(participants__annotator=annotator).first()
        if channel is None:
            return None
        end = finish(annotator=annotator, outcome=outcome, prolific=ProlificSettings.of(channel), at=at)
        return None if end is None else _completion_message(end)


def _admit_visitor(request: HttpRequest, channel: Channel, at: datetime) -> Submission | None:
    """Admit a visitor with the proof that the channel requires, or None for those who have to press a button first.

    Raises: Unacceptable; ClaimRefused; ProlificUnreachable; TokenMissing.
    """
    prolific = ProlificSettings.of(channel)
    claims = _claims(request, prolific)
    arrival = _arrival(request.GET, claims, prolific)
    submission = _known(channel, arrival)
    own = submission is not None and _is_own_browser(request, channel, submission)
    mine = own and _has_come_with(channel, arrival)
    if prolific.proof == SIGNED and claims is None and not mine:
        raise ClaimRefused(_("This study opens from Prolific only. Please open it there."))
    if request.method != "POST" and (is_robot(request) or (request.user.is_authenticated and not own)):
        return None
    address, confirmed = client_ip(request), claims is not None
    if prolific.proof == ASKED and not mine:
        throttle_lookup(channel=channel, address=address)
        _look_up_submission(channel, arrival, prolific)
        confirmed = True
    proven = own or claims is not None
    return admit(channel=channel, arrival=arrival, proven=proven, confirmed=confirmed, address=address, at=at)


def _claims(request: HttpRequest, prolific: ProlificSettings) -> dict[str, Any] | None:
    """Return the claims of a token signed by Prolific, if the channel requires one and the address has it."""
    token = request.GET.get(PARAMETER, "")
    if prolific.proof != SIGNED or not token:
        return None
    client = ProlificClient(prolific, hasty=True)
    try:
        return claims_of(token, client=client, host=request.get_host(), path=request.path)
    except ProlificRefused as refusal:
        raise ProlificUnreachable(str(refusal), may_have_worked=False) from None


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


def _known(channel: Channel, arrival: ProlificArrival) -> Participant | None:
    participants = channel.participants.filter(external_id=arrival.participant)
    return participants.select_related("annotator__user").first()


def _has_come_with(channel: Channel, arrival: ProlificArrival) -> bool:
    """Tell whether a participant has come with this submission before, and so has given the proof."""
    mine = channel.submissions.filter(external_id=arrival.submission, participant__external_id=arrival.participant)
    return mine.exists()


def _look_up_submission(channel: Channel, arrival: ProlificArrival, prolific: ProlificSettings) -> None:
    """Verify with Prolific that the submission exists, is active and theirs.

    Raises: ClaimRefused; ProlificUnreachable; TokenMissing.
    """
    name = f"{arrival.participant}-{arrival.submission}"
    if was_refused(channel, name):
        raise _unknown_submission()
    if is_unresponsive(channel):
        raise ProlificUnreachable("", may_have_worked=False)
    try:
        submission = ProlificClient(prolific, hasty=True).submission(arrival.submission)
    except ProlificRefused as refusal:
        if refusal.code in (401, 403):  # the token is wrong, which is not the participant's fault
            note_unresponsive(channel)
            raise ProlificUnreachable(str(refusal), may_have_worked=False) from None
        note_refused(channel, name)
        raise _unknown_submission() from None
    except ProlificUnreachable:
        note_unresponsive(channel)
        raise
    named = (submission.get("participant", submission.get("participant_id")), submission.get("study_id"))
    if named != (arrival.participant, prolific.study_id) or status_named(submission.get("status")) not in _WORKING:
        note_refused(channel, name)
        raise _unknown_submission()


def _unknown_submission() -> ClaimRefused:
    return ClaimRefused(_("Prolific knows no such submission at work. Please open the study from Prolific again."))


def _is_own_browser(request: HttpRequest, channel: Channel, submission: Participant) -> bool:
    """Tell whether the browser is the one that the participant is bound to, by its session or cookie."""
    if is_signed_in_as(request, submission.annotator):
        return True
    cookie = (
        request.get_signed_cookie(
            _cookie(channel, submission.external_id), default="", salt=_SALT, max_age=SESSION_LIFETIME
        )
        or ""
    )
    return constant_time_compare(cookie, _place(submission))


def _cookie(channel: Channel, external_id: str) -> str:
    """Return the name of a participant's cookie, from a hash of their id. Participants may share a browser."""
    return f"tandem-{channel.key}-{salted_hmac(_SALT, external_id, algorithm='sha256').hexdigest()[:12]}"


def _place(submission: Participant) -> str:
    """Return the cookie's value, which changes when an admin releases the browser."""
    user = submission.annotator.user
    return "" if user is None else f"{submission.pk}:{user.get_session_auth_hash()}"


def _welcome(request: HttpRequest, channel: Channel, submission: Submission) -> HttpResponse:
    participant = Participant.objects.select_related("annotator__user").get(submissions=submission)
    if participant.annotator.user is None or not participant.annotator.user.is_active:
        return refusal_page(request, channel, _("Your place in this study is no longer there."))
    if not is_signed_in_as(request, participant.annotator):
        sign_in(request, participant.annotator)
    response = redirect_to_work()
    set_browser_cookie(response, channel, _cookie(channel, participant.external_id), _place(participant), salt=_SALT)
    return response


def _completion_message(end: SubmissionEnd) -> CompletionMessage:
    """Return the message for the end of a submission. Without a code participants return it at Prolific."""
    if end.state in FINAL:
        ended = _("Your submission has ended at Prolific, so there is nothing more to do here. Thank you.")
        return CompletionMessage(ended, code=end.code, leaves=True)
    if end.state == State.COMPLETED:
        if not end.code:
            return CompletionMessage(
                _("Your work here is done. Please choose “no code” at Prolific. Thank you."), leaves=True
            )
        text = _("Your work here is done. Hand your submission in at Prolific with this code. Thank you!")
    elif end.state == State.TIMED_OUT:
        if not end.code:
            late = _("Your time ran out. Please return your submission at Prolific: that does not count against you.")
            return CompletionMessage(late, leaves=True)
        text = _("Your time ran out. Please end your submission at Prolific with this code.")
    elif end.code:
        text = _("Thank you for coming. Please end your submission at Prolific with this code.")
    else:
        nothing = _("Please return your submission at Prolific: that does not count against you.")
        return CompletionMessage(nothing, leaves=True)
    return CompletionMessage(
        text, url=completion_url(end.code), label=_("Back to Prolific"), code=end.code, leaves=True
    )
