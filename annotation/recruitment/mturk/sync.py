"""Update HITs and assignments from MTurk, and detect mismatches with the work done here."""

import re
from contextlib import closing
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

from django.db import transaction

from annotation.annotators.participants import is_erased
from annotation.models import Channel, PlatformAction, Submission
from annotation.recruitment.mturk.client import MturkClient
from annotation.recruitment.mturk.hits import adopt_hits
from annotation.recruitment.mturk.site import MturkSettings
from annotation.recruitment.mturk.work import AT_WORK, HIT, settle
from annotation.recruitment.outbox import Json, State

Sub = Submission.State
OTHER_WORKER, NO_WORK, OTHER_CODE = "other-worker", "no-work", "other-code"
_DECIDED = {"Approved": Sub.APPROVED, "Rejected": Sub.REJECTED}
_GRACE = timedelta(hours=1)


def sync(*, channel: Channel, at: datetime, limit: int | None = None) -> Json:
    """Update the channel's assignments from MTurk. Idempotent.

    limit : the most HITs to ask about, least recently synced first
    Raises: KeyMissing; MturkUnreachable; MturkRefused; earlier updates are kept.
    """
    mturk = MturkSettings(channel)
    for participant in channel.participants.filter(submissions__state__in=AT_WORK).distinct():
        settle(participant=participant)
    with closing(MturkClient(mturk)) as client:
        listed = {hit["HITId"]: hit for hit in adopt_hits(client, channel)}
        offered = sorted(
            channel.actions.filter(kind=HIT, state=State.DONE),
            key=lambda action: (action.answer.get("synced_at", ""), action.pk),
        )
        batch = offered[:limit]
        count = sum(_sync_hit(client, channel, action, listed, at) for action in batch)
    # Assignments that were not submitted within their time on MTurk, plus a grace period.
    before = at - timedelta(minutes=mturk.duration_minutes) - _GRACE
    gone = channel.submissions.filter(state__in=AT_WORK, started_at__lt=before).update(state=Sub.TIMED_OUT, ended_at=at)
    return {"hits": len(batch), "assignments": count, "timed_out": gone, "hits_left": len(offered) - len(batch)}


def _sync_hit(
    client: MturkClient, channel: Channel, action: PlatformAction, listed: dict[str, Json], at: datetime
) -> int:
    hit_id = action.answer["hit_id"]
    assignments = list(client.pages("list_assignments_for_hit", "Assignments", HITId=hit_id))
    for row in assignments:
        if not is_erased(channel.study, row["AssignmentId"], row["WorkerId"]):
            _take(channel, row)
    hit = listed.get(hit_id, {})
    action.answer = {
        **action.answer,
        "synced_at": at.isoformat(),
        "status": hit.get("HITStatus", "Disposed"),
        "pending": hit.get("NumberOfAssignmentsPending", 0),
        "available": hit.get("NumberOfAssignmentsAvailable", 0),
    }
    action.save(update_fields=["answer"])
    return len(assignments)


@transaction.atomic
def _take(channel: Channel, row: Json) -> None:
    """Store MTurk's state of one submitted assignment, and any mismatch."""
    submission, _new = Submission.objects.select_for_update(of=("self",)).get_or_create(
        channel=channel,
        external_id=row["AssignmentId"],
        defaults={"state": Sub.COMPLETED, "started_at": row.get("AcceptTime") or datetime.now(tz=UTC)},
    )
    status, participant = row.get("AssignmentStatus", "Submitted"), submission.participant
    problem = ""  # that keeps it from being approved with the others
    if participant is not None and participant.external_id != row["WorkerId"]:
        problem = OTHER_WORKER
    elif not submission.code:
        problem = NO_WORK
    elif submission.code not in answers(row.get("Answer", "")):
        problem = OTHER_CODE
    submission.details = {
        **submission.details,
        "hit_id": row["HITId"],
        "mturk": {
            "status": status,
            **{
                name: row[key].astimezone(UTC).isoformat()
                for name, key in (
                    ("accepted_at", "AcceptTime"),
                    ("submitted_at", "SubmitTime"),
                    ("auto_approval_at", "AutoApprovalTime"),
                )
                if isinstance(row.get(key), datetime)
            },
        },
        "problem": problem,
    }
    submission.state = _DECIDED.get(status, Sub.COMPLETED if submission.state in AT_WORK else submission.state)
    submission.ended_at = submission.ended_at or row.get("SubmitTime")
    submission.save(update_fields=["details", "state", "ended_at"])


def answers(document: str) -> set[str]:
    """Return the answers in a QuestionFormAnswers document, or none if it is invalid."""
    if "<!DOCTYPE" in document or "<!ENTITY" in document:  # MTurk writes neither; entities can expand without bound
        return set()
    try:
        root = ElementTree.fromstring(document)  # noqa: S314  # without entities, see above
    except ElementTree.ParseError:
        return set()
    return {(element.text or "").strip() for element in root.iter() if re.fullmatch(r"(\{.*\})?FreeText", element.tag)}
