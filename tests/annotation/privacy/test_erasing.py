"""Deleting what is held about a rater: nothing that names them is left anywhere, and nothing brings it back."""

from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User

from annotation.allocation.claims import claim_hit
from annotation.annotators.messages import send_message
from annotation.annotators.payments import payments_of
from annotation.models import Annotator, Assignment, Channel, Event, Flag, Rating, Study, VoteChange
from annotation.privacy.erasing import erase_rater, erase_raters
from annotation.rating.flag_views import flag_pair
from reporting.exports.rows import rating_rows
from tests.annotation.privacy.database_text import all_rows, left_of, stored
from tests.annotation.recruitment.prolific.setup import NOON, join_and_rate
from tests.annotation.recruitment.prolific.setup import prolific as prolific
from tests.annotation.recruitment.prolific.setup import shared_channel as shared_channel
from tests.annotation.recruitment.prolific.setup import shared_study as shared_study
from tests.annotation.recruitment.prolific.setup import stored_channel as stored_channel
from tests.annotation.recruitment.prolific.setup import stored_study as stored_study
from tests.annotation.recruitment.prolific.test_webhook import body_of, post
from tests.factories import claim, make_annotator, make_batch, make_study, rate, token_of
from tests.test_personal_data import personal_fields

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]
WORDS = ("ada.lovelace", "ada@example.org", "Ada King", "my own words", "a line for Ada", "203.0.113.77")


def store_ada(study: Study) -> Annotator:
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
    Rating.objects.filter(display__assignment=assignment).update(reason="my own words")
    Assignment.objects.filter(pk=assignment.pk).update(pay_due="0.75", return_comment="my own words")
    send_message(annotator=annotator, text="a line for Ada", by=None, at=NOON)
    return annotator


@pytest.fixture(scope="module")
def stored_ada(stored_study: int) -> int:
    """Make that rater for all tests of this module; return her row's number."""
    return store_ada(Study.objects.get(pk=stored_study)).pk


@pytest.fixture
def ada(stored_ada: int) -> Annotator:
    return Annotator.objects.get(pk=stored_ada)


def test_nothing_that_names_a_rater_is_left_in_any_table(ada: Annotator) -> None:
    assert {text for text in WORDS if left_of(text)} == set(WORDS)
    hit = ada.assignments.get().hit
    erased = erase_rater(annotator=ada, by=None, at=NOON)
    assert left_of(*WORDS) == []
    assert (erased.changed, erased.ratings, erased.account) == (True, 2, True)
    ada.refresh_from_db()
    assert (ada.user_id, ada.withdrawn_at, ada.erased_at) == (None, NOON, NOON)
    assert [model._base_manager.count() for model in (Rating, VoteChange, Flag)] == [0, 0, 0]
    assert hit.slots.filter(assignment=None).count() == 1


@pytest.mark.any_engine
def test_what_is_due_and_what_was_agreed_to_stay_under_the_code(ada: Annotator, study: Study) -> None:
    answers = list(ada.consents.values_list("accepted", flat=True))
    erase_rater(annotator=ada, by=None, at=NOON)
    [payment] = payments_of(study)
    assert [payment[name] for name in ("code", "name", "pay_due", "hits")] == [ada.code, "", "0.75", None]
    assert list(ada.consents.values_list("accepted", flat=True)) == [*answers, False]


@pytest.mark.any_engine
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
    done = erase_raters(Annotator.objects.filter(user=ada.user), by=None, at=NOON, everywhere=True)
    assert sorted(one.study for one in done) == ["other", ada.study.slug]
    assert left_of(*WORDS) == []


@pytest.mark.any_engine
def test_an_account_with_another_role_stays_a_researchers(ada: Annotator) -> None:
    ada.user.role_grants.create(role="researcher", study=ada.study)  # type: ignore[union-attr]
    [erased] = erase_raters([ada], by=None, at=NOON, everywhere=True)
    assert erased.account is False
    assert User.objects.get(username="ada.lovelace").role_grants.get().role == "researcher"


# The list of what is held, and what is done


def cells() -> dict[tuple[str, int | str, str], Any]:
    """Return every value of the database, by table, row and field."""
    return {
        (model._meta.label, row["pk"], name): value
        for model, row in all_rows()
        for name, value in row.items()
        if name != "pk"
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
    gone = {"deleted", "replaced by a pseudonym"} | (set() if keep else {"deleted with a withdrawal"})
    fates = {(model, name): fate for model, name, fate in personal_fields()}
    stays, goes = [], []
    changes = {("annotation.Slot", "assignment"), ("reporting.DataChanges", "number")}  # whoever is erased
    for (model, row, name), value in before.items():
        fate, there = fates.get((model, name)), (model, row, name) in after
        if value in (None, "", "{}", "[]", {}, []) or (model, name) in changes:
            continue
        if fate in gone and after.get((model, row, name)) == value:
            stays.append((model, name))
        if fate not in gone and there and after[model, row, name] != value:
            goes.append((model, name))
    assert sorted(set(stays)) == []
    assert sorted(set(goes)) == []
