"""Updates of submissions: from Prolific's list, and by its webhook messages, which are verified, stored once, and applied.

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
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.request import RawPostDataException
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from annotation.annotators.participants import is_erased
from annotation.core.errors import Unacceptable
from annotation.models import Channel, Submission, WebhookEvent
from annotation.recruitment.outbox import Json
from annotation.recruitment.prolific.client import MOST_PAGES, ProlificClient
from annotation.recruitment.prolific.site import ID, ProlificSettings
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
    said_at = float(stamp)
    with suppress(ValueError):
        unsigned = float(headers.get("X-Timestamp", "")[:20])
        said_at = unsigned if 0 < unsigned < said_at else said_at
    return WebhookMessage(event_id, digest, said_at, payload)


def _number(text: str) -> float:
    """Parse a float. Refuse what JSON couldn't represent again."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is no number of JSON, or too large")
    return number


def _payload(body: bytes) -> dict[str, Any]:
    """Parse a body. Refuse JSON that the database can't store."""
    try:
        payload = json.loads(body, parse_constant=_number, parse_float=_number)
        json.dumps(payload, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise BadMessage("no JSON", 400) from None
    if not isinstance(payload, dict) or b"\\u0000" in body:
        raise BadMessage("no object", 400)
    return payload


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
    external_id, status = message.body.get("resource_id"), status_named(message.body.get("status"))
    is_change = message.body.get("event_type") == CHANGE and bool(status)
    if not (is_change and isinstance(external_id, str) and ID.fullmatch(external_id)):
        return "kept"
    participant = message.body.get("participant_id")
    submission, created = channel.submissions.get_or_create(external_id=external_id, defaults={"started_at": at})
    if created and isinstance(participant, str) and ID.fullmatch(participant):
        submission.details = {"participant_id": participant}
        submission.save(update_fields=["details"])
    if not apply_status(submission=submission, status=status, at=at, said_at=message.said_at):
        return "kept"
    event.applied_at = at
    event.save(update_fields=["applied_at"])
    return "applied"


@csrf_exempt
@never_cache
@require_POST
def webhook(request: HttpRequest, channel_key: str) -> HttpResponse:
    """Receive a message. Any status but 2xx makes Prolific send it again."""
    channel = get_object_or_404(Channel, key=channel_key, kind=Channel.Kind.PROLIFIC)
    secret = ProlificSettings(channel).webhook_secret
    if secret is None:
        return JsonResponse({"error": "no webhook secret is set for this channel"}, status=503)
    length = request.META.get("CONTENT_LENGTH") or "0"
    try:
        if not length.isdigit() or int(length) > LARGEST_BODY:
            raise BadMessage("too long", 413)
        message = read(secret=secret, headers=request.headers, body=request.body, at=timezone.now())
    except RawPostDataException:
        return JsonResponse({"error": "no body"}, status=400)
    except BadMessage as problem:
        return JsonResponse({"error": str(problem)}, status=problem.status)
    return JsonResponse({"result": receive(channel=channel, message=message, at=timezone.now())})
