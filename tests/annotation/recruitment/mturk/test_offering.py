"""Offering HITs on MTurk, over HTTP: as many as there are slots, each once, whatever is lost on the way."""

import json
from typing import Any

import pytest
from django.utils import timezone

from annotation.core.errors import AnnotationError, BadFields, ClaimRefused, Unacceptable
from annotation.hits.slots import reopen_slots
from annotation.models import Annotator, Batch, Channel
from annotation.recruitment.channels import make_channel
from annotation.recruitment.mturk.client import KeyMissing, MturkClient, MturkRefused, MturkUnreachable
from annotation.recruitment.mturk.hits import expire
from annotation.recruitment.mturk.site import MturkSettings, parse_requirements
from tests.annotation.recruitment.mturk.server import (
    FAULT,
    HELD,
    HELD_AND_DONE,
    LOST,
    THROTTLED,
    MturkRefusal,
    MturkServer,
    Trouble,
)
from tests.annotation.recruitment.mturk.setup import (
    AFTER_EFFECT,
    BEFORE_EFFECT,
    ONE_BEFORE_EFFECT,
    OPTIONS,
    do_work,
    make_mturk,
    offer,
    places,
)
from tests.factories import claim, make_annotator, make_batch, make_study, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


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
    assert (offer(channel).done, places(mturk)) == ([], 6)


def test_what_others_rate_is_not_offered(mturk: MturkServer) -> None:
    study = make_study("other", instances=3, k=2)
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
    study = make_study("other", instances=2, k=2)
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


@pytest.mark.parametrize("is_listed", [True, False], ids=["by the list", "by its token"])
def test_a_lost_hit_is_found_again(
    mturk: MturkServer, channel: Channel, monkeypatch: pytest.MonkeyPatch, is_listed: bool
) -> None:
    mturk.page_size = 1
    mturk.hits["3OTHER"] = {"HITId": "3OTHER", "RequesterAnnotation": "another project", "Expiration": 1e10}
    mturk.fail(LOST, on="CreateHIT")
    offer(channel)
    [lost] = mturk.hits.keys() - {"3OTHER"}
    if is_listed:
        mturk.forget_tokens()
    else:
        monkeypatch.setattr("annotation.recruitment.mturk.hits.adopt_hits", lambda client, channel: [])

    offer(channel)

    assert len(mturk.hits) == 4
    assert channel.actions.get(key="hit:1").answer["hit_id"] == lost
    assert channel.actions.filter(answer__hit_id="3OTHER").count() == 0


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
    tallies = [offer(channel, limit=2) for _ in range(2)]

    assert [(len(tally.done), tally.waiting) for tally in tallies] == [(2, 1), (1, 0)]
    assert places(mturk) == 6


@pytest.mark.parametrize(
    ("options", "named"), [({"title": ""}, "title"), ({"description": " "}, "description"), ({"reward": ""}, "reward")]
)
def test_what_a_hit_lacks_is_named(mturk: MturkServer, channel: Channel, options: dict[str, str], named: str) -> None:
    channel.options |= options

    with pytest.raises(Unacceptable, match=named):
        offer(channel)

    assert mturk.requests == []


def test_nothing_is_offered_without_a_key_an_open_batch_or_an_open_channel(
    mturk: MturkServer, channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.delenv("MTURK_SECRET_KEY")
        with pytest.raises(KeyMissing, match="MTURK_ACCESS_KEY MTURK_SECRET_KEY"):
            offer(channel)
    Batch.objects.update(status="paused")
    with pytest.raises(Unacceptable, match="No batch"):
        offer(channel)
    Channel.objects.update(is_open=False)
    with pytest.raises(ClaimRefused):
        offer(Channel.objects.get())

    assert mturk.requests == []


def test_the_studys_pay_in_dollars_is_the_reward_where_none_is_set(mturk: MturkServer) -> None:
    study = make_study("other", pay_per_hit="0.75", currency="USD")
    make_batch(study)

    offer(make_mturk(mturk, study=study, reward=""))

    assert {body["Reward"] for body in mturk.asked("CreateHIT")} == {"0.75"}


def test_mturk_itself_gets_https_addresses_only(channel: Channel, settings: Any) -> None:
    del channel.options["endpoint"]
    settings.BASE_URL = "http://here.example"

    with pytest.raises(Unacceptable, match="HTTPS"):
        offer(channel)


# The key


def test_a_refused_key_is_told_without_the_key(channel: Channel, monkeypatch: Any) -> None:
    monkeypatch.setenv("MTURK_ACCESS_KEY", "AKWRONG")

    tally = offer(channel)

    assert "does not take the key" in str(tally.refused)
    assert "AKWRONG" not in json.dumps(vars(tally)) + json.dumps(list(channel.actions.values("payload", "answer")))


@pytest.mark.parametrize("name", ["AKIAIOSFODNN7EXAMPLE", "SECRET_KEY", "DATABASE_URL", "aws/secret", "mturk_key"])
def test_an_option_takes_the_name_of_a_variable_for_mturk_only(channel: Channel, name: str) -> None:
    with pytest.raises(AnnotationError) as caught:
        make_channel(study=channel.study, kind="mturk", name="x", options={**OPTIONS, "secret_key_env": name})

    assert name not in str(caught.value).replace("such as MTURK_SECRET_KEY", "")


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://127.0.0.1:2",
        "https://evil.example",
        "http://127.0.0.1.evil.example",
        "http://10.0.0.1",
        "http://x@127.0.0.1:1",
        "http://@127.0.0.1:1",
        "http://127.0.0.1:1/x",
        "http://127.0.0.1:1?x",
        "http://127.0.0.1:1#x",
        "http://127.0.0.1",
        "http://[::1",
        "http://127.0.0.1:99999999",
        "http://127.0.0.1:abc",
    ],
)
def test_a_stand_in_must_be_on_this_machine(channel: Channel, settings: Any, endpoint: str) -> None:
    settings.PLATFORM_ALLOWLIST = ["127.0.0.1:1", "10.0.0.1:80"]

    with pytest.raises(BadFields) as refusal:
        make_channel(study=channel.study, kind="mturk", name="x", options={**OPTIONS, "endpoint": endpoint})
    assert list(refusal.value.fields) == ["endpoint"]


def test_the_channels_addresses_are_amazons_without_a_stand_in() -> None:
    channel = make_mturk(study=make_study("sandbox"))
    assert MturkSettings(channel).endpoint == "https://mturk-requester-sandbox.us-east-1.amazonaws.com"
    channel.options["site"] = "live"
    assert MturkSettings(channel).endpoint == "https://mturk-requester.us-east-1.amazonaws.com"


# Requirements


def test_requirements_are_sent_as_mturk_wants_them(mturk: MturkServer, channel: Channel) -> None:
    channel.options["requirements"] = "approval-rate >= 95\nlocale in US GB-ENG\n3TYPE00001 missing\n"

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


# Taking down


@pytest.mark.parametrize("trouble", ONE_BEFORE_EFFECT)
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
        (MturkRefusal("Slow down", kind="TooManyRequests", status=429), MturkUnreachable),
        (MturkRefusal("Not this", "AWS.MechanicalTurk.InvalidParameterValue"), MturkRefused),
    ],
)
def test_failures_are_told_as_not_knowing_or_as_a_no(
    mturk: MturkServer, channel: Channel, refusal: MturkRefusal, error: type[AnnotationError]
) -> None:
    mturk.fail(refusal)

    with pytest.raises(error) as caught:
        MturkClient(MturkSettings(channel)).call("get_hit", HITId="3HIT1")

    assert "(17" not in str(caught.value)  # the stamp that MTurk puts behind its words


def test_a_request_that_mturk_does_not_take_is_refused_before_it_is_sent(mturk: MturkServer, channel: Channel) -> None:
    with pytest.raises(MturkRefused):
        MturkClient(MturkSettings(channel)).call("get_hit", HITId=7)

    assert mturk.requests == []
