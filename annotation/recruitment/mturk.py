"""Amazon Mechanical Turk: an ExternalQuestion whose page leads to the rating pages and back."""

import re
from collections.abc import Mapping
from datetime import datetime

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.access import client_ip
from annotation.errors import AnnotationError, Unacceptable
from annotation.middleware import status_of
from annotation.models import Annotator, Channel, Participant, Study
from annotation.mturk_panel import panel_context
from annotation.recruitment.base import Adapter, Farewell, Outcome, Panel, register
from annotation.recruitment.mturk_frames import FRAME, framed, state_of, told
from annotation.recruitment.mturk_options import MturkOptionsForm
from annotation.services import mturk_work
from annotation.services.arrivals import TooManyArrivals
from annotation.services.mturk_buttons import press
from annotation.services.mturk_check import check_arrival
from annotation.services.mturk_site import MturkSettings
from annotation.services.platform_access import variable_problems
from annotation.wording import spoken

PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
PREVIEW_PAGE = "annotation/recruitment/mturk_preview.html"
_ID = re.compile(r"[A-Z0-9]{1,64}")
_WORKER = re.compile(r"A[A-Z0-9]{1,63}")


def hits_left(annotator: Annotator) -> int | None:
    """Return 1 while the MTurk assignment that a worker opened last lacks its HIT, else 0; None for other raters."""
    return mturk_work.hits_left(annotator)


@register
class Mturk(Adapter):
    """Workers of MTurk: one of its assignments is one of our HITs."""

    kind = Channel.Kind.MTURK
    options_form = MturkOptionsForm

    def problems(self, channel: Channel) -> dict[str, list[str]]:
        """Name variables that belong to another group than the study's."""
        return variable_problems(channel, ("access_key_env", "secret_key_env"))

    def arrive(self, request: HttpRequest, channel: Channel) -> HttpResponse:
        """Answer MTurk's frame: a preview that records nothing, or the way to the work of an accepted assignment.

        Errors are caught here and not by the middleware, whose page no other site may frame.
        """
        given = MturkSettings.of(channel)
        assignment_id = request.GET.get("assignmentId", "")
        looks_ahead = request.method == "HEAD" or "prefetch" in request.headers.get("Sec-Purpose", "")
        if assignment_id in ("", PREVIEW) or looks_ahead:
            return framed(request, given.site, PREVIEW_PAGE, _preview(channel.study, given))
        now = timezone.now()
        try:
            arrival = _arrival(request, given)
            address = client_ip(request)
            verified = check_arrival(channel, arrival, address)
            submission = mturk_work.arrive(channel=channel, arrival=arrival, verified=verified, address=address, at=now)
            context = state_of(submission, given, now)
        except TooManyArrivals as error:
            response = told(request, channel, str(error), status=429)
            if error.retry_after is not None:
                response["Retry-After"] = str(error.retry_after)
            return response
        except AnnotationError as error:
            return told(request, channel, str(error), status=status_of(error))
        return framed(request, given.site, FRAME, context)

    def panel(self, channel: Channel) -> Panel:
        """Show what is on offer, who did what, and the buttons."""
        return Panel("annotation/recruitment/_mturk_panel.html", panel_context(channel))

    def act(self, *, channel: Channel, action: str, data: Mapping[str, str], by: User, at: datetime) -> str:
        """Do what a button asks for.

        Raises: Unacceptable; MturkRefused; MturkUnreachable; KeyMissing.
        """
        return press(channel=channel, action=action, data=data, at=at)

    def hits_left(self, *, annotator: Annotator, channel: Channel) -> int | None:
        """Return how many HITs this worker may have now: one for each MTurk assignment, within the channel's limit."""
        known = [super().hits_left(annotator=annotator, channel=channel), hits_left(annotator)]
        return min((left for left in known if left is not None), default=None)

    def farewell(self, *, annotator: Annotator, outcome: Outcome, at: datetime) -> Farewell | None:
        """Send a worker back to MTurk's window, where the form to submit has appeared, or the word to return the HIT."""
        participant = Participant.objects.filter(annotator=annotator).select_related("channel__study").first()
        if participant is None:
            return None
        mturk_work.settle(participant=participant)
        submission = mturk_work.current(participant)
        if submission is None:
            return None
        paid = MturkSettings.of(participant.channel).screened_out == "submit"
        if submission.state in mturk_work.DONE or (outcome == Outcome.SCREENED_OUT and paid):
            return Farewell(_("Thank you! Please go back to the MTurk window now, and press Submit there."))
        return Farewell(
            _("There is nothing more for you here. Please go back to the MTurk window, and return the HIT.")
        )


def _preview(study: Study, given: MturkSettings) -> dict[str, object]:
    """Return what may be told before a HIT is accepted; no text of the study's data is among it."""
    choices = study.offered_choices
    return {
        "study": study,
        "reward": given.reward,
        "minutes": study.minutes_per_hit,
        "question": spoken(study.question),
        "source_label": spoken(study.source_label),
        "label_left": choices["left"],
        "label_right": choices["right"],
        "choices": list(choices.items()),
    }


def _arrival(request: HttpRequest, given: MturkSettings) -> mturk_work.Arrival:
    """Read what MTurk wrote into the address.

    Raises: Unacceptable when it is none of MTurk's, or of its other site.
    """
    worker, assignment, hit = (request.GET.get(name, "") for name in ("workerId", "assignmentId", "hitId"))
    if not (_WORKER.fullmatch(worker) and _ID.fullmatch(assignment) and _ID.fullmatch(hit)):
        raise Unacceptable(_("This address is not complete. Please open the HIT on MTurk."))
    if request.GET.get("turkSubmitTo", "").removesuffix("/") != given.site.submit:
        raise Unacceptable(_("This HIT was opened from another site than the one it is meant for."))
    return mturk_work.Arrival(worker_id=worker, assignment_id=assignment, hit_id=hit)
