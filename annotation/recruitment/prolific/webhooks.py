"""Webhook messages from Prolific: verified, stored once, and applied.

docs.prolific.com/api-reference/webhooks: `verifying` (X-Prolific-Request-Signature is the base64 of HMAC-SHA256 over
X-Prolific-Request-Timestamp followed by the body), `receiving` (what a body holds), `idempotency-and-the-x-event-id-
header` (at least once, under one X-Event-ID), `handling-event-order-with-x-timestamp` (no guaranteed order). The
documentation sets no time window; five minutes are our choice.
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

from annotation.annotators.participants import is_erased
from annotation.models import Channel, WebhookEvent
from annotation.recruitment.prolific.site import ID
from annotation.recruitment.prolific.submissions import apply_status, status_named

WINDOW = timedelta(minutes=5)
LARGEST_BODY = 64 * 1024
CHANGE = "submission.status.change"
LONGEST_EVENT_ID = 150


class BadMessage(Exception):
    """A message that isn't Prolific's, or is too old. `status` is the status of the response."""

    def __init__(self, words: str, status: int) -> None:
        self.status = status
        super().__init__(words)


@dataclass(frozen=True)
class WebhookMessage:
    """A message with a valid signature."""

    event_id: str
    signature: str
    said_at: float
    body: dict[str, Any]


def signature_of(secret: str, timestamp: str, body: bytes) -> str:
    """Return the signature that Prolific computes for a message."""
    return base64.b64encode(hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()).decode()


def read(*, secret: str, headers: Any, body: bytes, at: datetime) -> WebhookMessage:
    """Verify and parse a message. Nothing is parsed before the signature is verified.

    Only the signed time decides whether it is recent; X-Timestamp isn't signed, so it may date a message back but not
    forward.
    Raises: BadMessage.
    """
    signature, stamp = headers.get("X-Prolific-Request-Signature", ""), headers.get("X-Prolific-Request-Timestamp", "")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12):
        raise BadMessage("no time", 401)
    if not constant_time_compare(signature, signature_of(secret, stamp, body)):
        raise BadMessage("wrong signature", 401)
    if abs(at.timestamp() - int(stamp)) > WINDOW.total_seconds():
        raise BadMessage("not from now", 401)
    payload = _payload(body)
    digest = hashlib.sha256(stamp.encode() + body).hexdigest()
    named = headers.get("X-Event-ID", "")
    event_id = named if named.isascii() and named.isprintable() and 0 < len(named) <= LONGEST_EVENT_ID else digest
    return WebhookMessage(event_id, digest, _said_at(headers.get("X-Timestamp", ""), int(stamp)), payload)


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number of JSON")


def _finite(text: str) -> float:
    """Parse a float. Refuse one too large, which JSON couldn't represent again."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large")
    return number


def _payload(body: bytes) -> dict[str, Any]:
    """Parse a body. Refuse JSON that the database can't store."""
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
        seconds = float(text[:20])
    except ValueError:
        return signed
    return seconds if 0 < seconds < signed else signed


@transaction.atomic
def receive(*, channel: Channel, message: WebhookMessage, at: datetime) -> str:
    """Store and apply a message. Return "applied", "kept" when it changes nothing, "duplicate" or "erased".

    Nothing is stored about a rater whose data were erased. Duplicates are recognized by the event's id, and, since that
    isn't signed, by the body's signature. An unknown submission is stored without a participant.
    """
    Channel.objects.select_for_update(of=("self",)).get(pk=channel.pk)  # serializes concurrent duplicates
    named = [message.body.get(name) for name in ("resource_id", "participant_id")]
    if is_erased(channel.study, *(value for value in named if isinstance(value, str))):
        return "erased"
    recent = channel.webhook_events.filter(received_at__gte=at - 2 * WINDOW)
    if recent.filter(body__signature=message.signature).exists():
        return "duplicate"
    event, created = WebhookEvent.objects.get_or_create(
        channel=channel,
        event_id=message.event_id,
        defaults={"body": {"signature": message.signature, "message": message.body}, "received_at": at},
    )
    if not created:
        return "duplicate"
    if not _apply(channel, message, at):
        return "kept"
    event.applied_at = at
    event.save(update_fields=["applied_at"])
    return "applied"


def _apply(channel: Channel, message: WebhookMessage, at: datetime) -> bool:
    external_id, status = message.body.get("resource_id"), status_named(message.body.get("status"))
    if message.body.get("event_type") != CHANGE or not status:
        return False
    if not (isinstance(external_id, str) and ID.fullmatch(external_id)):
        return False
    participant = message.body.get("participant_id")
    submission, created = channel.submissions.get_or_create(external_id=external_id, defaults={"started_at": at})
    if created and isinstance(participant, str) and ID.fullmatch(participant):
        submission.details = {"participant_id": participant}
        submission.save(update_fields=["details"])
    return apply_status(submission=submission, status=status, at=at, said_at=message.said_at)
