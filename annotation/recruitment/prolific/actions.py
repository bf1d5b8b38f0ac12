"""Requests that Prolific must carry out once: stored before they are sent, so that they can be retried safely.

After a lost answer, a decision is looked up before it is sent again. A bonus is looked up and never sent again: Prolific
pays once for each request, and minutes later (pay-bonus-payments says so).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.utils.dateparse import parse_datetime

from annotation.core.errors import Unacceptable
from annotation.core.reasons import reason, restored
from annotation.models import PlatformAction, Submission
from annotation.recruitment.outbox import FAILED, PENDING, Ask, Json, ask_once, begin, lock_channel, note, write_down
from annotation.recruitment.prolific.client import ProlificClient, ProlificRefused, ProlificUnreachable
from annotation.recruitment.prolific.site import CATEGORIES, ID, LONGEST_REASON, MONEY, SHORTEST_REASON
from annotation.recruitment.prolific.submissions import apply_status, status_named

APPROVE, REJECT, BONUS = "approve", "reject", "bonus"
_DECIDED = {APPROVE: "APPROVED", REJECT: "REJECTED"}
BUSY = timedelta(minutes=20)  # longer than a request with all its retries
SETTLES = timedelta(hours=1)  # Prolific pays bonuses "in the following minutes"
LONGEST_REFERENCE = 20  # with Prolific's longest id it fits into an action's key


@dataclass(frozen=True)
class RequestResult:
    """The result of a request. `before` means that it was done earlier and nothing was sent."""

    action: PlatformAction
    before: bool


def approve(*, submission: Submission, client: ProlificClient, at: datetime) -> RequestResult:
    """Approve a submission: its participant is paid.

    Raises: Unacceptable; ProlificRefused; ProlificUnreachable; TokenMissing.
    """
    return _decide(APPROVE, submission, {}, client, at)


def reject(
    *, submission: Submission, reason: str, category: str, client: ProlificClient, at: datetime
) -> RequestResult:
    """Reject a submission, with a reason for its participant. It is not paid.

    Raises: Unacceptable when Prolific would refuse the reason or the category; others as `approve`.
    """
    reason = reason.replace("\x00", "").replace("\r\n", "\n").strip()
    if category not in CATEGORIES:
        raise Unacceptable(f"Choose one of Prolific’s categories: {', '.join(CATEGORIES)}.")
    if not SHORTEST_REASON <= len(reason) <= LONGEST_REASON:
        raise Unacceptable(
            f"Prolific asks for a reason of at least {SHORTEST_REASON} characters ({LONGEST_REASON} at most); "
            f"this has {len(reason)}."
        )
    return _decide(REJECT, submission, {"message": reason, "rejection_category": category}, client, at)


def _decide(kind: str, submission: Submission, words: Json, client: ProlificClient, at: datetime) -> RequestResult:
    target = _DECIDED[kind]
    opposite = next(status for status in _DECIDED.values() if status != target)
    if submission.state == opposite.lower():
        raise Unacceptable(f"This submission is {opposite} at Prolific; it can only be changed there.")

    def send(action: PlatformAction) -> Json:
        if action.attempts:
            current = _status(client, submission)
            if current == target:
                return {"status": current}
        try:
            client.transition(submission.external_id, kind.upper(), **words)
        except ProlificRefused as refusal:
            if refusal.code in (400, 409, 422) and _status(client, submission) == target:
                return {"status": target}
            raise
        return {"status": target}

    done = _once(client, submission, kind, f"{kind}:{submission.external_id}", words, send, at)
    if not done.before:
        apply_status(submission=submission, status=target, at=at)
    return done


def _status(client: ProlificClient, submission: Submission) -> str:
    return status_named(client.submission(submission.external_id).get("status"))


def bonus(
    *, submission: Submission, amount: str, client: ProlificClient, at: datetime, reference: str = ""
) -> RequestResult:
    """Pay a bonus in the study's currency, such as 0.75, once per amount and reference.

    Raises: Unacceptable, also while the result of an earlier request is unknown; others as `approve`.
    """
    amount, reference, cap = amount.strip(), reference.strip(), client.given.bonus_cap
    if not (amount.isascii() and MONEY.fullmatch(amount)) or Decimal(amount) <= 0:
        raise Unacceptable("Give the bonus in the study’s currency, such as 0.75.")
    if (value := Decimal(amount)) > cap:
        raise Unacceptable(f"The largest bonus of this channel is {cap}.")
    if len(reference) > LONGEST_REFERENCE or (reference and not ID.fullmatch(reference)):
        raise Unacceptable(f"A reference is up to {LONGEST_REFERENCE} letters and digits.")
    cents = int(value * 100)

    def send(action: PlatformAction) -> Json:
        if action.answer.get("paying_since"):
            return _look_up(action, submission, cents, client, at)
        listed = _listed(client, submission, cents)
        bulk = client.set_up_bonus(submission.external_id, value)
        bulk_id, understood = bulk.get("id"), bulk.get("amount", cents)
        if not (
            isinstance(bulk_id, str | int)
            and 0 < len(str(bulk_id)) <= 64
            and ID.fullmatch(str(bulk_id).replace("-", ""))
        ):
            raise ProlificRefused(reason("bonus_without_id"))
        if understood != cents:
            raise ProlificRefused(reason("bonus_of_other_amount"))
        note(action, {"bonus_id": str(bulk_id), "listed_before": listed, "paying_since": at.isoformat()})
        try:
            client.pay_bonus(str(bulk_id))
        except ProlificRefused:
            note(action, {"paying_since": None})
            raise
        except ProlificUnreachable as trouble:
            if not trouble.may_have_worked:
                note(action, {"paying_since": None})
            raise
        return {"bonus_id": str(bulk_id), "cents": cents}

    def settle(action: PlatformAction) -> Json:
        try:
            return send(action)
        except ProlificUnreachable as trouble:  # setting a bonus up pays nothing
            trouble.may_have_worked = bool(action.answer.get("paying_since"))
            raise

    key = f"{BONUS}:{submission.external_id}:{cents}:{reference}"
    return _once(client, submission, BONUS, key, {"amount": f"{value:.2f}", "reference": reference}, settle, at)


def _listed(client: ProlificClient, submission: Submission, cents: int) -> int:
    """Count the bonuses of this amount that Prolific lists as paid for a submission."""
    paid = client.submission(submission.external_id).get("bonus_payments")
    return sum(1 for amount in paid if amount == cents) if isinstance(paid, list) else 0


def _look_up(action: PlatformAction, submission: Submission, cents: int, client: ProlificClient, at: datetime) -> Json:
    """Find out whether a bonus was paid whose answer was lost, without sending it again.

    Raises: ProlificUnreachable while it may still be paid; ProlificRefused when it isn't after an hour.
    """
    if _listed(client, submission, cents) > int(action.answer.get("listed_before", 0)):
        return {**action.answer, "cents": cents, "found": True}
    since = parse_datetime(str(action.answer["paying_since"])) or at
    if at < since + SETTLES:
        raise ProlificUnreachable(reason("bonus_not_listed_yet"), may_have_worked=True)
    raise ProlificRefused(reason("bonus_not_listed"))


def _once(
    client: ProlificClient, submission: Submission, kind: str, key: str, payload: Json, send: Ask, at: datetime
) -> RequestResult:
    """Carry out a request unless it was done before.

    Raises: Unacceptable while another process sends it, or the result of another request for the submission is unknown;
    the errors of `send`, after storing the state.
    """
    client.require_token()
    with transaction.atomic():  # it is stored as being sent before it is
        channel = lock_channel(submission.channel_id)
        unsettled = channel.actions.filter(submission=submission, state=PENDING, attempts__gt=0).exclude(key=key)
        kinds = (BONUS,) if kind == BONUS else (APPROVE, REJECT)
        if (pending := unsettled.filter(kind__in=kinds).first()) is not None:
            raise Unacceptable(
                f"The outcome of an earlier request ({pending.key}) is not known yet. Repeat that one first."
            )
        action = write_down(channel=channel, kind=kind, key=key, payload=payload, submission=submission, fixed=False)
        if action.state == FAILED and action.answer.get("paying_since"):
            raise Unacceptable(restored(action.answer.get("error")))
        is_open = begin(action, at=at, busy_for=BUSY)
    if is_open:
        ask_once(action, send, at=at)
    return RequestResult(action, before=not is_open)
