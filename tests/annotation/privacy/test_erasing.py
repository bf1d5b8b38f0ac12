"""Deleting what is held about a rater: nothing that names them is left anywhere, and nothing brings it back."""

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db.models import F
from django.test import Client

from annotation.allocation.claims import claim_hit
from annotation.annotators.messages import send_message
from annotation.annotators.participants import join
from annotation.annotators.payments import payments_of
from annotation.core.errors import ClaimRefused
from annotation.models import (
    Annotator,
    Assignment,
    Channel,
    Event,
    Flag,
    Rating,
    Study,
    Submission,
    VoteChange,
    WebhookEvent,
)
from annotation.privacy.erasing import erase_person, erase_rater
from annotation.privacy.personal_data import PERSONAL, Fate
from annotation.rating.flags import flag_pair
from annotation.recruitment.prolific.sync import sync
from reporting.exports.rows import rating_rows
from tests.annotation.recruitment.prolific.setup import (
    NOON,
    OTHER_PID,
    OTHER_SESSION,
    PID,
    SESSION,
    client_of,
    come,
    join_and_rate,
    rater,
)
from tests.annotation.recruitment.prolific.setup import channel as channel
from tests.annotation.recruitment.prolific.setup import prolific as prolific
from tests.annotation.recruitment.prolific.setup import study as study
from tests.annotation.recruitment.prolific.test_webhook import body_of, post
from tests.factories import claim, make_annotator, make_batch, make_study, rate, token_of

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]
WORDS = ("ada.lovelace", "ada@example.org", "Ada King", "my own words", "a line for Ada", "203.0.113.77")


def stored() -> str:
    """Return everything that the database holds, as text."""
    rows: list[Any] = []
    for model in apps.get_models(include_auto_created=True):
        names = [field.attname for field in model._meta.local_concrete_fields]
        rows += [(model._meta.label, row) for row in model._base_manager.order_by().values(*names)]
    return "\n".join(f"{label} {json.dumps(row, default=str)}" for label, row in rows)


def left_of(*texts: str) -> list[str]:
    return [line for line in stored().splitlines() if any(text in line for text in texts)]


@pytest.fixture
def ada(study: Study) -> Annotator:
    """Make a rater with an account under her name, who has done and said everything that a rater can."""
    annotator = make_annotator(study, "ada.lovelace")
    User.objects.filter(pk=annotator.user_id).update(first_name="Ada King", email="ada@example.org", last_login=NOON)
    token_of(annotator.user)
    AccessAttempt.objects.create(
        username="ada.lovelace", ip_address="203.0.113.77", failures_since_start=1, user_agent="", get_data="",
        post_data="", http_accept="", path_info="",
    )  # fmt: skip
    assignment = claim(annotator)
    pair = assignment.displays.select_related("pair").earliest("pk").pair
    flag_pair(assignment=assignment, pair_key=pair.key, kind="other", comment="my own words", at=NOON)
    rate(assignment)
    Rating.objects.of_every_question().filter(display__assignment=assignment).update(reason="my own words")
    Assignment.objects.filter(pk=assignment.pk).update(pay_due="0.75", return_comment="my own words")
    send_message(annotator=annotator, text="a line for Ada", by=None, at=NOON)
    return annotator


def test_nothing_that_names_a_rater_is_left_in_any_table(ada: Annotator) -> None:
    assert {text for text in WORDS if left_of(text)} == set(WORDS)
    erased = erase_rater(annotator=ada, by=None, at=NOON)
    assert left_of(*WORDS) == []
    assert (erased.changed, erased.ratings, erased.account) == (True, 2, True)
    ada.refresh_from_db()
    assert (ada.user_id, ada.withdrawn_at, ada.erased_at) == (None, NOON, NOON)
    assert [model._base_manager.count() for model in (Rating, VoteChange, Flag)] == [0, 0, 0]


def test_what_is_due_and_what_was_agreed_to_stay_under_the_code(ada: Annotator, study: Study) -> None:
    answers = list(ada.consents.values_list("accepted", flat=True))
    erase_rater(annotator=ada, by=None, at=NOON)
    [payment] = payments_of(study)
    assert (payment.code, payment.name, str(payment.pay_due), payment.hits) == (ada.code, "", "0.75", None)
    assert list(ada.consents.values_list("accepted", flat=True)) == [*answers, False]


def test_the_slot_of_a_deleted_rater_is_free_for_another(ada: Annotator, study: Study) -> None:
    hit = ada.assignments.get().hit
    erase_rater(annotator=ada, by=None, at=NOON)
    assert hit.slots.filter(assignment=None).count() == 1
    assert list(rating_rows(study)) == []


def test_deleting_twice_changes_nothing_more(ada: Annotator, study: Study) -> None:
    erase_rater(annotator=ada, by=None, at=NOON)
    before = stored()
    again = erase_rater(annotator=Annotator.objects.get(pk=ada.pk), by=None, at=NOON + timedelta(days=1))
    assert not again.changed
    assert stored() == before
    assert study.events.filter(kind=Event.Kind.ERASED).count() == 1


def test_who_they_are_goes_and_what_they_rated_stays(ada: Annotator, study: Study) -> None:
    before = [row["rating"] for row in rating_rows(study)]
    erased = erase_rater(annotator=ada, by=None, at=NOON, keep_ratings=True)
    assert erased.ratings is None
    assert [row["rating"] for row in rating_rows(study)] == before
    ada.refresh_from_db()
    assert (ada.user, ada.withdrawn_at) == (None, None)
    assert left_of("ada.lovelace", "ada@example.org", "Ada King", "a line for Ada", "203.0.113.77") == []
    # and their ratings go too when they ask for that later
    assert erase_rater(annotator=ada, by=None, at=NOON).ratings == 2
    assert list(rating_rows(study)) == []


# A person in several studies


def test_an_account_that_rates_elsewhere_stays_and_leads_to_no_second_place(ada: Annotator, study: Study) -> None:
    other = make_study("other", instances=2)
    make_batch(other, raters=1)
    elsewhere = make_annotator(other, "ada.lovelace")
    erased = erase_rater(annotator=ada, by=None, at=NOON)
    assert erased.account is False
    user = User.objects.get(username="ada.lovelace")
    assert list(user.role_grants.values_list("study__slug", flat=True)) == ["other"]
    assert user.annotators.get(study=study) == ada
    assert claim_hit(annotator=elsewhere, at=NOON).hit.batch.study == other
    assert erase_rater(annotator=elsewhere, by=None, at=NOON).account is True
    assert not User.objects.filter(username="ada.lovelace").exists()


def test_a_person_is_deleted_in_all_studies(ada: Annotator) -> None:
    other = make_study("other", instances=2)
    make_batch(other, raters=1)
    rate(claim(make_annotator(other, "ada.lovelace")))
    done = erase_person(annotators=Annotator.objects.filter(user=ada.user), by=None, at=NOON)
    assert sorted(one.study for one in done) == ["other", ada.study.slug]
    assert left_of(*WORDS) == []


def test_an_account_with_another_role_stays_a_researchers(ada: Annotator) -> None:
    ada.user.role_grants.create(role="researcher", study=ada.study)  # type: ignore[union-attr]
    [erased] = erase_person(annotators=[ada], by=None, at=NOON)
    assert erased.account is False
    assert User.objects.get(username="ada.lovelace").role_grants.get().role == "researcher"


# What a platform knows


def test_nothing_of_a_platforms_ids_is_left(channel: Channel) -> None:
    join_and_rate(channel)
    post(channel, body_of("AWAITING REVIEW"))
    submission = Submission.objects.get()
    submission.actions.create(
        channel=channel, kind="bonus", key=f"bonus:{SESSION}:75:", payload={"amount": "0.75"}, state="done"
    )
    assert left_of(PID)
    assert left_of(SESSION)
    erase_rater(annotator=rater(channel), by=None, at=NOON)
    assert left_of(PID, SESSION) == []
    assert not WebhookEvent.objects.exists()
    assert submission.actions.get().payload == {"amount": "0.75"}


@pytest.mark.parametrize("session", [SESSION, OTHER_SESSION], ids=["the same work", "further work"])
@pytest.mark.any_engine
def test_a_message_that_comes_later_brings_nothing_back(channel: Channel, session: str) -> None:
    join_and_rate(channel)
    erase_rater(annotator=rater(channel), by=None, at=NOON)
    before = stored()
    answer = post(channel, body_of("APPROVED", session=session))
    assert answer.json() == {"result": "erased"}
    assert stored() == before


@pytest.mark.any_engine
def test_asking_prolific_brings_nothing_back(channel: Channel, prolific: Any) -> None:
    join_and_rate(channel)
    join_and_rate(channel, pid=OTHER_PID, session=OTHER_SESSION)
    erase_rater(annotator=rater(channel), by=None, at=NOON)
    prolific.add(SESSION, PID, "AWAITING REVIEW")
    sync(channel=channel, client=client_of(channel), at=NOON)
    assert left_of(PID, SESSION) == []


def test_who_was_deleted_is_not_taken_for_a_new_rater(channel: Channel) -> None:
    join_and_rate(channel)
    erase_rater(annotator=rater(channel), by=None, at=NOON)
    refused, _browser = come(channel, session=OTHER_SESSION)
    assert refused.status_code == 403
    assert "have been deleted" in refused.content.decode()
    with pytest.raises(ClaimRefused):
        join(channel=channel, external_id=PID, at=NOON)
    assert Annotator.objects.count() == 1


@pytest.mark.any_engine
def test_the_channels_page_offers_nothing_for_a_deleted_rater(channel: Channel, admin_client: Client) -> None:
    join_and_rate(channel)
    erase_rater(annotator=rater(channel), by=None, at=NOON)
    page = admin_client.get(f"/studies/{channel.study.slug}/channels/{channel.key}/").content.decode()
    assert "erased-" not in page


# By command


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("erase_rater", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize("by", ["code", "account", "platform"])
@pytest.mark.any_engine
def test_the_command_finds_a_rater_by_code_account_or_platform_id(channel: Channel, by: str) -> None:
    annotator = join_and_rate(channel)
    name = annotator.user.username  # type: ignore[union-attr]
    key = {"code": annotator.code, "account": name, "platform": PID}[by]
    assert "nothing was changed" in run(key, "--dry-run")
    assert left_of(PID)
    told = run(key)
    assert f"{channel.study.slug}: rater {annotator.code}: withdrawn, personal data and 2 votes deleted" in told
    assert "account deleted" in told
    assert left_of(PID, SESSION, name) == []
    if by != "account":
        assert "nothing left to delete" in run(key)


@pytest.mark.any_engine
def test_a_code_of_two_studies_asks_for_the_study(study: Study) -> None:
    other = make_study("other", instances=0)
    for one in (study, other):
        Annotator.objects.create(study=one, code="r-same", kind="imported")
    with pytest.raises(CommandError, match=r"other, study"):
        run("r-same")
    run("r-same", "--study", "other")
    assert Annotator.objects.get(study=study).code == "r-same"
    assert Annotator.objects.get(study=other).code != "r-same"  # a file's code may be a platform's id


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(CommandError, match="No rater has this"):
        run("nobody")


# The list of what is held, and what is done


def cells() -> dict[tuple[str, int | str, str], Any]:
    """Return every value of the database, by table, row and field."""
    return {
        (model._meta.label, row["pk"], field.name): row[field.attname]
        for model in apps.get_models(include_auto_created=True)
        for row in model._base_manager.order_by().values(
            *[one.attname for one in model._meta.local_concrete_fields], pk=F("pk")
        )
        for field in model._meta.local_concrete_fields
    }


@pytest.mark.parametrize("keep", [False, True], ids=["with the ratings", "who they are"])
def test_deleting_does_to_each_field_what_the_list_says(ada: Annotator, channel: Channel, keep: bool) -> None:
    participant = join_and_rate(channel)
    post(channel, body_of("AWAITING REVIEW"))
    ada.events.create(study=ada.study, kind="excluded", reason="my own words", changes={"slots_reopened": 1})
    before = cells()
    for one in (ada, participant):
        erase_rater(annotator=one, by=None, at=NOON, keep_ratings=keep)
    after = cells()
    gone = {Fate.DELETED, Fate.PSEUDONYM} | (set() if keep else {Fate.WITH_RATINGS})
    fates = {(held.model, name): held.fate for held in PERSONAL for name in held.names}
    stays, goes = [], []
    for (model, row, name), value in before.items():
        fate, there = fates.get((model, name)), (model, row, name) in after
        if value in (None, "", {}, []) or (model, name) == ("annotation.Slot", "assignment"):
            continue
        if fate in gone and after.get((model, row, name)) == value:
            stays.append((model, name))
        if fate not in gone and there and after[model, row, name] != value:
            goes.append((model, name))
    assert sorted(set(stays)) == []
    assert sorted(set(goes)) == []
