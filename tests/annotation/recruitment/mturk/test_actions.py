"""Asking MTurk for things, over HTTP: nothing is done twice, whatever is slow, refused or lost on the way."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.core.errors import AnnotationError, ClaimRefused, Unacceptable, UnknownName
from annotation.hits.slots import reopen_slots
from annotation.models import Annotator, Batch, Channel, Participant, PlatformAction, Submission
from annotation.privacy.erasing import erase_rater
from annotation.recruitment.channels import make_channel
from annotation.recruitment.mturk import actions
from annotation.recruitment.mturk.client import KeyMissing, MturkClient, MturkRefused, MturkUnreachable
from annotation.recruitment.mturk.hits import expire, publish
from annotation.recruitment.mturk.requests import RunSummary
from annotation.recruitment.mturk.site import MturkSettings, parse_requirements
from annotation.recruitment.mturk.sync import answers, sync
from annotation.recruitment.mturk.work import MturkArrival, arrive, begin, settle
from tests.annotation.recruitment.mturk.server import (
    CUT,
    FAULT,
    HELD,
    HELD_AND_DONE,
    LOST,
    THROTTLED,
    MturkServer,
    Refusal,
    Trouble,
)
from tests.annotation.recruitment.mturk.setup import OPTIONS, make_mturk, mturk
from tests.factories import claim, make_annotator, make_batch, make_study, make_user, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
__all__ = ["mturk"]
BEFORE_EFFECT = [
    pytest.param(THROTTLED, id="throttled"),
    pytest.param(FAULT, id="fault"),
    pytest.param(CUT, id="cut"),
]
AFTER_EFFECT = [
    pytest.param(LOST, id="lost"),
    pytest.param(Trouble(FAULT, takes_effect=True), id="fault"),
]


def offer(channel: Channel, **more: Any) -> RunSummary:
    return publish(channel=channel, at=timezone.now(), **more)


def places(server: MturkServer) -> int:
    return sum(hit["MaxAssignments"] for hit in server.hits.values())


def do_work(server: MturkServer, channel: Channel, hit_id: str, worker: str) -> str:
    """Have a worker accept a HIT, rate one of ours, and submit the form with the code; returns the assignment."""
    assignment = server.accept(hit_id, worker)
    now = timezone.now()
    arrival = MturkArrival(worker_id=worker, assignment_id=assignment, hit_id=hit_id)
    submission = arrive(channel=channel, arrival=arrival, verified="", at=now)
    rater = begin(submission=submission, opens=0, device=worker, at=now)
    rater.consents.create(version=1, accepted=True)
    rate(claim(rater, timezone.now()), at=timezone.now())
    settle(participant=rater.participant)
    submission.refresh_from_db()
    server.submit(assignment, code=submission.code)
    return assignment


@pytest.fixture
def channel(mturk: MturkServer) -> Channel:
    return make_mturk(mturk)


@pytest.fixture
def submitted(mturk: MturkServer, channel: Channel) -> str:
    """An assignment that a worker submitted here and on MTurk, which we were told of."""
    offer(channel)
    assignment = do_work(mturk, channel, "3HIT00001", "AWORKER1")
    sync(channel=channel, at=timezone.now())
    return assignment


# Offering


def test_as_many_places_are_offered_as_there_are_slots(mturk: MturkServer, channel: Channel) -> None:
    tally = offer(channel)

    assert (len(tally.done), places(mturk), len(mturk.hits)) == (3, 6, 3)
    asked = mturk.asked("CreateHIT")[0]
    assert asked["Reward"] == "0.50"
    assert asked["AssignmentDurationInSeconds"] == 3600
    assert f"<ExternalURL>http://localhost:8000/join/{channel.key}/</ExternalURL>" in asked["Question"]
    assert asked["UniqueRequestToken"] == asked["RequesterAnnotation"]
    assert len(asked["UniqueRequestToken"]) <= 64


def test_offering_again_offers_nothing_more(mturk: MturkServer, channel: Channel) -> None:
    offer(channel)

    assert offer(channel).done == []
    assert places(mturk) == 6


def test_what_others_rate_is_not_offered(mturk: MturkServer) -> None:
    study = make_study(instances=3, k=2)
    make_batch(study, pairs=2, raters=2)
    rate(claim(make_annotator(study, "one")))
    claim(make_annotator(study, "two"))

    offer(make_mturk(mturk, study=study))

    assert places(mturk) == 4


def test_a_place_that_came_free_again_is_offered_again(mturk: MturkServer, channel: Channel) -> None:
    offer(channel)
    do_work(mturk, channel, "3HIT00001", "AWORKER1")
    done = Annotator.objects.get(kind="mturk").assignments.get()
    reopen_slots([done.pk], {done.hit_id})

    offer(channel)

    assert places(mturk) == 7


def test_no_hit_has_ten_assignments(mturk: MturkServer) -> None:
    study = make_study(instances=2, k=2)
    make_batch(study, pairs=2, raters=11)

    offer(make_mturk(mturk, study=study))

    assert [hit["MaxAssignments"] for hit in mturk.hits.values()] == [9, 9, 4]


# A time-out, which takes its time, is to the client what a cut and a lost answer are: only here are all three tried.
@pytest.mark.parametrize("trouble", [*BEFORE_EFFECT, pytest.param(HELD, id="time-out")])
def test_offering_continues_where_it_stopped(mturk: MturkServer, channel: Channel, trouble: Any) -> None:
    mturk.fail(trouble, on="CreateHIT")

    tally = offer(channel)
    assert (tally.done, tally.waiting) == ([], 3)
    assert "Nothing is lost or doubled" in tally.trouble
    offer(channel)

    assert (len(mturk.hits), places(mturk)) == (3, 6)
    assert set(channel.actions.values_list("state", flat=True)) == {"done"}


@pytest.mark.parametrize("trouble", [*AFTER_EFFECT, pytest.param(HELD_AND_DONE, id="time-out")])
def test_a_hit_whose_answer_was_lost_is_not_made_twice(mturk: MturkServer, channel: Channel, trouble: Any) -> None:
    mturk.fail(trouble, on="CreateHIT")
    offer(channel)
    assert len(mturk.hits) == 1

    offer(channel)

    assert (len(mturk.hits), places(mturk)) == (3, 6)
    assert {action.answer["hit_id"] for action in channel.actions.all()} == set(mturk.hits)


def test_a_lost_hit_is_found_again_when_its_token_was_forgotten(mturk: MturkServer, channel: Channel) -> None:
    mturk.page_size = 1
    mturk.hits["3OTHER"] = {"HITId": "3OTHER", "RequesterAnnotation": "another project", "Expiration": 1e10}
    mturk.fail(LOST, on="CreateHIT")
    offer(channel)
    mturk.forget_tokens()

    offer(channel)

    assert len(mturk.hits) == 4
    assert channel.actions.filter(answer__hit_id="3OTHER").count() == 0


def test_a_token_that_mturk_knows_names_the_hit(mturk: MturkServer, channel: Channel, monkeypatch: Any) -> None:
    mturk.fail(LOST, on="CreateHIT")
    offer(channel)
    monkeypatch.setattr("annotation.recruitment.mturk.hits.adopt_hits", lambda client, channel: [])  # listed late

    offer(channel)

    assert len(mturk.hits) == 3
    assert channel.actions.get(key="hit:1").answer["hit_id"] == "3HIT00001"


def test_retries_of_one_request_make_one_hit(mturk: MturkServer, channel: Channel, monkeypatch: Any) -> None:
    monkeypatch.setattr("annotation.recruitment.mturk.client.ATTEMPTS", 2)
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *args: 0.0)
    mturk.fail(Trouble(FAULT, takes_effect=True), on="CreateHIT")

    tally = offer(channel)

    assert (len(tally.done), len(mturk.hits)) == (3, 3)


def test_a_refusal_is_told_in_mturks_words_and_may_be_put_right(mturk: MturkServer, channel: Channel) -> None:
    mturk.funds = 0.5

    tally = offer(channel)
    assert tally.refused == dict.fromkeys(["hit:1", "hit:2", "hit:3"], "This Requester has insufficient funds.")
    mturk.funds = 100
    offer(channel)

    assert (len(mturk.hits), places(mturk)) == (3, 6)


def test_a_page_makes_so_many_at_once_and_continues_later(mturk: MturkServer, channel: Channel) -> None:
    first = offer(channel, limit=2)

    assert (len(first.done), first.waiting) == (2, 1)
    assert len(offer(channel, limit=2).done) == 1
    assert places(mturk) == 6


@pytest.mark.parametrize(
    ("options", "named"), [({"title": ""}, "title"), ({"description": " "}, "description"), ({"reward": ""}, "reward")]
)
def test_what_a_hit_lacks_is_named_before_anything_is_asked(
    mturk: MturkServer, options: dict[str, str], named: str
) -> None:
    with pytest.raises(Unacceptable, match=named):
        offer(make_mturk(mturk, **options))

    assert mturk.requests == []


def test_the_studys_pay_in_dollars_is_the_reward_where_none_is_set(mturk: MturkServer) -> None:
    study = make_study(pay_per_hit="0.75", currency="USD")
    make_batch(study)

    offer(make_mturk(mturk, study=study, reward=""))

    assert {body["Reward"] for body in mturk.asked("CreateHIT")} == {"0.75"}


def test_mturk_itself_gets_https_addresses_only(mturk: MturkServer, settings: Any) -> None:
    channel = make_mturk()
    settings.BASE_URL = "http://here.example"

    with pytest.raises(Unacceptable, match="HTTPS"):
        offer(channel)


def test_nothing_is_offered_into_a_shut_channel_or_without_an_open_batch(mturk: MturkServer, channel: Channel) -> None:
    Batch.objects.update(status="paused")
    with pytest.raises(Unacceptable, match="No batch"):
        offer(channel)
    Channel.objects.update(is_open=False)
    with pytest.raises(ClaimRefused):
        offer(Channel.objects.get())

    assert mturk.requests == []


# The key


def test_a_missing_key_is_named_by_its_variables(mturk: MturkServer, monkeypatch: Any) -> None:
    channel = make_mturk(mturk)
    monkeypatch.delenv("MTURK_SECRET_KEY")

    with pytest.raises(KeyMissing, match="MTURK_ACCESS_KEY MTURK_SECRET_KEY"):
        offer(channel)


def test_a_refused_key_is_told_without_the_key(mturk: MturkServer, monkeypatch: Any) -> None:
    channel = make_mturk(mturk)
    monkeypatch.setenv("MTURK_ACCESS_KEY", "AKWRONG")

    tally = offer(channel)

    assert "does not take the key" in str(tally.refused)
    assert "AKWRONG" not in json.dumps(vars(tally)) + json.dumps(list(channel.actions.values("payload", "answer")))


@pytest.mark.parametrize("name", ["AKIAIOSFODNN7EXAMPLE", "SECRET_KEY", "DATABASE_URL", "aws/secret", "mturk_key"])
def test_an_option_takes_the_name_of_a_variable_for_mturk_only(name: str) -> None:
    study = make_study()

    with pytest.raises(AnnotationError) as caught:
        make_channel(study=study, kind="mturk", name="x", options={**OPTIONS, "secret_key_env": name})

    assert name not in str(caught.value).replace("such as MTURK_SECRET_KEY", "")


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://evil.example",
        "http://127.0.0.1.evil.example",
        "http://10.0.0.1",
        "http://x@127.0.0.1:1",
        "http://@127.0.0.1:1",
        "http://127.0.0.1:1/x",
        "http://127.0.0.1:1?x",
        "http://127.0.0.1:1#x",
        "http://127.0.0.1",
    ],
)
def test_a_stand_in_must_be_on_this_machine(settings: Any, endpoint: str) -> None:
    settings.PLATFORM_ALLOWLIST = ["127.0.0.1:1", "10.0.0.1:80"]

    with pytest.raises(AnnotationError, match="on this machine"):
        make_channel(study=make_study(), kind="mturk", name="x", options={**OPTIONS, "endpoint": endpoint})


def test_a_stand_in_must_be_allowed_by_the_installation(settings: Any) -> None:
    settings.PLATFORM_ALLOWLIST = []

    with pytest.raises(AnnotationError, match="PLATFORM_ALLOWLIST"):
        make_channel(study=make_study(), kind="mturk", name="x", options={**OPTIONS, "endpoint": "http://127.0.0.1:1"})


def test_the_channels_addresses_are_amazons_without_a_stand_in() -> None:
    sandbox, live = make_mturk(), make_mturk(study=make_study("live"), site="live")

    assert MturkSettings.of(sandbox).endpoint == "https://mturk-requester-sandbox.us-east-1.amazonaws.com"
    assert MturkSettings.of(live).endpoint == "https://mturk-requester.us-east-1.amazonaws.com"


# Requirements


def test_requirements_are_sent_as_mturk_wants_them(mturk: MturkServer) -> None:
    channel = make_mturk(mturk, requirements="approval-rate >= 95\nlocale in US GB-ENG\n3TYPE00001 missing\n")

    offer(channel)

    assert mturk.asked("CreateHIT")[0]["QualificationRequirements"] == [
        {"QualificationTypeId": "000000000000000000L0", "Comparator": "GreaterThanOrEqualTo", "IntegerValues": [95]},
        {
            "QualificationTypeId": "00000000000000000071",
            "Comparator": "In",
            "LocaleValues": [{"Country": "US"}, {"Country": "GB", "Subdivision": "ENG"}],
        },
        {"QualificationTypeId": "3TYPE00001", "Comparator": "DoesNotExist"},
    ]


@pytest.mark.parametrize(
    "line",
    [
        "approval-rate",
        "approval-rate >=",
        "approval-rate >= many",
        "approval-rate >= 1 2",
        "approval-rate ~ 9",
        "nobody = 1",
        "locale > US",
        "locale = Germany",
        "approved-hits exists 3",
        "approved-hits in",
        "x" * 200,
    ],
)
def test_a_line_that_is_no_requirement_is_refused(line: str) -> None:
    with pytest.raises(Unacceptable, match="is no requirement"):
        parse_requirements(line)


# Learning what workers did


def test_sync_learns_what_was_submitted_over_all_pages_and_changes_nothing_the_second_time(
    mturk: MturkServer, channel: Channel
) -> None:
    mturk.page_size = 1
    offer(channel)
    for number in (1, 2):
        do_work(mturk, channel, "3HIT00002", f"AWORKER{number}")

    first = sync(channel=channel, at=timezone.now())
    rows = list(Submission.objects.order_by("pk").values())
    second = sync(channel=channel, at=timezone.now())

    assert (first["hits"], first["assignments"]) == (3, 2)
    assert second == first
    assert list(Submission.objects.order_by("pk").values()) == rows
    assert [row["details"]["mturk"]["status"] for row in rows] == ["Submitted", "Submitted"]
    assert len(actions.awaiting(channel)) == 2


def test_sync_brings_nothing_back_of_a_worker_whose_data_were_deleted(mturk: MturkServer, channel: Channel) -> None:
    offer(channel)
    done = do_work(mturk, channel, "3HIT00001", "AWORKER1")
    erase_rater(annotator=Annotator.objects.get(), by=None, at=timezone.now())

    sync(channel=channel, at=timezone.now())

    assert not Submission.objects.filter(external_id=done).exists()
    assert Submission.objects.get().details == {}


def test_work_that_was_never_done_here_is_not_approved_with_the_rest(mturk: MturkServer, channel: Channel) -> None:
    offer(channel)
    good = do_work(mturk, channel, "3HIT00001", "AGOOD")
    lazy = mturk.accept("3HIT00001", "ALAZY")
    mturk.submit(lazy, code="I did it")
    sync(channel=channel, at=timezone.now())

    actions.approve(channel=channel, assignment_ids=None, at=timezone.now())

    assert mturk.assignments[good]["AssignmentStatus"] == "Approved"
    assert mturk.assignments[lazy]["AssignmentStatus"] == "Submitted"
    assert Submission.objects.get(external_id=lazy).details["problem"] == "no-work"


@pytest.mark.parametrize(("change", "problem"), [("worker", "other-worker"), ("code", "other-code")])
def test_work_of_another_worker_or_with_another_code_is_not_approved_with_the_rest(
    mturk: MturkServer, channel: Channel, change: str, problem: str
) -> None:
    offer(channel)
    assignment = do_work(mturk, channel, "3HIT00001", "AWORKER1")
    if change == "worker":
        mturk.assignments[assignment]["WorkerId"] = "AOTHER"
    else:
        mturk.submit(assignment, code="another")

    sync(channel=channel, at=timezone.now())

    assert Submission.objects.get().details["problem"] == problem
    assert actions.awaiting(channel) == []


def test_what_mturk_approved_by_itself_is_approved_here(mturk: MturkServer, channel: Channel, submitted: str) -> None:
    mturk.assignments[submitted]["AssignmentStatus"] = "Approved"

    sync(channel=channel, at=timezone.now())

    assert Submission.objects.get().state == "approved"


def test_an_assignment_that_was_left_behind_ends_with_its_time(mturk: MturkServer, channel: Channel) -> None:
    offer(channel)
    arrival = MturkArrival(worker_id="AWORKER1", assignment_id="3LEFT", hit_id="3HIT00001")
    arrive(channel=channel, arrival=arrival, verified="", at=timezone.now() - timedelta(hours=5))

    told = sync(channel=channel, at=timezone.now())

    assert told["timed_out"] == 1
    assert Submission.objects.get().state == "timed-out"


def test_sync_asks_a_page_at_a_time_those_first_that_waited_longest(mturk: MturkServer, channel: Channel) -> None:
    offer(channel)
    start = timezone.now()

    for minute in range(2):
        sync(channel=channel, at=start + timedelta(minutes=minute), limit=2)

    assert {body["HITId"] for body in mturk.asked("ListAssignmentsForHIT")} == set(mturk.hits)


def test_sync_that_is_cut_short_keeps_what_it_learnt_and_says_so(mturk: MturkServer, channel: Channel) -> None:
    offer(channel)
    do_work(mturk, channel, "3HIT00001", "AWORKER1")
    original = mturk._list_assignments

    def third_fails(body: dict[str, Any]) -> dict[str, Any]:
        if body["HITId"] == "3HIT00003":
            raise FAULT
        return original(body)

    mturk._list_assignments = third_fails  # type: ignore[method-assign]

    with pytest.raises(MturkUnreachable):
        sync(channel=channel, at=timezone.now())

    assert Submission.objects.get().details["mturk"]["status"] == "Submitted"


@pytest.mark.parametrize("document", ["", "<not", "<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>", "<a><FreeText/></a>"])
def test_an_answer_that_cannot_be_read_holds_no_code(document: str) -> None:
    assert answers(document) <= {""}


# Deciding


@pytest.mark.parametrize("trouble", [*BEFORE_EFFECT, *AFTER_EFFECT])
def test_approving_again_after_any_failure_approves_once(
    mturk: MturkServer, channel: Channel, submitted: str, trouble: Any
) -> None:
    mturk.fail(trouble, on="ApproveAssignment")

    first = actions.approve(channel=channel, assignment_ids=None, at=timezone.now())
    assert (first.done, first.waiting) == ([], 1)
    second = actions.approve(channel=channel, assignment_ids=None, at=timezone.now())

    assert second.done == [f"approve:{submitted}"]
    assert mturk.assignments[submitted]["AssignmentStatus"] == "Approved"
    assert Submission.objects.get().state == "approved"
    assert actions.approve(channel=channel, assignment_ids=[submitted], at=timezone.now()).unchanged == 1


def test_rejecting_needs_words_for_the_worker(mturk: MturkServer, channel: Channel, submitted: str) -> None:
    for feedback in ("", "  ", "x" * 1025):
        with pytest.raises(Unacceptable):
            actions.reject(channel=channel, assignment_ids=[submitted], feedback=feedback, at=timezone.now())

    actions.reject(channel=channel, assignment_ids=[submitted], feedback="All left.", at=timezone.now())

    assert mturk.assignments[submitted]["AssignmentStatus"] == "Rejected"
    assert mturk.assignments[submitted]["RequesterFeedback"] == "All left."
    assert Submission.objects.get().state == "rejected"


def test_what_was_rejected_is_approved_only_on_purpose(mturk: MturkServer, channel: Channel, submitted: str) -> None:
    actions.reject(channel=channel, assignment_ids=[submitted], feedback="All left.", at=timezone.now())

    refused = actions.approve(channel=channel, assignment_ids=[submitted], at=timezone.now())
    assert "can be called with a status of" in str(refused.refused)
    actions.approve(channel=channel, assignment_ids=[submitted], override=True, at=timezone.now())

    assert mturk.assignments[submitted]["AssignmentStatus"] == "Approved"


def test_an_unknown_assignment_is_named(mturk: MturkServer, channel: Channel) -> None:
    with pytest.raises(UnknownName, match="3NOBODY"):
        actions.approve(channel=channel, assignment_ids=["3NOBODY"], at=timezone.now())


# Bonuses


def pay(channel: Channel, assignment: str, **more: str) -> RunSummary:
    given = {"amount": "1.5", "reason": "Careful work", **more}
    return actions.bonus(channel=channel, assignment_ids=[assignment], at=timezone.now(), **given)


@pytest.mark.parametrize("trouble", [*BEFORE_EFFECT, *AFTER_EFFECT])
@pytest.mark.parametrize("a_day_later", [False, True])
def test_a_bonus_is_paid_once_whatever_is_lost(
    mturk: MturkServer, channel: Channel, submitted: str, trouble: Any, a_day_later: bool
) -> None:
    mturk.fail(trouble, on="SendBonus")
    assert pay(channel, submitted).waiting == 1
    if a_day_later:
        mturk.forget_tokens()

    pay(channel, submitted)
    pay(channel, submitted)

    assert [(one["BonusAmount"], one["WorkerId"]) for one in mturk.bonuses] == [("1.50", "AWORKER1")]


def test_a_bonus_that_mturk_lists_late_is_held_back_by_its_token(
    mturk: MturkServer, channel: Channel, submitted: str, monkeypatch: Any
) -> None:
    mturk.fail(LOST, on="SendBonus")
    pay(channel, submitted)
    monkeypatch.setattr(actions, "_is_paid", lambda *args: False)

    tally = pay(channel, submitted)

    assert (len(tally.done), len(mturk.bonuses)) == (1, 1)


def test_a_second_bonus_needs_a_label_of_its_own(mturk: MturkServer, channel: Channel, submitted: str) -> None:
    pay(channel, submitted)

    with pytest.raises(Unacceptable, match="was asked for before"):
        pay(channel, submitted, amount="2.00")
    pay(channel, submitted, amount="2.00", label="second")

    assert [one["BonusAmount"] for one in mturk.bonuses] == ["1.50", "2.00"]


@pytest.mark.parametrize("amount", ["0", "0.00", "-1", "1.234", "a", "", "1e3", "5.01", "٥"])
def test_a_bonus_that_is_no_money_or_above_the_cap_is_refused(
    mturk: MturkServer, channel: Channel, submitted: str, amount: str
) -> None:
    with pytest.raises(Unacceptable):
        pay(channel, submitted, amount=amount)

    assert mturk.bonuses == []


def test_a_bonus_needs_a_reason(mturk: MturkServer, channel: Channel, submitted: str) -> None:
    with pytest.raises(Unacceptable, match="what the bonus is for"):
        pay(channel, submitted, reason=" ")


# Qualifications


@pytest.mark.parametrize("trouble", [*BEFORE_EFFECT, *AFTER_EFFECT])
def test_a_qualification_is_made_once_and_given_to_who_was_approved(
    mturk: MturkServer, channel: Channel, submitted: str, trouble: Any
) -> None:
    actions.approve(channel=channel, assignment_ids=None, at=timezone.now())
    given: dict[str, Any] = {"name": "Rated texts", "description": "Has rated.", "value": 1, "codes": None}
    mturk.fail(trouble, on="CreateQualificationType")

    actions.qualify(channel=channel, at=timezone.now(), **given)
    actions.qualify(channel=channel, at=timezone.now(), **given)
    actions.qualify(channel=channel, at=timezone.now(), **given)

    assert [one["Name"] for one in mturk.types.values()] == ["Rated texts"]
    assert [(one["WorkerId"], one["IntegerValue"]) for one in mturk.granted] == [("AWORKER1", 1)]


def test_a_rater_of_another_channel_gets_no_qualification(mturk: MturkServer, channel: Channel) -> None:
    with pytest.raises(UnknownName, match="r-nobody"):
        actions.qualify(channel=channel, name="x", description="y", value=1, codes=["r-nobody"], at=timezone.now())

    assert mturk.requests == []


# Taking down


@pytest.mark.parametrize("trouble", [*BEFORE_EFFECT, *AFTER_EFFECT])
def test_hits_are_taken_down_and_may_be_offered_again(mturk: MturkServer, channel: Channel, trouble: Any) -> None:
    offer(channel)
    mturk.fail(trouble, on="UpdateExpirationForHIT")

    expire(channel=channel, at=timezone.now())
    expire(channel=channel, at=timezone.now())

    assert all(hit["Expiration"] < timezone.now().timestamp() for hit in mturk.hits.values())
    assert expire(channel=channel, at=timezone.now()).done == []
    offer(channel)
    assert len(mturk.hits) == 6


# The client's words


@pytest.mark.parametrize(
    ("refusal", "error"),
    [
        (THROTTLED, MturkUnreachable),
        (FAULT, MturkUnreachable),
        (Refusal("Slow down", kind="TooManyRequests", status=429), MturkUnreachable),
        (Refusal("Not this", "AWS.MechanicalTurk.InvalidParameterValue"), MturkRefused),
    ],
)
def test_failures_are_told_as_not_knowing_or_as_a_no(
    mturk: MturkServer, channel: Channel, refusal: Refusal, error: type[AnnotationError]
) -> None:
    mturk.fail(refusal)

    with pytest.raises(error) as caught:
        MturkClient(MturkSettings.of(channel)).call("get_hit", HITId="3HIT1")

    assert "(17" not in str(caught.value)  # the stamp that MTurk puts behind its words


def test_a_request_that_mturk_does_not_take_is_refused_before_it_is_sent(mturk: MturkServer, channel: Channel) -> None:
    with pytest.raises(MturkRefused):
        MturkClient(MturkSettings.of(channel)).call("get_hit", HITId=7)

    assert mturk.requests == []


# The command and the page


def run(*arguments: str, capsys: Any) -> Any:
    call_command("mturk", *arguments)
    return json.loads(capsys.readouterr().out)


def test_the_command_goes_all_the_way(mturk: MturkServer, channel: Channel, capsys: Any) -> None:
    assert len(run("publish", "study", capsys=capsys)["done"]) == 3
    assignment = do_work(mturk, channel, "3HIT00001", "AWORKER1")
    assert run("sync", "study", "--channel", "MTurk", capsys=capsys)["assignments"] == 1
    assert run("approve", "study", capsys=capsys)["done"] == [f"approve:{assignment}"]
    paid = run("bonus", "study", "--assignment", assignment, "--amount", "1", "--reason", "Thanks", capsys=capsys)
    assert paid["done"] == [f"bonus:{assignment}:1"]
    given = run("qualify", "study", "--name", "Rated", "--description", "Has rated.", capsys=capsys)
    assert len(given["done"]) == 1
    assert len(run("expire", "study", capsys=capsys)["done"]) == 3
    assert "AWORKER1" not in json.dumps([paid, given])


def test_the_command_fails_when_something_waits_and_still_prints_json(
    mturk: MturkServer, channel: Channel, capsys: Any
) -> None:
    mturk.fail(THROTTLED)

    with pytest.raises(CommandError, match="run this again later"):
        call_command("mturk", "publish", "study")

    assert json.loads(capsys.readouterr().out)["waiting"] == 3


def test_the_command_names_the_channels_when_none_is_meant(capsys: Any) -> None:
    make_mturk(study=make_study())

    with pytest.raises(CommandError, match="there are: MTurk"):
        call_command("mturk", "sync", "study", "--channel", "Other")


def page_of(channel: Channel, *roles: str) -> tuple[Client, str]:
    browser = Client()
    browser.force_login(make_user("admin", *roles, study=channel.study))
    return browser, reverse("annotation:channel", args=[channel.study.slug, channel.key])


def test_the_buttons_of_the_page_offer_learn_and_approve(mturk: MturkServer, channel: Channel) -> None:
    browser, page = page_of(channel, "study-admin")
    assert browser.post(page, {"act": "publish"}).status_code == 302
    assignment = do_work(mturk, channel, "3HIT00001", "AWORKER1")
    browser.post(page, {"act": "sync"})

    shown = browser.get(page).content.decode()
    assert assignment in shown
    assert "AWORKER1" not in shown
    browser.post(page, {"act": "reject", "assignment": [assignment], "feedback": "All left."})
    browser.post(page, {"act": "approve", "assignment": [assignment], "override": "yes"})
    browser.post(page, {"act": "bonus", "assignment": [assignment], "amount": "1", "feedback": "Sorry."})

    assert mturk.assignments[assignment]["AssignmentStatus"] == "Approved"
    assert len(mturk.bonuses) == 1


@pytest.mark.parametrize(
    ("sent", "status"),
    [({"act": "approve"}, 422), ({"act": "nonsense", "assignment": "x"}, 422), ({"act": "release", "rater": "x"}, 404)],
)
def test_a_button_that_cannot_be_pressed_says_why(
    mturk: MturkServer, channel: Channel, sent: dict[str, str], status: int
) -> None:
    browser, page = page_of(channel, "study-admin")

    assert browser.post(page, sent).status_code == status
    assert mturk.requests == []


def test_who_may_only_read_sees_the_panel_and_presses_nothing(mturk: MturkServer, channel: Channel) -> None:
    browser, page = page_of(channel, "researcher")

    shown = browser.get(page)

    assert shown.status_code == 200
    assert b'name="act"' not in shown.content
    assert browser.post(page, {"act": "publish"}).status_code == 403
    assert mturk.requests == []


def test_an_action_is_written_down_once_under_its_key(mturk: MturkServer, channel: Channel, submitted: str) -> None:
    pay(channel, submitted)
    pay(channel, submitted)

    assert PlatformAction.objects.filter(kind="bonus").count() == 1
    assert Participant.objects.count() == 1
