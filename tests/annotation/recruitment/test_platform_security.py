"""What other groups and clients can't do through Prolific and MTurk: spend, flood, block, or swap a session."""

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client

from annotation.core.errors import BadFields
from annotation.models import Annotator, Channel, Participant, ResearchGroup, Study, Submission
from annotation.models.members import main_group
from annotation.recruitment.channels import change_channel, make_channel
from annotation.recruitment.mturk import work
from annotation.recruitment.mturk.client import KeyMissing, MturkClient
from annotation.recruitment.mturk.site import MturkSettings
from annotation.recruitment.prolific import submissions
from annotation.recruitment.prolific.client import TokenMissing
from annotation.recruitment.prolific.site import ProlificSettings
from annotation.recruitment.prolific.submissions import apply_status, is_over
from annotation.recruitment.prolific.updates import sync
from tests.annotation.recruitment.mturk.server import FAULT as MTURK_FAULT
from tests.annotation.recruitment.mturk.server import MturkServer
from tests.annotation.recruitment.mturk.setup import address, make_mturk, mturk
from tests.annotation.recruitment.prolific.server import FAULT, HELD, ProlificServer, Trouble
from tests.annotation.recruitment.prolific.setup import (
    NOON,
    PID,
    SESSION,
    client_of,
    come,
    link,
    make_prolific,
    prolific,
    shared_channel,
    shared_study,
    stored_channel,
    stored_study,
)
from tests.factories import make_batch, make_study, make_user, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
__all__ = ["mturk", "prolific", "shared_channel", "shared_study", "stored_channel", "stored_study"]
AWAY = "203.0.113.9"


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture(scope="module")
def stored_mturk(module_rows: None) -> int:
    """Make one channel at MTurk for this module; return its row's number."""
    study = make_study("worked", instances=3)
    make_batch(study)
    return make_mturk(study=study).pk


@pytest.fixture
def at_mturk(stored_mturk: int) -> Callable[..., Channel]:
    """Return that channel, with options of this test, set to its stand-in if there is one."""

    def channel_with(server: MturkServer | None = None, **options: Any) -> Channel:
        channel = Channel.objects.get(pk=stored_mturk)
        channel.options |= {**({"endpoint": server.url} if server else {}), **options}
        channel.save()
        return channel

    return channel_with


@pytest.fixture
def group(db: None) -> ResearchGroup:
    main_group()
    ResearchGroup.objects.create(slug="lab", name="Lab")
    return ResearchGroup.objects.create(slug="nlp-lab", name="NLP Lab")


def study_of(slug: str) -> Study:
    return make_study(f"study-{slug}", instances=0, group=ResearchGroup.objects.get(slug=slug))


def open_frame(channel: Channel, worker: str, assignment: str, **more: str) -> HttpResponse:
    told = address(worker=worker, assignment=assignment)
    return Client().get(f"/join/{channel.key}/", told, **more)  # type: ignore[return-value]


def task_link(channel: Channel, **told: str) -> str:
    answer = Client().get(f"/join/{channel.key}/", address(**told))
    found = re.search(rf'href="(/mturk/{channel.key}/task/[^"]+)"', answer.content.decode())
    return found[1]


# Another group's money

VARIABLES = [
    ("main", "", True),
    ("main", "_LAB", False),
    ("main", "_NLP_LAB", False),
    ("main", "_MAIN", True),
    ("lab", "", False),
    ("lab", "_LAB", True),
    ("lab", "_NLP_LAB", False),  # the longer ending is another's
    ("nlp-lab", "_NLP_LAB", True),  # dashes as underscores
    ("nlp-lab", "_LAB", False),  # the shorter ending is another's
]


@pytest.mark.parametrize(
    ("kind", "field", "other", "name"),
    [
        ("prolific", "token_env", "webhook_secret_env", "PROLIFIC_TOKEN"),
        ("prolific", "webhook_secret_env", "token_env", "PROLIFIC_TOKEN"),
        ("mturk", "access_key_env", "secret_key_env", "MTURK_KEY"),
        ("mturk", "secret_key_env", "access_key_env", "MTURK_KEY"),
    ],
)
def test_channel_names_its_groups_variables(group: ResearchGroup, kind: str, field: str, other: str, name: str) -> None:
    studies = {slug: study_of(slug) for slug in ("main", "lab", "nlp-lab")}

    for place, (slug, ending, allowed) in enumerate(VARIABLES):
        made: dict[str, Any] = {"study": studies[slug], "kind": kind, "name": f"Channel {place}"}
        made["options"] = {field: f"{name}{ending}", other: ""}
        if allowed:
            assert make_channel(**made).options[field] == f"{name}{ending}", (slug, ending)
        else:
            with pytest.raises(BadFields) as refusal:
                make_channel(**made)
            assert "group" in refusal.value.fields[field][0], (slug, ending)


def test_token_is_not_read_of_a_moved_study(group: ResearchGroup, channel: Channel, prolific: ProlificServer) -> None:
    assert ProlificSettings(channel).token is not None
    Study.objects.filter(pk=channel.study_id).update(group=group)

    given = ProlificSettings(channel)
    assert (given.token, given.webhook_secret) == (None, None)
    with pytest.raises(TokenMissing, match="ends in _NLP_LAB"):
        sync(channel=channel, client=client_of(channel), at=NOON)
    assert prolific.requests == []


def test_key_is_not_read_any_more_when_its_study_has_moved(
    at_mturk: Callable[..., Channel], group: ResearchGroup, mturk: MturkServer
) -> None:
    channel = at_mturk(mturk)
    assert MturkSettings(channel).has_key
    Study.objects.filter(pk=channel.study_id).update(group=group)

    assert not MturkSettings(channel).has_key
    with pytest.raises(KeyMissing, match="ends in _NLP_LAB"):
        MturkClient(MturkSettings(channel))


def test_key_of_another_name_is_never_read(at_mturk: Callable[..., Channel], settings: Any) -> None:
    settings.ENDPOINT_KEY = {"SECRET_KEY": "the server's own"}.get
    channel = at_mturk()
    channel.options["access_key_env"] = channel.options["secret_key_env"] = "SECRET_KEY"

    assert MturkSettings(channel).key == (None, None)


@pytest.mark.parametrize("kind", ["prolific", "mturk"])
def test_no_channel_pays_above_the_servers_ceiling(settings: Any, kind: str) -> None:
    study, settings_of = make_study("other", instances=0), {"prolific": ProlificSettings, "mturk": MturkSettings}[kind]
    assert settings.BONUS_CEILING == 100
    channel = make_channel(study=study, kind=kind, name="x", options={"bonus_cap": "100"})
    with pytest.raises(BadFields) as refusal:
        change_channel(channel=channel, name="x", options={"bonus_cap": "100.01"})
    assert "At most 100" in refusal.value.fields["bonus_cap"][0]

    channel.options["bonus_cap"] = "9999.99"  # as set before there was a ceiling
    assert settings_of(channel).bonus_cap == Decimal(100)


# Addresses


def test_stand_in_not_allowed_is_not_asked(at_mturk: Callable[..., Channel], settings: Any, mturk: MturkServer) -> None:
    channel = at_mturk(mturk)
    settings.PLATFORM_ALLOWLIST = []

    with pytest.raises(KeyMissing, match="PLATFORM_ALLOWLIST"):
        MturkClient(MturkSettings(channel))
    assert open_frame(channel, "AWORKER1", "3ASSIGNMENT1").status_code == 200
    assert mturk.asked("GetAssignment") == []


# How many come


def test_one_address_brings_so_many_made_up_participants_an_hour(study: Study) -> None:
    channel = make_prolific(study, per_address="3")

    visits = [come(channel, pid=f"p{n}", session=f"s{n}") for n in range(5)]
    answers = [answer for answer, _browser in visits]

    assert [answer.status_code for answer in answers] == [302, 302, 302, 429, 429]
    assert int(answers[-1]["Retry-After"]) > 3000
    assert Participant.objects.count() == 3
    elsewhere = Client(REMOTE_ADDR=AWAY)
    assert come(channel, elsewhere, pid="other", session="other")[0].status_code == 302
    assert come(channel, visits[0][1], pid="p0", session="s0")[0].status_code == 302  # who is known comes back


def test_one_address_brings_so_many_made_up_workers_an_hour(at_mturk: Callable[..., Channel]) -> None:
    channel = at_mturk(access_key_env="", secret_key_env="", per_address=3)

    answers = [open_frame(channel, f"A{n}X", f"3ASSIGNMENT{n}") for n in range(5)]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert int(answers[-1]["Retry-After"]) > 3000
    assert "https://workersandbox.mturk.com" in answers[-1]["Content-Security-Policy"]
    assert open_frame(channel, "AOTHER", "3OTHER", REMOTE_ADDR=AWAY).status_code == 200


@pytest.mark.parametrize("kind", ["prolific", "mturk"])
def test_limits_hold_where_none_are_set(kind: str) -> None:
    channel = make_channel(study=make_study("other", instances=0), kind=kind, name="x", options={})

    assert (channel.options["per_address"], channel.options["most_raters"]) == (60, 5000)


def test_whom_prolific_vouches_for_is_let_in_above_the_channels_limit(study: Study, prolific: ProlificServer) -> None:
    channel = make_prolific(study, prolific, proof="asked", most_raters="1")
    for n in range(2):
        prolific.add(f"s{n}", f"p{n}")

    assert [come(channel, pid=f"p{n}", session=f"s{n}")[0].status_code for n in range(2)] == [302, 302]


# Made-up submissions


def test_one_participant_has_no_end_of_submissions(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    assert submissions.MOST_SUBMISSIONS == 20
    monkeypatch.setattr(submissions, "MOST_SUBMISSIONS", 3)
    _answer, browser = come(channel)

    codes = [come(channel, browser, session=f"made{n}")[0].status_code for n in range(4)]

    assert codes == [302] * 2 + [403] * 2
    assert Submission.objects.count() == 3


def test_one_worker_has_no_end_of_assignments_without_work(
    at_mturk: Callable[..., Channel], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert work.MOST_UNDONE == 20
    monkeypatch.setattr(work, "MOST_UNDONE", 3)
    channel = at_mturk(access_key_env="", secret_key_env="")

    codes = [open_frame(channel, "AWORKER1", f"3MADE{n}").status_code for n in range(5)]

    assert codes == [200] * 3 + [409] * 2
    assert open_frame(channel, "AWORKER1", "3MADE0").status_code == 200


def rejected(channel: Channel) -> Client:
    """Return the browser of a participant whose submission was rejected."""
    _answer, browser = come(channel)
    apply_status(submission=Submission.objects.get(), status="REJECTED", at=NOON)
    return browser


def test_made_up_submission_leads_nowhere_after_a_rejection(channel: Channel) -> None:
    browser = rejected(channel)

    assert come(channel, browser, session="invented")[0].status_code == 403
    assert Submission.objects.count() == 1
    assert is_over(Annotator.objects.get())


def test_submission_made_up_beforehand_leads_nowhere_after_a_rejection(channel: Channel) -> None:
    _answer, browser = come(channel)
    come(channel, browser, session="invented")
    assert not is_over(Annotator.objects.get())
    apply_status(submission=Submission.objects.get(external_id=SESSION), status="REJECTED", at=NOON)

    assert come(channel, browser, session="invented")[0].status_code == 403
    assert is_over(Annotator.objects.get())  # also without coming by the link again


def test_submission_that_a_sync_tells_of_leads_on_after_a_rejection(channel: Channel, prolific: ProlificServer) -> None:
    browser = rejected(channel)
    prolific.add(SESSION, PID, status="REJECTED")
    prolific.add("another1", PID)
    sync(channel=channel, client=client_of(channel), at=NOON)

    assert come(channel, browser, session="another1")[0].status_code == 302
    assert not is_over(Annotator.objects.get())


def test_submission_that_prolific_confirms_leads_on_after_a_rejection(study: Study, prolific: ProlificServer) -> None:
    channel = make_prolific(study, prolific, proof="asked")
    prolific.add(SESSION, PID)
    browser = rejected(channel)
    prolific.add("another1", PID)

    assert come(channel, browser, session="another1")[0].status_code == 302
    assert come(channel, browser, session="another1")[0].status_code == 302
    assert not is_over(Annotator.objects.get())


# Requests while a visitor waits


@pytest.fixture
def asking(study: Study, prolific: ProlificServer) -> Channel:
    return make_prolific(study, prolific, proof="asked")


@pytest.mark.parametrize("trouble", [pytest.param(FAULT, id="fault"), pytest.param(HELD, id="silence")])
def test_prolific_in_trouble_is_asked_once(asking: Channel, prolific: ProlificServer, trouble: Trouble) -> None:
    prolific.fail(*[trouble] * 10)

    codes = [come(asking, pid=f"p{n}", session=f"s{n}")[0].status_code for n in range(3)]

    assert codes == [503] * 3
    assert len(prolific.requests) == 1


def test_refused_submission_is_not_asked_about_again_at_once(asking: Channel, prolific: ProlificServer) -> None:
    codes = [come(asking)[0].status_code for _ in range(3)]

    assert codes == [403] * 3
    assert len(prolific.requests) == 1


def test_address_has_its_share_of_questions(study: Study, prolific: ProlificServer) -> None:
    channel = make_prolific(study, prolific, proof="asked", per_address="3")

    codes = [come(channel, pid=f"p{n}", session=f"s{n}")[0].status_code for n in range(5)]

    assert codes == [403, 403, 403, 429, 429]
    assert len(prolific.requests) == 3


def test_robot_has_prolific_asked_nothing(asking: Channel, prolific: ProlificServer) -> None:
    answer = Client().get(link(asking), headers={"User-Agent": "Slackbot-LinkExpanding 1.0"})

    assert answer.status_code == 200
    assert prolific.requests == []


def test_keys_are_not_asked_for_again_after_silence(study: Study, prolific: ProlificServer) -> None:
    channel = make_prolific(study, prolific, proof="signed")
    prolific.fail(*[FAULT] * 10)
    token = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.e30.e30"

    codes = [Client().get(link(channel, prolific_token=token)).status_code for _ in range(3)]

    assert codes == [503] * 3
    assert len(prolific.requests) == 1


def test_address_has_its_share_of_questions_to_mturk(at_mturk: Callable[..., Channel], mturk: MturkServer) -> None:
    channel = at_mturk(mturk, per_address=3)

    codes = [open_frame(channel, f"A{n}X", f"3MADE{n}").status_code for n in range(5)]

    assert codes == [409, 409, 409, 429, 429]
    assert len(mturk.asked("GetAssignment")) == 3


def test_made_up_assignment_is_not_asked_about_again(at_mturk: Callable[..., Channel], mturk: MturkServer) -> None:
    channel = at_mturk(mturk)

    codes = [open_frame(channel, "AWORKER1", "3MADE").status_code for _ in range(3)]

    assert codes == [409] * 3
    assert len(mturk.asked("GetAssignment")) == 1
    assert Participant.objects.count() == 0


def test_mturk_is_left_alone_after_silence(at_mturk: Callable[..., Channel], mturk: MturkServer) -> None:
    channel = at_mturk(mturk)
    mturk.fail(MTURK_FAULT, MTURK_FAULT, MTURK_FAULT)

    codes = [open_frame(channel, f"A{n}X", f"3MADE{n}").status_code for n in range(3)]

    assert codes == [200] * 3
    assert len(mturk.asked("GetAssignment")) == 1
    assert Submission.objects.first().details["verified"] == "unasked"


# MTurk's link into the rating pages


def test_link_replaces_no_session_before_a_button_is_pressed(at_mturk: Callable[..., Channel]) -> None:
    channel = at_mturk()
    boss = make_user("boss", "study-admin", study=channel.study)
    browser = signed_in(boss, enforce_csrf_checks=True)
    task = task_link(channel)

    asked = browser.get(task)

    assert asked.status_code == 200
    assert "is signed in in this browser" in asked.content.decode()
    assert browser.session["_auth_user_id"] == str(boss.pk)
    assert browser.post(task).status_code == 403
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', asked.content.decode())
    assert browser.post(task, {"csrfmiddlewaretoken": token[1]}).status_code == 302
    assert browser.session["_auth_user_id"] == str(Annotator.objects.get().user_id)
