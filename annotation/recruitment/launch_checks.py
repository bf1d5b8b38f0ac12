"""Requirements of a launch, and parts of panels, common to all platforms."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from annotation.core.errors import Unacceptable
from annotation.core.reasons import restored
from annotation.models import Batch, Channel, PlatformAction, Slot, Submission
from annotation.studies.hourly_pay import HourlyPay


@dataclass(frozen=True)
class Check:
    """One thing that a launch needs.

    for_draft : the draft at the platform needs it already
    is_advice : the launch can do without it
    in_settings : it is set in the channel's settings
    """

    label: str
    is_done: bool
    hint: str
    for_draft: bool = False
    is_advice: bool = False
    in_settings: bool = False


def refuse_missing(checks: Iterable[Check], *, for_draft: bool = False) -> None:
    """Refuse a launch, or a draft, that lacks something.

    Raises: Unacceptable naming it.
    """
    needed = (check for check in checks if check.for_draft or not (for_draft or check.is_advice))
    if missing := [check.label for check in needed if not check.is_done]:
        raise Unacceptable(f"Missing: {', '.join(missing)}.")


def address_check() -> Check:
    """Return whether the platform's raters can reach this server."""
    url = settings.BASE_URL
    return Check("Public address", url.startswith("https://"), f"BASE_URL is {url}.")


def hourly_checks(pay: HourlyPay | None) -> Iterator[Check]:
    """Yield how the pay compares with the server's least, where it sets one."""
    if pay is not None and pay.least is not None:
        minimum = f"At least {pay.least} {pay.currency} for an hour; this is {pay.amount}."
        yield Check("Hourly pay", not pay.is_below, minimum, is_advice=True)


def opening_checks(channel: Channel) -> Iterator[Check]:
    """Yield what is opened here on the day."""
    batches = channel.study.batches.filter(purpose=Batch.Purpose.RATING, status=Batch.Status.OPEN)
    batches = batches.filter(pk=channel.batch_id) if channel.batch_id else batches
    yield Check("Batch", batches.exists(), "Launch it: HITs of a draft are not given out.")
    yield Check("Channel", channel.is_open, "Open it, so that raters can join.")


def free_slots(channel: Channel) -> QuerySet[Slot]:
    """Return the free slots for ratings that the channel's raters can get, in batches that are not closed."""
    free = Slot.objects.filter(assignment=None, batch__study=channel.study_id, batch__purpose=Batch.Purpose.RATING)
    free = free.filter(batch=channel.batch_id) if channel.batch_id else free
    return free.exclude(batch__status=Batch.Status.CLOSED)


def first_work_checks(channel: Channel) -> list[Check]:
    """Return what to look for on the day of the launch, before the other places are offered."""
    submissions = channel.submissions
    handed_in = submissions.filter(ended_at__isnull=False).exclude(participant=None).exists()
    decided = submissions.filter(state__in=("approved", "rejected")).exists()
    return [
        Check(
            "First raters have come", channel.participants.exists(), "Open the address yourself, in a private window."
        ),
        Check(
            "First work is handed in",
            handed_in,
            "Update from the platform; look at the first ratings on the batch’s page.",
        ),
        Check("First decision", decided, "Approve below: raters wait for their pay."),
    ]


MOST_REQUESTS_SHOWN = 20


def open_requests(channel: Channel) -> dict[str, Any]:
    """Return the part of a panel's context about requests that are not done."""
    unanswered = channel.actions.exclude(state=PlatformAction.State.DONE).order_by("pk")
    shown = unanswered[:MOST_REQUESTS_SHOWN]
    return {
        "unanswered": [(row.key, row.get_state_display(), restored(row.answer.get("error"))) for row in shown],
        "unanswered_count": unanswered.count(),
    }


def rater_shown(submission: Submission) -> str:
    """Return the code of a submission's rater. Withdrawn ones stay unnamed, but can still be paid."""
    participant = submission.participant
    return participant.annotator.code if participant and not participant.annotator.withdrawn_at else ""
