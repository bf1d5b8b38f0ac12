"""Prolific: participants arrive with three ids in the address, and leave with a completion code.

The ids in an address can be typed by anybody. What binds them: the first browser that comes for a participant keeps the
place, by a signed cookie and by its session, and every other is turned away; and where the channel asks for it, only
links are taken that Prolific has signed, or Prolific is asked whose submission it is (which
researcher-help.prolific.com/en/article/f0a9b6 names as the way to authorise access).
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _

from annotation.access import client_ip
from annotation.errors import ClaimRefused, Unacceptable
from annotation.models import Annotator, Channel, Participant, Submission
from annotation.prolific_panel import panel_context
from annotation.recruitment.arriving import (
    KEPT,
    about,
    is_robot,
    is_signed_in_as,
    lead_on,
    sign_in,
    too_many,
    turn_away,
    with_secret_address,
)
from annotation.recruitment.base import Adapter, Farewell, Outcome, Panel, register
from annotation.recruitment.prolific_options import ProlificOptionsForm
from annotation.services.arrivals import TooManyArrivals
from annotation.services.asking import is_away, note_away, note_refused, refuse_asking, was_refused
from annotation.services.platform_access import variable_problems
from annotation.services.prolific_buttons import press
from annotation.services.prolific_client import ProlificClient, ProlificRefused, ProlificUnreachable, TokenMissing
from annotation.services.prolific_site import ASKED, ID, SIGNED, ProlificSettings, completion_url
from annotation.services.prolific_submissions import FINAL, Arrival, End, State, admit, finish, is_over, status_named
from annotation.services.prolific_tokens import PARAMETER, claims_of

NAMES = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
_SALT = "tandem.prolific"
_WORKING = ("ACTIVE", "RESERVED", "AWAITING REVIEW")


@register
class Prolific(Adapter):
    """Participants of one study at Prolific."""

    kind = Channel.Kind.PROLIFIC
    options_form = ProlificOptionsForm

    def problems(self, channel: Channel) -> dict[str, list[str]]:
        """Name variables that belong to another group than the study's."""
        return variable_problems(channel, ("token_env", "webhook_secret_env"))

    def arrive(self, request: HttpRequest, channel: Channel) -> HttpResponse:
        """Sign a participant in and lead them on, or say why not; nothing of anybody's work is shown here.

        Whoever looks like a program, or is signed in as somebody else, gets a button first.
        """
        try:
            submission = _admitted(request, channel, timezone.now())
        except Unacceptable as refusal:
            return turn_away(request, channel, str(refusal), status=400, title=_("This link is not complete"))
        except (ProlificUnreachable, TokenMissing):
            wait = _("Prolific can’t be asked about you at the moment. Please try the same link again in some minutes.")
            return turn_away(request, channel, wait, status=503)
        except TooManyArrivals as refusal:
            return too_many(request, channel, str(refusal), refusal.retry_after)
        except ClaimRefused as refusal:
            return turn_away(request, channel, str(refusal))
        return _button(request, channel) if submission is None else _welcome(request, channel, submission)

    def panel(self, channel: Channel) -> Panel:
        """Show the addresses for Prolific, the codes, who came, and the buttons."""
        return Panel("annotation/recruitment/_prolific_panel.html", panel_context(channel))

    def act(self, *, channel: Channel, action: str, data: Mapping[str, str], by: User, at: datetime) -> str:
        """Do what a button asks for.

        Raises: as `press`.
        """
        return press(channel=channel, action=action, data=data, at=at)

    def hits_left(self, *, annotator: Annotator, channel: Channel) -> int | None:
        """Return how many further HITs a participant may have: none once their submission has ended at Prolific."""
        return 0 if is_over(annotator) else super().hits_left(annotator=annotator, channel=channel)

    def farewell(self, *, annotator: Annotator, outcome: Outcome, at: datetime) -> Farewell | None:
        """Tell a participant how to hand their submission in."""
        channel = Channel.objects.filter(participants__annotator=annotator).first()
        if channel is None:
            return None
        end = finish(annotator=annotator, outcome=outcome, given=ProlificSettings.of(channel), at=at)
        return None if end is None else _told(end)


def _admitted(request: HttpRequest, channel: Channel, at: datetime) -> Submission | None:
    """Admit whoever comes, with the proof that the channel asks for; None for those who are to press a button first.

    Raises: Unacceptable; ClaimRefused; ProlificUnreachable; TokenMissing.
    """
    given = ProlificSettings.of(channel)
    claims = _claims(request, given, at)
    arrival = _arrival(request.GET, claims, given)
    known = _known(channel, arrival)
    own = known is not None and _is_own_browser(request, channel, known)
    mine = own and _has_come_with(channel, arrival)
    if given.proof == SIGNED and claims is None and not mine:
        raise ClaimRefused(_("This study opens from Prolific only. Please open it there."))
    if request.method != "POST" and (is_robot(request) or (request.user.is_authenticated and not own)):
        return None
    address, vouched = client_ip(request), claims is not None
    if given.proof == ASKED and not mine:
        refuse_asking(channel=channel, address=address)
        _ask(channel, arrival, given)
        vouched = True
    proven = own or claims is not None
    return admit(channel=channel, arrival=arrival, proven=proven, vouched=vouched, address=address, at=at)


def _claims(request: HttpRequest, given: ProlificSettings, at: datetime) -> dict[str, Any] | None:
    """Return what Prolific has signed, where the channel asks for that and the address holds it."""
    token = request.GET.get(PARAMETER, "")
    if given.proof != SIGNED or not token:
        return None
    client = ProlificClient(given, hasty=True)
    try:
        return claims_of(token, client=client, host=request.get_host(), path=request.path, at=at)
    except ProlificRefused as refusal:
        raise ProlificUnreachable(str(refusal), may_have_worked=False) from None


def _arrival(named: QueryDict, claims: Mapping[str, Any] | None, given: ProlificSettings) -> Arrival:
    """Read the three ids; what is signed counts, and the address may not say otherwise.

    Raises: Unacceptable when an id is missing or none; ClaimRefused for another study.
    """
    found = []
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
        found.append(value)
    participant, study, submission = found
    if not given.study_id or study != given.study_id:
        raise ClaimRefused(_("This link is for another study. Please open the study from Prolific again."))
    return Arrival(participant, submission)


def _known(channel: Channel, arrival: Arrival) -> Participant | None:
    found = channel.participants.filter(external_id=arrival.participant)
    return found.select_related("annotator__user").first()


def _has_come_with(channel: Channel, arrival: Arrival) -> bool:
    """Tell whether a participant has come with a submission before: who gave a proof then needs it no second time."""
    mine = channel.submissions.filter(external_id=arrival.submission, participant__external_id=arrival.participant)
    return mine.exists()


def _ask(channel: Channel, arrival: Arrival, given: ProlificSettings) -> None:
    """Ask Prolific whether there is this submission, at work and theirs.

    Raises: ClaimRefused; ProlificUnreachable; TokenMissing.
    """
    name = f"{arrival.participant}-{arrival.submission}"
    if was_refused(channel, name):
        raise _strange()
    if is_away(channel):
        raise ProlificUnreachable("", may_have_worked=False)
    try:
        found = ProlificClient(given, hasty=True).submission(arrival.submission)
    except ProlificRefused as refusal:
        if refusal.status in (401, 403):  # the token is wrong, which is not the participant's fault
            note_away(channel)
            raise ProlificUnreachable(str(refusal), may_have_worked=False) from None
        note_refused(channel, name)
        raise _strange() from None
    except ProlificUnreachable:
        note_away(channel)
        raise
    named = (found.get("participant", found.get("participant_id")), found.get("study_id"))
    if named != (arrival.participant, given.study_id) or status_named(found.get("status")) not in _WORKING:
        note_refused(channel, name)
        raise _strange()


def _strange() -> ClaimRefused:
    return ClaimRefused(_("Prolific knows no such submission at work. Please open the study from Prolific again."))


def _is_own_browser(request: HttpRequest, channel: Channel, known: Participant) -> bool:
    """Tell whether a browser is the one that came for this participant first: by its session, or by its cookie."""
    if is_signed_in_as(request, known.annotator):
        return True
    kept = request.get_signed_cookie(_cookie(channel, known.external_id), default="", salt=_SALT, max_age=KEPT) or ""
    return constant_time_compare(kept, _place(known))


def _cookie(channel: Channel, external_id: str) -> str:
    """Name a participant's cookie, which doesn't tell their id: two may share a browser."""
    return f"tandem-{channel.key}-{salted_hmac(_SALT, external_id, algorithm='sha256').hexdigest()[:12]}"


def _place(known: Participant) -> str:
    """Return what a cookie has to hold; it changes when an admin lets the participant in from another browser."""
    user = known.annotator.user
    return "" if user is None else f"{known.pk}:{user.get_session_auth_hash()}"


def _button(request: HttpRequest, channel: Channel) -> HttpResponse:
    response = render(request, "annotation/recruitment/begin.html", about(channel))
    return with_secret_address(response, holds_form=True)


def _welcome(request: HttpRequest, channel: Channel, submission: Submission) -> HttpResponse:
    known = Participant.objects.select_related("annotator__user").get(submissions=submission)
    if known.annotator.user is None or not known.annotator.user.is_active:
        return turn_away(request, channel, _("Your place in this study is no longer there."))
    if not is_signed_in_as(request, known.annotator):
        sign_in(request, known.annotator)
    response = lead_on()
    response.set_signed_cookie(
        _cookie(channel, known.external_id),
        _place(known),
        salt=_SALT,
        max_age=KEPT,
        path=reverse("annotation:join", args=[channel.key]),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


def _told(end: End) -> Farewell:
    """Put the end of a submission into words. Without a code for it there is Prolific's own button to return it."""
    if end.state in FINAL:
        return Farewell(_("Your submission has ended at Prolific, so there is nothing more to do here. Thank you."))
    if not end.code:
        if end.state == State.COMPLETED:
            return Farewell(_("You have done all that there was. Please choose “no code” at Prolific. Thank you."))
        return Farewell(_("Please return your submission at Prolific: that does not count against you."))
    if end.state == State.COMPLETED:
        text = _("You have done all that there was. Hand your submission in at Prolific with this code. Thank you!")
    elif end.state == State.TIMED_OUT:
        text = _(
            "Your time ran out, and others have your place. Please end your submission at Prolific with this code."
        )
    else:
        text = _("Thank you for coming. Please end your submission at Prolific with this code.")
    return Farewell(text, url=completion_url(end.code), label=_("Back to Prolific"), code=end.code)
