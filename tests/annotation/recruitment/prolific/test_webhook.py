"""Messages from Prolific: which are taken, once, in which order, and what they do to the work."""

import json
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from annotation.allocation.claims import has_work
from annotation.annotators.consent import answer_consent
from annotation.core.errors import AssignmentClosed
from annotation.models import Assignment, Channel, Slot, Study, Submission, WebhookEvent
from annotation.rating.votes import save_vote
from annotation.recruitment.prolific.updates import LARGEST_BODY, signature_of
from tests.annotation.recruitment.prolific.server import ProlificServer
from tests.annotation.recruitment.prolific.setup import (
    NOON,
    OTHER_PID,
    OTHER_SESSION,
    PID,
    SECRET,
    SESSION,
    come,
    make_prolific,
    rater,
)
from tests.factories import claim
from tests.rows import undone_at_the_end

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
CHANGE = "submission.status.change"


def now() -> int:
    return int(timezone.now().timestamp())


def body_of(status: str, session: str = SESSION, pid: str = PID, **more: Any) -> bytes:
    return json.dumps(
        {"resource_id": session, "event_type": CHANGE, "participant_id": pid, "status": status, **more}
    ).encode()


def post(
    channel: Channel,
    body: bytes,
    *,
    event: str = "",
    at: int | None = None,
    said: int | str | None = None,
    secret: str = SECRET,
    **headers: str,
) -> HttpResponse:
    """Send a message as Prolific does."""
    stamp = str(now() if at is None else at)
    sent = {
        "X-Prolific-Request-Timestamp": stamp,
        "X-Prolific-Request-Signature": signature_of(secret, stamp, body),
        **({"X-Event-ID": event} if event else {}),
        **({"X-Timestamp": str(said)} if said is not None else {}),
        **headers,
    }
    browser = Client(enforce_csrf_checks=True)
    address = f"/hooks/prolific/{channel.key}/"
    return browser.post(address, body, content_type="application/json", headers=sent)  # type: ignore[return-value]


def tell(channel: Channel, status: str, **more: Any) -> str:
    """Send a message that is taken, and return what came of it."""
    ids = {name: more.pop(name) for name in ("session", "pid") if name in more}
    answer = post(channel, body_of(status, **ids), **more)
    assert answer.status_code == 200, answer.content
    result: str = json.loads(answer.content)["result"]
    return result


def submission() -> Submission:
    return Submission.objects.get(external_id=SESSION)


def at_work(channel: Channel) -> Assignment:
    """Have the participant come, consent and claim a HIT."""
    come(channel)
    annotator = rater(channel)
    answer_consent(annotator=annotator, accepted=True, at=NOON)
    return claim(annotator, timezone.now())


# Which messages are taken


def test_message_is_signed_as_prolific_documents_it() -> None:
    # printf '100{}' | openssl dgst -sha256 -hmac secret -binary | base64
    assert signature_of("secret", "100", b"{}") == "8v+xdKBdZ/6HiiC389lGJ1Ea8VIKg30XsOyEpEBW45E="


def test_signed_message_is_taken_without_a_session_or_a_form_token(channel: Channel) -> None:
    come(channel)

    assert tell(channel, "AWAITING REVIEW", event="E1") == "applied"
    event = WebhookEvent.objects.get()
    assert event.event_id == "E1"
    assert event.applied_at is not None
    assert event.body["message"]["status"] == "AWAITING REVIEW"
    assert submission().state == "completed"


REFUSED: list[dict[str, Any]] = [
    {"secret": "another"},
    {"X-Prolific-Request-Signature": ""},
    {"X-Prolific-Request-Signature": "ümlaut"},  # no ASCII
    {"X-Prolific-Request-Timestamp": ""},
    {"X-Prolific-Request-Timestamp": "1e9"},
    {"X-Prolific-Request-Timestamp": "9" * 50},
    {"X-Prolific-Request-Timestamp": str(now() - 1)},  # another time than was signed
    {"ago": 310},
    {"ago": -330},
    {"at": -1},
]


def test_message_that_is_not_prolifics_from_now_is_refused(channel: Channel) -> None:
    come(channel)
    of_another_body = signature_of(SECRET, str(now()), body_of("ACTIVE"))
    for case in [*REFUSED, {"X-Prolific-Request-Signature": of_another_body}]:
        sent = {"at": now() - case["ago"]} if "ago" in case else case

        assert post(channel, body_of("APPROVED"), **sent).status_code == 401, case
    assert not WebhookEvent.objects.exists()
    assert submission().state == "started"
    assert tell(channel, "ACTIVE", at=now() - 280) == "applied"  # within five minutes


NONSENSE = [
    b"",
    b"{",
    b"[]",
    b'{"status": NaN}',
    b'{"extra": 1e999}',
    b'{"extra": [1.5, -2E308]}',
    b'{"status": "\\u0000"}',
    b'{"status": "\\ud800"}',  # half a character
    b"\xff\xfe",
    b"[" * 60_000,
]


def test_signed_nonsense_and_long_bodies_are_refused(channel: Channel) -> None:
    for body in NONSENSE:
        assert post(channel, body).status_code == 400, body[:20]
    assert post(channel, b" " * (LARGEST_BODY + 1)).status_code == 413
    assert not WebhookEvent.objects.exists()


def test_other_channels_have_no_such_address(study: Study, channel: Channel) -> None:
    other = study.channels.create(kind="anonymous", name="x")

    assert post(other, body_of("ACTIVE")).status_code == 404
    assert Client().post("/hooks/prolific/unknown/").status_code == 404


def test_channel_without_a_secret_takes_nothing(study: Study, prolific: ProlificServer) -> None:
    channel = make_prolific(study, prolific, webhook_secret_env="")

    assert post(channel, body_of("APPROVED"), secret="").status_code == 503
    assert not Submission.objects.exists()


# Once


def test_message_sent_again_under_its_id_changes_nothing(channel: Channel) -> None:
    come(channel)
    tell(channel, "AWAITING REVIEW", event="E1", at=now() - 3)

    assert tell(channel, "AWAITING REVIEW", event="E1") == "duplicate"
    assert WebhookEvent.objects.count() == 1


@pytest.mark.parametrize("first", ["E1", ""])
def test_message_under_another_id_or_none_is_known_by_its_body(channel: Channel, first: str) -> None:
    """The id is not signed: an eavesdropper could change it."""
    come(channel)
    stamp = now() - 2
    tell(channel, "AWAITING REVIEW", event=first, at=stamp)

    assert tell(channel, "AWAITING REVIEW", event="E2", at=stamp) == "duplicate"
    assert tell(channel, "AWAITING REVIEW", at=stamp) == "duplicate"
    assert WebhookEvent.objects.count() == 1


OF_SOMETHING_ELSE: list[dict[str, Any]] = [
    {"event_type": "study.status.change"},
    {"status": "SOMETHING NEW"},
    {"status": None},
    {"resource_id": "../x"},
    {"resource_id": 7},
    {"resource_id": None},
]


def test_message_about_something_else_is_kept_and_changes_nothing(channel: Channel) -> None:
    body = {"resource_id": SESSION, "event_type": CHANGE, "participant_id": PID, "status": "APPROVED"}

    for changes in OF_SOMETHING_ELSE:
        answer = post(channel, json.dumps({**body, **changes}).encode())

        assert json.loads(answer.content) == {"result": "kept"}, changes
    assert list(WebhookEvent.objects.values_list("applied_at", flat=True)) == [None] * len(OF_SOMETHING_ELSE)
    assert not Submission.objects.exists()


# Before the redirect, and out of order


def test_message_before_arrival_names_whose_submission_it_is(channel: Channel) -> None:
    tell(channel, "ACTIVE", event="E1")
    assert submission().participant is None
    assert come(channel, pid=OTHER_PID)[0].status_code == 403
    assert not channel.participants.exists()

    assert come(channel)[0].status_code == 302
    assert submission().participant == channel.participants.get()
    assert Submission.objects.count() == 1


def test_submission_returned_before_arrival_admits_no_rater(channel: Channel) -> None:
    tell(channel, "RETURNED")

    answer, _browser = come(channel)

    assert answer.status_code == 403
    assert "returned this submission" in answer.content.decode()


@pytest.mark.parametrize("final", ["APPROVED", "REJECTED", "RETURNED"])
def test_what_was_decided_is_never_moved_back(channel: Channel, final: str) -> None:
    come(channel)
    tell(channel, final, at=now() - 10)
    state = submission().state

    for late in ("ACTIVE", "AWAITING REVIEW", "TIMED-OUT", "RESERVED", "SCREENED OUT"):
        assert tell(channel, late, event=f"later {late}") == "kept", late
        assert submission().state == state
    assert submission().ended_at is not None


def test_older_message_that_comes_later_changes_nothing(channel: Channel) -> None:
    come(channel)
    tell(channel, "REJECTED", event="E2", said=now() - 5)

    assert tell(channel, "APPROVED", event="E1", at=now() - 1, said=now() - 60) == "kept"
    assert submission().state == "rejected"
    assert tell(channel, "APPROVED", event="E3", said=now()) == "applied"
    assert submission().state == "approved"


def test_time_that_is_none_or_ahead_of_the_signed_one_counts_as_that(channel: Channel) -> None:
    come(channel)

    for said in ("", "soon", "nan", "inf", "-1", now() + 10_000):
        with undone_at_the_end():
            assert tell(channel, "REJECTED", event="E1", at=now() - 20, said=said) == "applied", said
            assert submission().details["said_at"] <= now()
            assert tell(channel, "APPROVED", event="E2", at=now() - 10) == "applied"


def test_start_after_the_end_changes_nothing(channel: Channel) -> None:
    come(channel)
    tell(channel, "AWAITING REVIEW", event="E2", said=now())

    assert tell(channel, "ACTIVE", event="E1", said=now()) == "kept"
    assert submission().state == "completed"


# What it does to the work


@pytest.mark.parametrize("status", ["RETURNED", "TIMED-OUT", "TIMED_OUT"])
def test_claim_is_free_for_others_at_once(channel: Channel, study: Study, status: str) -> None:
    assignment = at_work(channel)
    assert Slot.objects.filter(assignment=assignment).exists()

    tell(channel, status)

    assert not Slot.objects.filter(assignment=assignment).exists()
    assignment.refresh_from_db()
    assert assignment.state != "claimed"
    assert study.events.get(kind="released").assignment == assignment


def test_returned_hit_takes_no_further_vote_and_no_other_is_given(channel: Channel) -> None:
    assignment = at_work(channel)
    tell(channel, "RETURNED")

    display = assignment.displays.first()
    with pytest.raises(AssignmentClosed):
        save_vote(assignment=assignment, pair_key=display.pair.key, choice="left", at=timezone.now())
    assert not has_work(rater(channel))
    assert submission().state == "returned"


def test_other_news_release_nothing(channel: Channel) -> None:
    assignment = at_work(channel)

    for number, status in enumerate(("ACTIVE", "AWAITING REVIEW", "APPROVED")):
        tell(channel, status, event=f"E{number}", at=now() - 10 + number)

    assert Slot.objects.filter(assignment=assignment).exists()


def test_earlier_submission_that_ends_does_not_release_the_work_for_a_later_one(channel: Channel) -> None:
    _answer, browser = come(channel)
    come(channel, browser, session=OTHER_SESSION)
    annotator = rater(channel)
    answer_consent(annotator=annotator, accepted=True, at=NOON)
    assignment = claim(annotator, timezone.now())

    tell(channel, "RETURNED")

    assert Slot.objects.filter(assignment=assignment).exists()


def test_messages_about_other_studies_of_the_workspace_touch_no_work(channel: Channel) -> None:
    assignment = at_work(channel)

    tell(channel, "RETURNED", session=OTHER_SESSION)  # names no study: ours are those whose participants arrived

    assert Slot.objects.filter(assignment=assignment).exists()
    assert Submission.objects.get(external_id=OTHER_SESSION).participant is None


def test_release_is_told_once(channel: Channel, study: Study) -> None:
    at_work(channel)
    tell(channel, "TIMED-OUT", event="E1", at=now() - 9)
    tell(channel, "RETURNED", event="E2", at=now() - 6)
    tell(channel, "RETURNED", event="E3", at=now() - 3)

    assert study.events.filter(kind="released").count() == 1
    assert Assignment.objects.get().state == "returned"
