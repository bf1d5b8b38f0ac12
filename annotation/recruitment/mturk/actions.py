"""Decide on workers' assignments on MTurk: approve, reject, pay bonuses, assign qualifications."""

import hashlib
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from decimal import Decimal

from annotation.core.errors import Unacceptable, UnknownName
from annotation.models import Channel, PlatformAction, Submission
from annotation.recruitment.mturk.client import (
    MturkClient,
    MturkRefused,
    RunSummary,
    send_requests,
    status_of,
    was_done_before,
    wrong_state,
)
from annotation.recruitment.mturk.site import MONEY, MturkSettings
from annotation.recruitment.outbox import Json, State, write_down

APPROVE, REJECT, BONUS, QUALIFICATION, QUALIFY = "approve", "reject", "bonus", "qualification", "qualify"
LONGEST_FEEDBACK = 1024
_OPERATIONS = {APPROVE: ("approve_assignment", "Approved"), REJECT: ("reject_assignment", "Rejected")}
_STATES = {APPROVE: Submission.State.APPROVED, REJECT: Submission.State.REJECTED}


def awaiting(channel: Channel) -> list[Submission]:
    """Return the assignments that await a decision on MTurk and have no problem."""
    done = channel.submissions.filter(state__in=(Submission.State.COMPLETED, Submission.State.SCREENED_OUT))
    done = done.filter(details__mturk__status="Submitted").select_related("participant")
    return [submission for submission in done if not submission.details.get("problem")]


def approve(
    *,
    channel: Channel,
    assignment_ids: Sequence[str] | None,
    at: datetime,
    feedback: str = "",
    override: bool = False,
    limit: int | None = None,
) -> RunSummary:
    """Approve these assignments, or all of `awaiting` for None. Idempotent.

    override : also rejected ones, which MTurk allows for 30 days
    Raises: UnknownName; Unacceptable; KeyMissing.
    """
    submissions = awaiting(channel) if assignment_ids is None else _find(channel, assignment_ids)
    feedback = _feedback(feedback)
    payload = {"feedback": feedback, "override": override}
    name = "approve-rejected" if override else APPROVE
    return _run(channel, _planned(channel, APPROVE, submissions, payload, name=name), at, limit)


def reject(
    *, channel: Channel, assignment_ids: Sequence[str], feedback: str, at: datetime, limit: int | None = None
) -> RunSummary:
    """Reject these assignments, with feedback for their workers. The ratings stay counted unless they are excluded.

    Raises: UnknownName; Unacceptable for missing or too long feedback; KeyMissing.
    """
    feedback = _feedback(feedback)
    if not feedback:
        raise Unacceptable("Say why: the worker reads it.")
    submissions = _find(channel, assignment_ids)
    return _run(channel, _planned(channel, REJECT, submissions, {"feedback": feedback}, name=REJECT), at, limit)


def bonus(
    *,
    channel: Channel,
    assignment_ids: Sequence[str],
    amount: str,
    reason: str,
    at: datetime,
    label: str = "1",
    limit: int | None = None,
) -> RunSummary:
    """Pay a bonus for each of these assignments, once per label.

    Raises: UnknownName; Unacceptable for an amount above the channel's cap, no reason, or another amount under the same
    label; KeyMissing.
    """
    mturk = MturkSettings(channel)
    amount, reason, label = amount.strip(), _feedback(reason), label.strip()
    if not MONEY.fullmatch(amount) or Decimal(amount) <= 0:
        raise Unacceptable("The bonus must be dollars and cents, such as 0.75.")
    if Decimal(amount) > mturk.bonus_cap:
        raise Unacceptable(f"A bonus of {amount} is above the channel’s cap of {mturk.bonus_cap}.")
    if not reason:
        raise Unacceptable("Say what the bonus is for: the worker reads it.")
    if not 1 <= len(label) <= 20:
        raise Unacceptable("The bonus’s label must have 1 to 20 characters.")
    submissions = _find(channel, assignment_ids)
    if without_worker := [submission.external_id for submission in submissions if submission.participant is None]:
        raise Unacceptable(f"These assignments are unknown here: {', '.join(without_worker)}")
    payload = {"amount": str(Decimal(amount).quantize(Decimal("0.01"))), "reason": reason}
    return _run(channel, _planned(channel, BONUS, submissions, payload, name=BONUS, label=f":{label}"), at, limit)


def qualify(
    *, channel: Channel, name: str, description: str, value: int, codes: Sequence[str] | None, at: datetime
) -> RunSummary:
    """Assign a qualification, made if missing, to raters: by their codes, or to all with approved work.

    Raises: UnknownName for a code of another channel; Unacceptable; KeyMissing.
    """
    name, description = name.strip(), description.strip()
    if not (1 <= len(name) <= 200 and 1 <= len(description) <= 2000):
        raise Unacceptable("A qualification needs a name and a description.")
    people = channel.participants.filter(annotator__erased_at=None).select_related("annotator")
    if codes is None:
        people = people.filter(submissions__state=Submission.State.APPROVED).distinct()
    else:
        people = people.filter(annotator__code__in=codes)
        if unknown := set(codes) - {participant.annotator.code for participant in people}:
            raise UnknownName(f"No rater of this channel: {', '.join(sorted(unknown))}")
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    type_action = write_down(
        channel=channel,
        kind=QUALIFICATION,
        key=f"{QUALIFICATION}:{digest}",
        payload={"name": name, "description": description},
    )
    summary = _run(channel, [type_action], at, None)
    if type_action.state != State.DONE:
        return summary
    actions = [
        write_down(
            channel=channel,
            kind=QUALIFY,
            key=f"{QUALIFY}:{digest}:{participant.pk}:{value}",
            payload={"type_id": type_action.answer["type_id"], "participant": participant.pk, "value": value},
        )
        for participant in people
    ]
    return _run(channel, actions, at, None)


def _feedback(text: str) -> str:
    text = text.strip()
    if len(text) > LONGEST_FEEDBACK:
        raise Unacceptable(f"MTurk takes at most {LONGEST_FEEDBACK} characters here, and these are {len(text)}.")
    return text


def _find(channel: Channel, assignment_ids: Sequence[str]) -> list[Submission]:
    by_id = {
        submission.external_id: submission for submission in channel.submissions.filter(external_id__in=assignment_ids)
    }
    if unknown := [submission for submission in assignment_ids if submission not in by_id]:
        raise UnknownName(f"This channel knows no such assignments: {', '.join(unknown)}. Run sync first?")
    return [by_id[submission] for submission in dict.fromkeys(assignment_ids)]


def _planned(
    channel: Channel, kind: str, submissions: Sequence[Submission], payload: Json, *, name: str, label: str = ""
) -> list[PlatformAction]:
    """Store a request for each submission. Its name and label distinguish it from others of the kind."""
    return [
        write_down(
            channel=channel,
            kind=kind,
            key=f"{name}:{submission.external_id}{label}",
            payload=payload,
            submission=submission,
        )
        for submission in submissions
    ]


def _run(channel: Channel, actions: Sequence[PlatformAction], at: datetime, limit: int | None) -> RunSummary:
    with closing(MturkClient(MturkSettings(channel))) as client:
        return send_requests(
            client=client,
            actions=actions,
            send=lambda client, action: _SENDERS[action.kind](client, action),
            at=at,
            limit=limit,
        )


def _decide(client: MturkClient, action: PlatformAction) -> Json:
    """Approve or reject. A decision that MTurk has already counts as done."""
    submission = _submission(action)
    operation, target = _OPERATIONS[action.kind]
    arguments: Json = {"AssignmentId": submission.external_id}
    if action.payload["feedback"]:
        arguments["RequesterFeedback"] = action.payload["feedback"]
    if action.payload.get("override"):
        arguments["OverrideRejection"] = True
    try:
        client.call(operation, **arguments)
    except MturkRefused as refusal:
        if not wrong_state(refusal) or status_of(client, submission.external_id) != target:
            raise
    submission.state = _STATES[action.kind]
    submission.details = {**submission.details, "mturk": {**submission.details.get("mturk", {}), "status": target}}
    submission.save(update_fields=["state", "details"])
    return {"status": target}


def _pay(client: MturkClient, action: PlatformAction) -> Json:
    """Pay a bonus. After an earlier attempt look it up first, since MTurk forgets a request token after a day."""
    submission, payload = _submission(action), action.payload
    if action.attempts:
        for paid in client.pages("list_bonus_payments", "BonusPayments", AssignmentId=submission.external_id):
            if Decimal(paid["BonusAmount"]) == Decimal(payload["amount"]) and paid.get("Reason") == payload["reason"]:
                return {"found": True}
    worker = submission.participant.external_id if submission.participant else ""
    try:
        client.call(
            "send_bonus",
            WorkerId=worker,
            AssignmentId=submission.external_id,
            BonusAmount=payload["amount"],
            Reason=payload["reason"],
            UniqueRequestToken=hashlib.sha256(f"{action.channel.key}/{action.key}".encode()).hexdigest(),
        )
    except MturkRefused as refusal:
        if not was_done_before(refusal):
            raise
        return {"found": True}
    return {}


def _make_type(client: MturkClient, action: PlatformAction) -> Json:
    """Create a qualification type, or find the one of this name: names are unique in an account."""
    name = action.payload["name"]
    try:
        answer = client.call(
            "create_qualification_type",
            Name=name,
            Description=action.payload["description"],
            QualificationTypeStatus="Active",
        )["QualificationType"]
        return {"type_id": answer["QualificationTypeId"]}
    except MturkRefused as refusal:
        mine = client.pages(
            "list_qualification_types",
            "QualificationTypes",
            Query=name,
            MustBeRequestable=False,
            MustBeOwnedByCaller=True,
        )
        match = next((qualification for qualification in mine if qualification["Name"] == name), None)
        if match is None:
            raise refusal from None
        return {"type_id": match["QualificationTypeId"]}


def _give(client: MturkClient, action: PlatformAction) -> Json:
    person = action.channel.participants.get(pk=action.payload["participant"])
    client.call(
        "associate_qualification_with_worker",
        QualificationTypeId=action.payload["type_id"],
        WorkerId=person.external_id,
        IntegerValue=action.payload["value"],
        SendNotification=False,
    )
    return {}


_SENDERS = {APPROVE: _decide, REJECT: _decide, BONUS: _pay, QUALIFICATION: _make_type, QUALIFY: _give}


def _submission(action: PlatformAction) -> Submission:
    if action.submission is None:
        raise ValueError(f"action {action.pk} is about no assignment")
    return action.submission
