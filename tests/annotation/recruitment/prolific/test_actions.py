"""What is asked of Prolific, over real HTTP: decided once, paid once, whatever goes wrong on the way."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from annotation.core.errors import Unacceptable
from annotation.core.reasons import reason, restored
from annotation.models import Channel, PlatformAction, Study, Submission
from annotation.recruitment.launch_checks import open_requests
from annotation.recruitment.prolific.actions import RequestResult, approve, bonus, reject
from annotation.recruitment.prolific.client import (
    ProlificClient,
    ProlificRefused,
    ProlificUnreachable,
    TokenMissing,
    _retry_after,
)
from annotation.recruitment.prolific.site import ProlificSettings, address_problem
from tests.annotation.recruitment.prolific import server
from tests.annotation.recruitment.prolific.server import (
    BUSY,
    CUT,
    FAULT,
    FAULT_AFTERWARDS,
    HELD,
    HELD_AND_DONE,
    LOST,
    ProlificServer,
    Trouble,
    answering,
)
from tests.annotation.recruitment.prolific.setup import (
    NOON,
    PID,
    SESSION,
    WORDS,
    client_of,
    come,
    make_prolific,
    set_to,
    settings_for,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def stored_submission(stored_channel: int) -> int:
    """Have a participant come to the module's channel; return their submission's row's number."""
    with ProlificServer() as server, override_settings(**settings_for(server)):
        come(set_to(server, stored_channel))
        return Submission.objects.get().pk


@pytest.fixture
def submission(stored_submission: int, channel: Channel, prolific: ProlificServer) -> Submission:
    """A submission that awaits review."""
    prolific.add(SESSION, PID, "AWAITING REVIEW")
    return Submission.objects.select_related("channel").get(pk=stored_submission)


def state(submission: Submission) -> str:
    submission.refresh_from_db()
    return submission.state


def hasty(submission: Submission) -> ProlificClient:
    """A client that waits for no answer for long."""
    client = client_of(submission.channel)
    client.seconds, client.tries = 0.2, 2
    return client


def ask_approval(submission: Submission, client: ProlificClient | None = None, *, at: datetime = NOON) -> RequestResult:
    return approve(submission=submission, client=client or client_of(submission.channel), at=at)


def ask_rejection(submission: Submission, words: str = WORDS, category: str = "OTHER") -> None:
    client = client_of(submission.channel)
    reject(submission=submission, reason=words, category=category, client=client, at=NOON)


# Deciding


def test_approval_is_sent_once(submission: Submission, prolific: ProlificServer) -> None:
    first = ask_approval(submission)
    second = ask_approval(submission)

    assert (first.before, second.before) == (False, True)
    assert prolific.submissions[SESSION]["status"] == "APPROVED"
    assert prolific.asked("transition") == [{"action": "APPROVE"}]
    assert state(submission) == "approved"
    action = PlatformAction.objects.get()
    assert (action.key, action.state, action.attempts) == (f"approve:{SESSION}", "done", 1)


UNACCEPTABLE = [
    ("x" * 99, "OTHER"),
    (" " * 200, "OTHER"),
    ("x" * 99 + "\x00" * 9, "OTHER"),
    ("x" * 2001, "OTHER"),
    (WORDS, ""),
    (WORDS, "RUDE"),
]


def test_rejection_needs_words_and_a_category(submission: Submission, prolific: ProlificServer) -> None:
    for words, category in UNACCEPTABLE:
        with pytest.raises(Unacceptable):
            ask_rejection(submission, words, category)
    assert prolific.requests == []
    assert not PlatformAction.objects.exists()

    words = "x" * 100  # as few as Prolific takes
    ask_rejection(submission, words, "LOW_EFFORT")

    assert prolific.asked("transition") == [{"action": "REJECT", "message": words, "rejection_category": "LOW_EFFORT"}]
    assert state(submission) == "rejected"


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(BUSY, id="429"),
        pytest.param(FAULT, id="500"),
        pytest.param(FAULT_AFTERWARDS, id="500 after it took effect"),
        pytest.param(CUT, id="cut"),
        pytest.param(LOST, id="answer lost"),
    ],
)
def test_passing_trouble_is_waited_out(submission: Submission, prolific: ProlificServer, trouble: Trouble) -> None:
    prolific.fail(trouble, trouble, on="transition")
    client = client_of(submission.channel)

    ask_approval(submission, client)

    assert prolific.submissions[SESSION]["status"] == "APPROVED"
    assert client.paused == [1.0, 2.0]  # type: ignore[attr-defined]
    assert state(submission) == "approved"


@pytest.mark.parametrize(
    ("header", "pause"),
    [
        pytest.param("7", 7.0, id="seconds"),
        pytest.param("86400", 30.0, id="a day, capped"),
        pytest.param("soon", 1.0, id="nonsense"),
        pytest.param("-5", 1.0, id="negative"),
        pytest.param("Wed, 01 May 2024 12:00:00 GMT", 0.0, id="a date gone by"),
    ],
)
def test_retry_after_is_kept_to_up_to_a_limit(
    submission: Submission, prolific: ProlificServer, header: str, pause: float
) -> None:
    prolific.fail(answering(429, header), on="transition")
    client = client_of(submission.channel)

    ask_approval(submission, client)

    assert client.paused == [pause]  # type: ignore[attr-defined]


def test_retry_after_reads_a_date_to_come() -> None:
    later = timezone.now() + timedelta(seconds=100)
    wait = _retry_after(later.strftime("%a, %d %b %Y %H:%M:%S GMT"))

    assert wait is not None
    assert 90 < wait <= 100


@pytest.mark.parametrize(
    ("trouble", "known", "sent"),
    [
        pytest.param(HELD, "pending", 3, id="no answer in time"),
        pytest.param(HELD_AND_DONE, "pending", 2, id="done, and no answer in time"),
        pytest.param(LOST, "pending", 2, id="done, and its answer lost"),
        pytest.param(FAULT, "pending", 3, id="500"),
        pytest.param(BUSY, "failed", 3, id="429: certainly not done"),
    ],
)
def test_lasting_trouble_leaves_the_request_to_be_tried_again(
    submission: Submission, prolific: ProlificServer, trouble: Trouble, known: str, sent: int
) -> None:
    prolific.fail(trouble, trouble, on="transition")
    with pytest.raises(ProlificUnreachable):
        ask_approval(submission, hasty(submission))
    action = PlatformAction.objects.get()
    assert (action.state, action.answer["error"]["code"]) == (known, "prolific_silent")

    done = ask_approval(submission)

    assert (done.before, done.action.state, done.action.attempts) == (False, "done", 2)
    assert state(submission) == "approved"
    assert len(prolific.asked("transition")) == sent


def test_opposite_is_refused_before_and_after_it_is_settled(submission: Submission, prolific: ProlificServer) -> None:
    prolific.fail(LOST, LOST, on="transition")
    with pytest.raises(ProlificUnreachable):
        ask_approval(submission, hasty(submission))

    for settled, told in ((False, f"approve:{SESSION}"), (True, "APPROVED")):
        if settled:
            ask_approval(submission)
            submission.refresh_from_db()
        with pytest.raises(Unacceptable, match=told):
            ask_rejection(submission)


def test_refusal_is_told_in_prolifics_words_and_tried_again(
    channel: Channel, submission: Submission, prolific: ProlificServer
) -> None:
    prolific.submissions[SESSION]["status"] = "ACTIVE"
    with pytest.raises(ProlificRefused, match="that is ACTIVE can't be APPROVED"):
        ask_approval(submission)
    action = PlatformAction.objects.get()
    why = restored(action.answer["error"])
    assert (action.state, why.code, why.values["status"]) == ("failed", "prolific_refused", action.answer["code"])
    assert "that is ACTIVE can't be APPROVED" in open_requests(channel)["unanswered"][0][2].text
    assert state(submission) == "started"

    prolific.submissions[SESSION]["status"] = "AWAITING REVIEW"
    ask_approval(submission)

    assert state(submission) == "approved"


def test_refusal_of_what_is_so_already_counts_as_done(submission: Submission, prolific: ProlificServer) -> None:
    prolific.submissions[SESSION]["status"] = "APPROVED"
    prolific.fail(answering(400), on="transition")

    ask_approval(submission)

    assert state(submission) == "approved"


def test_request_that_another_process_is_sending_waits(
    channel: Channel, submission: Submission, prolific: ProlificServer
) -> None:
    busy = {"busy_until": (NOON + timedelta(minutes=5)).isoformat()}
    channel.actions.create(submission=submission, kind="approve", key=f"approve:{SESSION}", attempts=1, answer=busy)

    with pytest.raises(Unacceptable, match="at this moment"):
        ask_approval(submission)
    assert prolific.requests == []

    ask_approval(submission, at=NOON + HOUR)
    assert state(submission) == "approved"


def test_request_is_written_down_before_it_is_sent(submission: Submission, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []

    def transition(self: ProlificClient, *args: Any, **words: Any) -> dict[str, Any]:
        found.extend(PlatformAction.objects.values_list("key", "state", "attempts"))
        return {}

    monkeypatch.setattr(ProlificClient, "transition", transition)
    ask_approval(submission)

    assert found == [(f"approve:{SESSION}", "pending", 1)]


# The token


def test_missing_token_is_told_by_its_variable(submission: Submission, settings: Any, prolific: ProlificServer) -> None:
    settings.ENDPOINT_KEY = {}.get

    with pytest.raises(TokenMissing, match="PROLIFIC_TOKEN"):
        ask_approval(submission)
    assert prolific.requests == []
    assert not PlatformAction.objects.exists()


def test_refused_token_is_never_repeated(submission: Submission, settings: Any) -> None:
    settings.ENDPOINT_KEY = {"PROLIFIC_TOKEN": "a-wrong-token"}.get

    with pytest.raises(ProlificRefused) as refusal:
        ask_approval(submission)

    action = PlatformAction.objects.get()
    assert "a-wrong-token" not in f"{refusal.value}{action.answer}{action.payload}"
    assert (action.state, action.answer["error"]) == ("failed", reason("prolific_key_refused").stored())


def test_variable_that_is_not_prolifics_is_never_read(study: Study, settings: Any) -> None:
    settings.ENDPOINT_KEY = {"SECRET_KEY": "the server's own", "DATABASE_URL": "x"}.get
    channel = make_prolific(study)
    for name in ("SECRET_KEY", "DATABASE_URL", "AWS_PROLIFIC"):
        channel.options["token_env"] = channel.options["webhook_secret_env"] = name
        given = ProlificSettings(channel)
        assert (given.token, given.webhook_secret) == (None, None)


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        pytest.param("https://api.prolific.com", True, id="Prolific"),
        pytest.param("http://api.prolific.com", False, id="without https"),
        pytest.param("https://api.prolific.com.evil.example", False, id="longer name"),
        pytest.param("https://evil.example", False, id="elsewhere"),
        pytest.param("https://api.prolific.com:443", True, id="Prolific's own port"),
        pytest.param("https://api.prolific.com:8443", False, id="another port"),
        pytest.param("https://stand-in.example", True, id="allowed by the server"),
        pytest.param("https://stand-in.example:8443", False, id="allowed at another port"),
        pytest.param("http://stand-in.example", False, id="allowed, without https"),
        pytest.param("http://127.0.0.1:8080", True, id="this machine, allowed"),
        pytest.param("http://127.0.0.1:8081", False, id="this machine, another port"),
        pytest.param("http://[::1]:8080", True, id="this machine, IPv6"),
        pytest.param("http://localhost:8080", False, id="this machine, not allowed"),
        pytest.param("http://169.254.169.254", False, id="metadata"),
        pytest.param("https://api.prolific.com@evil.example", False, id="user name"),
        pytest.param("https://api.prolific.com/x", False, id="path"),
        pytest.param("https://api.prolific.com?x=1", False, id="query"),
        pytest.param("https://[::1", False, id="garbled"),
        pytest.param("ftp://127.0.0.1", False, id="another scheme"),
    ],
)
def test_token_goes_to_prolific_and_to_what_the_server_allows(settings: Any, url: str, allowed: bool) -> None:
    settings.PLATFORM_ALLOWLIST = ["stand-in.example:443", "127.0.0.1:8080", "[::1]:8080", "localhost"]
    settings.ENDPOINT_ALLOWLIST = ["localhost", "127.0.0.1"]  # that one is for judges

    assert (address_problem(url) is None) is allowed


def test_neither_a_redirect_nor_a_host_not_allowed_any_more_is_followed(
    submission: Submission, settings: Any, prolific: ProlificServer
) -> None:
    prolific.fail(answering(302), on="transition")
    with pytest.raises(ProlificRefused):
        ask_approval(submission)
    settings.PLATFORM_ALLOWLIST = []
    with pytest.raises(ProlificRefused):
        ask_approval(submission)
    assert len(prolific.requests) == 1


# Bonuses


def pay(submission: Submission, amount: str = "0.75", *, at: Any = NOON, **more: Any) -> Any:
    client = more.pop("client", None) or client_of(submission.channel)
    return bonus(submission=submission, amount=amount, client=client, at=at, **more)


def test_bonus_is_paid_once(submission: Submission, prolific: ProlificServer) -> None:
    first, second = pay(submission), pay(submission, "0.75")

    assert (first.before, second.before) == (False, True)
    assert prolific.paid(SESSION) == [75.0]
    assert prolific.asked("bonus-payments/")[0] == {"study_id": server.STUDY, "csv_bonuses": f"{SESSION},0.75"}


@pytest.mark.parametrize(("text", "line"), [("2", "2.00"), ("0.5", "0.50"), ("0.07", "0.07"), ("5.00", "5.00")])
def test_amount_is_sent_in_units_with_two_places(
    submission: Submission, prolific: ProlificServer, text: str, line: str
) -> None:
    pay(submission, text)

    assert prolific.asked("bonus-payments/")[0]["csv_bonuses"] == f"{SESSION},{line}"
    assert prolific.paid(SESSION) == [float(Decimal(text) * 100)]


def test_amount_that_is_none_or_above_the_cap_is_refused(submission: Submission, prolific: ProlificServer) -> None:
    for amount in ("", "0", "0.00", "-1", "5.01", "1e1", "1,50", "0.123", "NaN", "١", "1\n2", "0.75;x,9", " "):
        with pytest.raises(Unacceptable):
            pay(submission, amount)

    assert prolific.requests == []


def test_another_reference_pays_another_bonus(submission: Submission, prolific: ProlificServer) -> None:
    pay(submission)
    pay(submission, reference="second")
    pay(submission, reference="second")
    for reference in ("a b", "x" * 21, "ü"):
        with pytest.raises(Unacceptable):
            pay(submission, reference=reference)

    assert prolific.paid(SESSION) == [75.0, 75.0]


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(LOST, id="answer lost"),
        pytest.param(FAULT_AFTERWARDS, id="500 after it took effect"),
        pytest.param(HELD_AND_DONE, id="no answer in time"),
    ],
)
def test_bonus_whose_answer_was_lost_is_not_paid_again(
    submission: Submission, prolific: ProlificServer, trouble: Trouble
) -> None:
    prolific.fail(trouble, on="/pay/")
    with pytest.raises(ProlificUnreachable):
        pay(submission, client=hasty(submission))
    assert len(prolific.asked("/pay/")) == 1  # not sent again by itself

    assert pay(submission).before is False
    assert pay(submission).before is True
    assert prolific.paid(SESSION) == [75.0]
    assert len(prolific.asked("/pay/")) == 1


def test_bonus_that_is_listed_minutes_later_is_waited_for(submission: Submission, prolific: ProlificServer) -> None:
    prolific.pays_at_once = False
    prolific.fail(LOST, on="/pay/")
    with pytest.raises(ProlificUnreachable):
        pay(submission, client=hasty(submission))
    with pytest.raises(ProlificUnreachable, match="not sent again"):
        pay(submission, at=NOON + timedelta(minutes=5))

    prolific.settle()
    pay(submission, at=NOON + timedelta(minutes=10))

    assert prolific.paid(SESSION) == [75.0]
    assert PlatformAction.objects.get().state == "done"


@pytest.mark.parametrize("trouble", [pytest.param(CUT, id="cut"), pytest.param(FAULT, id="500")])
def test_bonus_that_never_arrived_is_left_to_a_person_after_an_hour(
    submission: Submission, prolific: ProlificServer, trouble: Trouble
) -> None:
    prolific.fail(trouble, on="/pay/")
    with pytest.raises(ProlificUnreachable):
        pay(submission, client=hasty(submission))

    with pytest.raises(ProlificRefused, match="another reference"):
        pay(submission, at=NOON + HOUR)
    with pytest.raises(Unacceptable, match="another reference"):
        pay(submission, at=NOON + 2 * HOUR)
    assert prolific.paid(SESSION) == []

    pay(submission, reference="again", at=NOON + 2 * HOUR)
    assert prolific.paid(SESSION) == [75.0]


def test_an_earlier_bonus_of_the_same_amount_is_another_one(submission: Submission, prolific: ProlificServer) -> None:
    prolific.submissions[SESSION]["bonus_payments"].append(75.0)
    prolific.fail(CUT, on="/pay/")
    for client, minutes in ((hasty(submission), 0), (client_of(submission.channel), 1)):
        with pytest.raises(ProlificUnreachable):
            pay(submission, client=client, at=NOON + timedelta(minutes=minutes))


def test_bonus_is_unsettled_from_payment_until_it_is_found(submission: Submission, prolific: ProlificServer) -> None:
    prolific.fail(FAULT, FAULT, on="submissions/bonus-payments")
    with pytest.raises(ProlificUnreachable):
        pay(submission, client=hasty(submission))
    assert PlatformAction.objects.get().state == "failed"  # setting it up pays nothing: others need not wait
    prolific.fail(LOST, on="/pay/")
    with pytest.raises(ProlificUnreachable):
        pay(submission, client=hasty(submission))
    prolific.fail(BUSY, BUSY, on=f"submissions/{SESSION}")
    with pytest.raises(ProlificUnreachable):
        pay(submission, client=hasty(submission))
    assert PlatformAction.objects.get().state == "pending"
    with pytest.raises(Unacceptable, match="is not known yet"):
        pay(submission, "1.00")


@pytest.mark.parametrize(
    ("on", "trouble"),
    [
        *(("/pay/", trouble) for trouble in (BUSY, answering(429, "3"))),
        *(("submissions/bonus-payments", trouble) for trouble in (LOST, FAULT, BUSY, CUT)),
    ],
)
def test_bonus_that_was_certainly_not_taken_is_sent_again(
    submission: Submission, prolific: ProlificServer, on: str, trouble: Trouble
) -> None:
    prolific.fail(trouble, trouble, on=on)

    pay(submission)

    assert prolific.paid(SESSION) == [75.0]


def test_bonus_that_prolific_refuses_is_told_and_paid_later(submission: Submission, prolific: ProlificServer) -> None:
    there = prolific.submissions.pop(SESSION)  # as if this person took no part
    with pytest.raises(ProlificRefused):
        pay(submission)
    assert PlatformAction.objects.get().state == "failed"
    prolific.submissions[SESSION], prolific.funds = there, 10
    with pytest.raises(ProlificRefused, match="enough funds"):
        pay(submission)

    prolific.funds = 1000
    pay(submission)

    assert prolific.paid(SESSION) == [75.0]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param({"id": "b1", "amount": 7500}, "another amount", id="pounds for pence"),
        pytest.param({"id": "../../users/me", "amount": 75}, "no id", id="id that is a path"),
        pytest.param({"amount": 75}, "no id", id="no id"),
    ],
)
def test_bonus_that_prolific_understood_otherwise_is_not_paid(
    submission: Submission, prolific: ProlificServer, monkeypatch: pytest.MonkeyPatch, answer: Any, words: str
) -> None:
    monkeypatch.setattr(ProlificServer, "_set_up", lambda self, body: answer)

    with pytest.raises(ProlificRefused, match=words):
        pay(submission)
    assert prolific.asked("/pay/") == []
