"""Messages from Prolific: checked, kept once, and taken over.

docs.prolific.com/api-reference/webhooks: `verifying` (X-Prolific-Request-Signature is the base64 of HMAC-SHA256 over
X-Prolific-Request-Timestamp followed by the body), `receiving` (what a body holds), `idempotency-and-the-x-event-id-
header` (at least once, under one X-Event-ID), `handling-event-order-with-x-timestamp` (no order is promised). The
documentation sets no time window; five minutes are this program's.
"""

import base64
import hashlib
import hmac
import json
import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils.crypto import constant_time_compare

from annotation.models import Channel, WebhookEvent
from annotation.services.prolific_site import ID
from annotation.services.prolific_submissions import hear, status_named

WINDOW = timedelta(minutes=5)
LARGEST_BODY = 64 * 1024
CHANGE = "submission.status.change"
LONGEST_EVENT_ID = 150


class BadMessage(Exception):
    """A message that isn't Prolific's, or not one from now; `status` is what its sender is answered."""

    def __init__(self, words: str, status: int) -> None:
        self.status = status
        super().__init__(words)


@dataclass(frozen=True)
class Message:
    """A message whose signature is right."""

    event_id: str
    signature: str
    said_at: float
    body: dict[str, Any]


def signature_of(secret: str, timestamp: str, body: bytes) -> str:
    """Sign a message the way that Prolific does."""
    return base64.b64encode(hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()).decode()


def read(*, secret: str, headers: Any, body: bytes, at: datetime) -> Message:
    """Check a message and read it. Nothing of it is looked at before its signature is known to be right.

    Only the time that is signed decides whether it is from now; the other headers aren't signed, so the time that they
    give may put a message back among the others but not ahead.
    Raises: BadMessage.
    """
    given, stamp = headers.get("X-Prolific-Request-Signature", ""), headers.get("X-Prolific-Request-Timestamp", "")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12):
        raise BadMessage("no time", 401)
    if not constant_time_compare(given, signature_of(secret, stamp, body)):
        raise BadMessage("wrong signature", 401)
    if abs(at.timestamp() - int(stamp)) > WINDOW.total_seconds():
        raise BadMessage("not from now", 401)
    payload = _payload(body)
    digest = hashlib.sha256(stamp.encode() + body).hexdigest()
    named = headers.get("X-Event-ID", "")
    event_id = named if named.isascii() and named.isprintable() and 0 < len(named) <= LONGEST_EVENT_ID else digest
    return Message(event_id, digest, _said_at(headers.get("X-Timestamp", ""), int(stamp)), payload)


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number of JSON")


def _finite(text: str) -> float:
    """Read a number with a point or an exponent; one that is too large for a float would become none of JSON's."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large")
    return number


def _payload(body: bytes) -> dict[str, Any]:
    """Read a body; what JSON allows and a database's JSON doesn't hold is refused."""
    try:
        payload = json.loads(body, parse_constant=_no_number, parse_float=_finite)
        json.dumps(payload, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise BadMessage("no JSON", 400) from None
    if not isinstance(payload, dict) or b"\\u0000" in body:
        raise BadMessage("no object", 400)
    return payload


def _said_at(text: str, signed: int) -> float:
    try:
        said = float(text[:20])
    except ValueError:
        return signed
    return said if 0 < said < signed else signed


@transaction.atomic
def receive(*, channel: Channel, message: Message, at: datetime) -> str:
    """Keep a message and take over what it says; return "applied", "kept" when it says nothing new, or "duplicate".

    The same event is known by its id; the same request, sent again under another id, which isn't signed, by its body.
    A submission that nobody has come for yet is written down without a participant: it becomes theirs on arrival.
    """
    Channel.objects.select_for_update(of=("self",)).get(pk=channel.pk)  # the same message twice at once takes turns
    recent = channel.webhook_events.filter(received_at__gte=at - 2 * WINDOW)
    if recent.filter(body__signature=message.signature).exists():
        return "duplicate"
    event, made = WebhookEvent.objects.get_or_create(
        channel=channel,
        event_id=message.event_id,
        defaults={"body": {"signature": message.signature, "message": message.body}, "received_at": at},
    )
    if not made:
        return "duplicate"
    if not _apply(channel, message, at):
        return "kept"
    event.applied_at = at
    event.save(update_fields=["applied_at"])
    return "applied"


def _apply(channel: Channel, message: Message, at: datetime) -> bool:
    external_id, status = message.body.get("resource_id"), status_named(message.body.get("status"))
    if message.body.get("event_type") != CHANGE or not status:
        return False
    if not (isinstance(external_id, str) and ID.fullmatch(external_id)):
        return False
    participant = message.body.get("participant_id")
    submission, made = channel.submissions.get_or_create(external_id=external_id, defaults={"started_at": at})
    if made and isinstance(participant, str) and ID.fullmatch(participant):
        submission.details = {"participant_id": participant}
        submission.save(update_fields=["details"])
    return hear(submission=submission, status=status, at=at, said_at=message.said_at)
