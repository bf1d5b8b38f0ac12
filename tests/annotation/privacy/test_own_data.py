"""A rater's own page on their data: the file, and deleting; and what admins delete."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.annotators.messages import send_message
from annotation.models import Annotator, Event, Rating, Study
from annotation.privacy.erasing import erase_rater
from annotation.studies.log import log
from tests.annotation.recruitment.prolific.setup import PID, SESSION, come, rater
from tests.annotation.recruitment.prolific.setup import channel as channel
from tests.annotation.recruitment.prolific.setup import prolific as prolific
from tests.annotation.recruitment.prolific.test_webhook import body_of, post
from tests.factories import NOON, claim, make_annotator, make_batch, make_study, make_user, output_of, rate, signed_in
from tests.whole_study import build_whole_study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def store() -> tuple[int, int]:
    """Make a study and a rater who has done a HIT; return the numbers of their rows."""
    study = make_study(pay_per_hit="0.50", currency="EUR", question="Which one reads better?")
    make_batch(study, raters=2)
    annotator = make_annotator(study, "ada")
    rate(claim(annotator), ["left", "none"])
    return study.pk, annotator.pk


@pytest.fixture
def study(stored: tuple[int, int]) -> Study:
    return Study.objects.get(pk=stored[0])


@pytest.fixture
def ada(stored: tuple[int, int]) -> Annotator:
    return Annotator.objects.get(pk=stored[1])


def browser_of(user: User | None) -> Client:
    assert user is not None
    return signed_in(user)


def file_of(client: Client) -> Any:
    answer = client.get("/rate/data/file/")
    assert "attachment" in answer["Content-Disposition"]
    assert "no-store" in answer["Cache-Control"]
    return answer.json()


# The file


def test_the_file_holds_what_a_rater_did_as_they_saw_it_and_nothing_of_others(ada: Annotator, study: Study) -> None:
    bob = make_annotator(study, "bob")
    send_message(annotator=ada, text="a line", by=None, at=NOON)
    send_message(annotator=bob, text="to bob alone", by=None, at=NOON)
    found = file_of(browser_of(ada.user))
    assert bob.code not in json.dumps(found)
    assert "bob" not in json.dumps(found)
    written = json.loads(output_of("export_rater", ada.code))
    assert (written["studies"], written["account"]["username"]) == (found["studies"], "ada")
    assert found["account"]["username"] == "ada"
    [told] = found["studies"]
    assert (told["question"], told["code"]) == ("Which one reads better?", ada.code)
    assert [one["accepted"] for one in told["consent"]] == [True]
    assert [one["text"] for one in told["messages"]] == ["a line"]
    [hit] = told["hits"]
    assert (hit["pay"], hit["submitted_at"]) == ("0.50", NOON.isoformat())
    assert [pair["choices"][0]["choice"] for pair in hit["pairs"]] == ["left", "none"]
    assert [pair["history"][0]["choice"] for pair in hit["pairs"]] == ["left", "none"]
    assert "question" not in {**hit["pairs"][0]["choices"][0], **hit["pairs"][0]["history"][0]}  # it has but one


def test_the_file_holds_a_platforms_ids_and_messages(channel: Any) -> None:
    _answer, browser = come(channel)
    post(channel, body_of("ACTIVE"))
    [told] = file_of(browser)["studies"]
    assert told["platform"]["id"] == PID
    assert [one["id"] for one in told["platform"]["submissions"]] == [SESSION]
    assert told["platform"]["messages"][0]["body"]["participant_id"] == PID
    assert told["code"] == rater(channel).code


def test_the_file_tells_no_system_arm_or_check() -> None:
    whole = build_whole_study("mine")
    annotator = whole.annotator
    annotator.assignments.filter(pk=whole.open_hit.pk).update(purpose="gold", arm="placebo:mine-variant")
    Annotator.objects.filter(pk=annotator.pk).update(
        block_reason="gold 1 of 5", exclusion_reason="failed the gold pairs", blocked_at=NOON
    )
    log(study=whole.study, kind=Event.Kind.EXCLUDED, annotator=annotator, reason="failed the gold pairs", at=NOON)
    text = json.dumps(file_of(browser_of(annotator.user))["studies"])
    for hidden in ("alpha", "beta", "placebo", "gold", "repeat", "mine-variant", "a_is_left", "seed", "verdict"):
        assert hidden not in text, hidden
    assert whole.study.slug not in text
    assert '"work_ended": true' in text


def test_a_repeated_hit_reads_like_any_other(ada: Annotator) -> None:
    first = ada.assignments.get()
    again = ada.assignments.create(
        hit=first.hit, purpose="repeat", repeat_of=first, attempt=2, state="submitted", submitted_at=NOON
    )
    hits = file_of(browser_of(ada.user))["studies"][0]["hits"]
    assert len(hits) == 2
    assert hits[0].keys() == hits[1].keys()
    assert first.key not in json.dumps(hits)
    assert again.key not in json.dumps(hits)


# Deleting


def test_a_rater_is_told_what_goes_and_deletes_it_with_a_second_press(ada: Annotator, study: Study) -> None:
    browser = browser_of(ada.user)
    at = f"/rate/consent/{study.key}/erase/"
    assert at in browser.get(f"/rate/consent/{study.key}/withdraw/").text
    page = browser.get(at).text
    assert "0.50 EUR" in page
    assert ada.code in page
    assert "You are signed out" in page
    assert browser.post(at).status_code == 422
    assert Rating.objects.count() == 2
    done = browser.post(at, {"confirm": "yes"})
    assert f'under the code <span class="nowrap">{ada.code}</span>' in done.text
    assert not User.objects.filter(username="ada").exists()
    assert Rating.objects.count() == 0
    assert browser.get("/rate/data/").status_code == 302  # signed out


def test_a_rater_of_two_studies_deletes_one_and_then_all(ada: Annotator, study: Study) -> None:
    other = make_study("other", question="And this?")
    make_batch(other)
    elsewhere = make_annotator(other, "ada")
    browser = browser_of(ada.user)
    assert "Your account: it is used for more than this study" in browser.get(f"/rate/consent/{study.key}/erase/").text
    left = browser.post(f"/rate/consent/{study.key}/erase/", {"confirm": "yes"}, follow=True)
    assert left.redirect_chain == [("/rate/data/", 302)]
    assert "deleted on" in left.text
    elsewhere.refresh_from_db()
    assert elsewhere.erased_at is None
    at = f"/rate/consent/{other.key}/withdraw/"
    browser.post(at, {"confirm": "yes"})
    assert f"/rate/consent/{other.key}/erase/" in browser.get(at).text  # offered after a withdrawal as well
    browser.post("/rate/data/erase/", {"confirm": "yes"})
    elsewhere.refresh_from_db()
    assert elsewhere.erased_at is not None
    assert not User.objects.filter(username="ada").exists()


def test_the_consent_page_says_how_long_data_are_kept(ada: Annotator, study: Study) -> None:
    browser = browser_of(ada.user)
    at = f"/rate/consent/{study.key}/"
    assert "days after the study has ended" not in browser.get(at).text
    Study.objects.filter(pk=study.pk).update(keep_personal_days=90)
    assert "90 days after the study has ended" in browser.get(at).text


def admin_of(study: Study) -> Client:
    return browser_of(make_user("boss", "study-admin", study=study))


@pytest.mark.parametrize(("keep_ratings", "left"), [("False", 0), ("True", 2)])
def test_a_study_admin_deletes_on_the_raters_page(ada: Annotator, study: Study, keep_ratings: str, left: int) -> None:
    boss = admin_of(study)
    at = f"/studies/study/raters/{ada.pk}/"
    assert boss.post(at, {"action": "erase", "erase-keep_ratings": keep_ratings}).status_code == 422
    assert User.objects.filter(username="ada").exists()
    told = boss.post(at, {"action": "erase", "erase-keep_ratings": keep_ratings, "erase-sure": "on"}, follow=True)
    assert told.status_code == 200
    assert "have been deleted" in told.text
    assert not User.objects.filter(username="ada").exists()
    assert Rating.objects.count() == left


def test_a_study_admin_reaches_no_other_study(ada: Annotator, study: Study) -> None:
    other = make_study("other")
    elsewhere = make_annotator(other, "ada")
    admin_of(study).post(
        f"/studies/study/raters/{ada.pk}/", {"action": "erase", "erase-keep_ratings": "False", "erase-sure": "on"}
    )
    elsewhere.refresh_from_db()
    assert elsewhere.erased_at is None
    assert User.objects.filter(username="ada").exists()


def test_the_log_says_that_data_were_deleted_and_not_whose(ada: Annotator, study: Study) -> None:
    erase_rater(annotator=ada, by=None, at=NOON)
    page = admin_of(study).get("/studies/study/log/").text
    assert "Personal data deleted" in page
    assert ada.code not in page
