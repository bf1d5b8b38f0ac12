"""Update submissions from Prolific's list."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from annotation.annotators.participants import is_erased
from annotation.core.errors import Unacceptable
from annotation.models import Channel, Submission
from annotation.recruitment.outbox import Json
from annotation.recruitment.prolific.client import MOST_PAGES, ProlificClient
from annotation.recruitment.prolific.site import ID
from annotation.recruitment.prolific.submissions import apply_status, status_named

OTHER_PARTICIPANT = "other-participant"


@dataclass
class SyncResult:
    """The result of a sync: submissions listed (seen), of them new here, and changed."""

    seen: int = 0
    new: int = 0
    changed: int = 0
    unreadable: int = 0


def sync(*, channel: Channel, client: ProlificClient, at: datetime, most_pages: int = MOST_PAGES) -> SyncResult:
    """Update every submission of the channel's study, and store those without a participant.

    Raises: Unacceptable without a study id; ProlificRefused; ProlificUnreachable; TokenMissing.
    """
    if not client.given.study_id:
        raise Unacceptable("Name Prolific’s study in the channel’s settings first.")
    result = SyncResult()
    for row in client.submissions(most_pages=most_pages):
        external_id, status = row.get("id"), status_named(row.get("status"))
        if not (isinstance(external_id, str) and ID.fullmatch(external_id) and status):
            result.unreadable += 1
            continue
        result.seen += 1
        if is_erased(channel.study, external_id, str(row.get("participant_id"))):
            continue
        submission, created = _get_or_create(channel, external_id, row, at)
        result.new += created
        result.changed += apply_status(submission=submission, status=status, at=at) and not created
    return result


@transaction.atomic
def _get_or_create(channel: Channel, external_id: str, row: Json, at: datetime) -> tuple[Submission, bool]:
    """Return the submission with this id, marked as one of the study, with Prolific's participant id."""
    submission, created = Submission.objects.select_for_update(of=("self",)).get_or_create(
        channel=channel, external_id=external_id, defaults={"started_at": at}
    )
    participant: Any = row.get("participant_id")
    noted: dict[str, Any] = {"in_study": True}
    if isinstance(participant, str) and ID.fullmatch(participant):
        noted["participant_id"] = participant
        if submission.participant is not None and submission.participant.external_id != participant:
            noted["problem"] = OTHER_PARTICIPANT
    if submission.details | noted != submission.details:
        submission.details = {**submission.details, **noted}
        submission.save(update_fields=["details"])
    return submission, created
