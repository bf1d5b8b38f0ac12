"""The Mechanical Turk channel: an ExternalQuestion whose page links to the rating pages."""

import logging
import re
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.annotators.participants import refuse_closed
from annotation.core.errors import AnnotationError, ClaimRefused, Unacceptable
from annotation.core.http import client_ip, status_of
from annotation.models import Annotator, Channel, Participant, Study
from annotation.questions.labels import translate_default
from annotation.recruitment.arrival_limits import TooManyArrivals, look_up
from annotation.recruitment.base import Adapter, ClaimKind, CompletionMessage, Panel, WorkOutcome, register
from annotation.recruitment.mturk import work
from annotation.recruitment.mturk.client import KeyMissing, MturkClient, MturkRefused, wrong_state
from annotation.recruitment.mturk.frames import FRAME, framed, framed_refusal, state_of
from annotation.recruitment.mturk.panel import panel_of, run_panel_action
from annotation.recruitment.mturk.site import MturkOptionsForm, MturkSettings
from annotation.recruitment.mturk.work import UNVERIFIED, MturkArrival, refuse_unknown_hit
from annotation.recruitment.outbox import PlatformUnreachable

log = logging.getLogger(__name__)
ACCEPTED, SUBMITTED = "accepted", "submitted"


def check_arrival(channel: Channel, arrival: MturkArrival, address: str | None) -> str:
    """Verify a new assignment with MTurk, which names its worker only after submission. Return MTurk's answer.

    Without a key, or while MTurk doesn't answer, the assignment is accepted unverified, and `sync` compares later.
    address : network address of the visitor, whose look-ups are limited
    Raises: ClaimRefused when there is no such assignment, it is another worker's, or the channel is closed;
    TooManyArrivals.
    """
    mturk = MturkSettings(channel)
    is_known = channel.submissions.filter(external_id=arrival.assignment_id).exists()
    if is_known or not mturk.has_key:
        return UNVERIFIED
    if not channel.participants.filter(external_id=arrival.worker_id).exists():
        refuse_closed(channel)
    refuse_unknown_hit(channel, arrival.hit_id)
    unknown = _("MTurk does not know this assignment. Please open the HIT on MTurk.")

    def ask() -> str:
        with closing(MturkClient(mturk, patient=False)) as client:
            try:
                assignment = client.call("get_assignment", AssignmentId=arrival.assignment_id)["Assignment"]
            except MturkRefused as refusal:
                if "does not exist" in str(refusal):
                    raise ClaimRefused(unknown) from None
                # It is accepted and not submitted. `sync` reports a refused key.
                return ACCEPTED if wrong_state(refusal) else UNVERIFIED
        if assignment.get("WorkerId") != arrival.worker_id or assignment.get("HITId") != arrival.hit_id:
            raise ClaimRefused(_("This link belongs to another person."))
        return SUBMITTED

    name = "-".join((arrival.worker_id, arrival.assignment_id, arrival.hit_id))
    try:
        return look_up(channel=channel, address=address, name=name, refusal=unknown, ask=ask)
    except (PlatformUnreachable, KeyMissing) as error:
        if str(error):  # empty where it has not been asked, since it did not answer a moment ago
            log.warning("channel %s: an arrival was not checked: %s", channel.pk, error)
        return UNVERIFIED


PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
PREVIEW_PAGE = "annotation/recruitment/mturk/preview.html"
_ID = re.compile(r"[A-Z0-9]{1,64}")
_WORKER = re.compile(r"A[A-Z0-9]{1,63}")


@register
class Mturk(Adapter):
    """Workers of MTurk: one of its assignments is one of our HITs."""

    kind = Channel.Kind.MTURK
    summary = "For those who are requesters at MTurk already: it has taken no new ones since July 2026."
    options_form = MturkOptionsForm

    def problems(self, channel: Channel) -> dict[str, list[str]]:
        """Refuse variables of other groups."""
        return MturkSettings(channel).secret_problems()

    def arrive(self, request: HttpRequest, channel: Channel) -> HttpResponse:
        """Answer MTurk's frame: with a preview that records nothing, or a link to the work of an accepted assignment.

        Errors are handled here, since the middleware's error page may not be framed by MTurk.
        """
        mturk = MturkSettings(channel)
        assignment_id = request.GET.get("assignmentId", "")
        looks_ahead = request.method == "HEAD" or "prefetch" in request.headers.get("Sec-Purpose", "")
        if assignment_id in ("", PREVIEW) or looks_ahead:
            return self._preview(request, channel.study, mturk)
        now, address = timezone.now(), client_ip(request)
        try:
            worker, hit_id = request.GET.get("workerId", ""), request.GET.get("hitId", "")
            if not (_WORKER.fullmatch(worker) and _ID.fullmatch(assignment_id) and _ID.fullmatch(hit_id)):
                raise Unacceptable(_("This address is not complete. Please open the HIT on MTurk."))
            if request.GET.get("turkSubmitTo", "").removesuffix("/") != mturk.site.submit:
                raise Unacceptable(_("This HIT was opened from another site than the one it is meant for."))
            arrival = MturkArrival(worker_id=worker, assignment_id=assignment_id, hit_id=hit_id)
            verified = check_arrival(channel, arrival, address)
            submission = work.arrive(channel=channel, arrival=arrival, verified=verified, address=address, at=now)
            context = state_of(submission, mturk, now)
        except TooManyArrivals as error:
            response = framed_refusal(request, channel, str(error), status=429)
            if error.retry_after is not None:
                response["Retry-After"] = str(error.retry_after)
            return response
        except AnnotationError as error:
            return framed_refusal(request, channel, str(error), status=status_of(error))
        return framed(request, mturk.site, FRAME, context)

    def _preview(self, request: HttpRequest, study: Study, mturk: MturkSettings) -> HttpResponse:
        """Show what is asked and paid, without any text of the study's data."""
        left_label, right_label = study.side_labels
        questions = [
            (translate_default(question.text), question.description, list(question.labels(*study.side_labels).items()))
            for question in study.questions
        ]
        context = {
            "study": study,
            "reward": mturk.reward,
            "minutes": study.minutes_per_hit,
            "questions": questions,
            "source_label": translate_default(study.source_label),
            "label_left": left_label,
            "label_right": right_label,
        }
        return framed(request, mturk.site, PREVIEW_PAGE, context)

    def panel(self, channel: Channel) -> Panel:
        """Show the offered HITs, the assignments and the actions."""
        return panel_of(channel)

    def act(self, *, channel: Channel, action: str, data: Mapping[str, str], by: User, at: datetime) -> str:
        """Run a panel action.

        Raises: Unacceptable; MturkRefused; MturkUnreachable; KeyMissing.
        """
        return run_panel_action(channel=channel, action=action, data=data, at=at)

    def hits_left(self, *, annotator: Annotator, channel: Channel, claim: ClaimKind = ClaimKind.NEW) -> int | None:
        """Return how many HITs this worker may have now: one per MTurk assignment, within the channel's limit."""
        limit, left = super().hits_left(annotator=annotator, channel=channel, claim=claim), work.hits_left(annotator)
        return left if limit is None else min(limit, left)

    def completion_message(
        self, *, annotator: Annotator, outcome: WorkOutcome, at: datetime
    ) -> CompletionMessage | None:
        """Send a worker back to MTurk's window, to submit or to return the HIT there."""
        participant = Participant.objects.select_related("channel__study").get(annotator=annotator)
        work.settle(participant=participant)
        submission = work.current(participant)
        if submission is None:
            return None
        paid = MturkSettings(participant.channel).screened_out == "submit"
        if submission.state in work.DONE or (outcome == WorkOutcome.SCREENED_OUT and paid):
            done = _("Thank you! Please go back to the MTurk window now, and press Submit there.")
            return CompletionMessage(done, leaves=True)
        nothing = _("There is nothing more for you here. Please go back to the MTurk window, and return the HIT.")
        return CompletionMessage(nothing, leaves=True)
