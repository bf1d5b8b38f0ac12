"""One rater's page: what it tells, and what a study admin decides there."""

import pytest
from django.test import Client
from django.utils import timezone

from annotation.annotators.consent import withdraw
from annotation.models import Annotator, Assignment, Event, Message, Rating, Study
from annotation.monitoring.annotator_views import summary_of
from annotation.monitoring.batch_annotators import raters_of
from tests.factories import claim, make_annotator, make_batch, make_study, queries_of, rate, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def store() -> Study:
    study = make_study(instances=4, pay_per_hit="0.50", currency="EUR")
    make_batch(study, raters=2)
    return study


@pytest.fixture
def rater(study: Study) -> Annotator:
    rater = make_annotator(study)
    rate(claim(rater, timezone.now()), ["left", "none"], at=timezone.now())
    return rater


def at(rater: Annotator, more: str = "") -> str:
    return f"/studies/study/raters/{rater.pk}/{more}"


def decide(client: Client, rater: Annotator, action: str, assignment: Assignment | None = None, **fields: str) -> str:
    """Send one of the page's forms and return the page that follows."""
    sent = {"action": action, **{f"{action}-{name}": value for name, value in fields.items()}}
    response = client.post(at(rater), {**sent, **({"assignment": assignment.key} if assignment else {})}, follow=True)
    assert response.redirect_chain == [(at(rater), 302)]
    return response.text


def test_choices_on_translated_pages_are_counted_for_the_researcher(
    researcher: Client, study: Study, rater: Annotator
) -> None:
    latest = Rating.objects.latest("pk")
    Rating.objects.filter(pk=latest.pk).update(translated=True)
    assert summary_of(rater)["translated"] == 1
    [row] = raters_of(study.batches.get(), timezone.now())
    assert (row.votes.translated, row.as_json()["translated"]) == (1, 1)
    for page in (at(rater), f"/studies/study/batches/{study.batches.get().pk}/"):
        assert "translated" in researcher.get(page).text


def test_the_page_shows_a_raters_work_and_no_name(researcher: Client, study: Study, rater: Annotator) -> None:
    user = rater.user
    user.username, user.last_name = "jane.doe", "Doe"
    user.save()
    page = researcher.get(at(rater)).text

    assert rater.code in page
    assert "jane" not in page
    assert "Doe" not in page
    assert "(left 1)" in page
    assert "tie 1" in page
    assert "0.50 EUR" in page
    assert "submitted" in page
    assert 'name="action"' not in page  # a researcher decides nothing


def test_excluding_and_including_is_done_and_told(rater: Annotator, manager: Client) -> None:
    page = decide(manager, rater, "exclude", reason="Clicks <b>left</b>.", reopen="on")
    assert "1 slot is open again." in page
    assert "Clicks &lt;b&gt;left&lt;/b&gt;." in page
    rater.refresh_from_db()
    assert rater.excluded
    theirs = signed_in(rater).get("/rate/").text
    assert "Your work in this study has ended. Thank you." in theirs
    assert "Clicks" not in theirs

    page = decide(manager, rater, "include", reason="Was tired.")
    assert "1 HIT counts again." in page
    assert "Was tired." in page
    assert set(Event.objects.filter(annotator=rater).values_list("by__username", flat=True)) == {"manager"}


def test_a_hit_is_chosen_rejected_and_accepted_again(rater: Annotator, manager: Client) -> None:
    done = rater.assignments.get()
    page = manager.get(at(rater, f"?assignment={done.key}")).text
    assert "Reject this HIT" in page
    assert "Reject this HIT" not in manager.get(at(rater)).text

    assert "1 slot is open again." in decide(manager, rater, "reject", done, reason="Too quick.", reopen="on")
    assert "Accept this HIT again" in manager.get(at(rater, f"?assignment={done.key}")).text
    assert "1 HIT counts again." in decide(manager, rater, "accept", done)


def test_a_claim_is_released_and_a_block_lifted(rater: Annotator, manager: Client) -> None:
    held = claim(rater, timezone.now())
    assert "Release the HIT" in manager.get(at(rater)).text
    decide(manager, rater, "release", held)
    held.refresh_from_db()
    assert held.state == "expired"
    assert "Release the HIT" not in manager.get(at(rater)).text

    Annotator.objects.filter(pk=rater.pk).update(blocked_at=timezone.now(), block_reason="0.20 of 5")
    assert "0.20 of 5" in manager.get(at(rater)).text
    decide(manager, rater, "unblock")
    rater.refresh_from_db()
    assert rater.blocked_at is None


def test_a_message_is_sent_and_listed_until_it_is_read(rater: Annotator, manager: Client) -> None:
    page = decide(manager, rater, "message", text="Please <i>slowly</i>.")

    assert "Please &lt;i&gt;slowly&lt;/i&gt;." in page
    assert "not read yet" in page
    assert Message.objects.get().annotator == rater


@pytest.mark.parametrize(
    ("action", "fields", "kept"),
    [
        ("exclude", {"exclude-reason": "", "exclude-reopen": "on"}, "checked"),
        ("exclude", {"exclude-reason": "y" * 301}, "y" * 301),
        ("message", {"message-text": "z" * 1001}, "z" * 1001),
        ("message", {"message-text": " "}, "message-text"),
    ],
)
def test_a_form_that_lacks_something_keeps_what_was_filled_in(
    rater: Annotator, manager: Client, action: str, fields: dict[str, str], kept: str
) -> None:
    response = manager.post(at(rater), {"action": action, **fields})

    assert response.status_code == 422
    assert kept in response.text
    assert "errorlist" in response.text
    assert f'<details open id="{action}">' in response.text
    rater.refresh_from_db()
    assert not rater.excluded
    assert Message.objects.count() == 0


def test_what_cannot_be_decided_is_said_at_the_form(study: Study, rater: Annotator, manager: Client) -> None:
    done = rater.assignments.get()
    theirs = rate(claim(make_annotator(study, "other"), timezone.now()), at=timezone.now())
    sent = {"action": "reject", "assignment": theirs.key, "reject-reason": "x"}
    assert manager.post(at(rater), sent).status_code == 404  # another rater's HIT
    theirs.refresh_from_db()
    assert not theirs.excluded

    response = manager.post(at(rater), {"action": "release", "assignment": done.key})
    assert response.status_code == 409
    assert manager.post(at(rater), {"action": "burn"}).status_code == 422
    assert manager.post(at(rater), {"action": "accept", "assignment": "no\x00ne"}).status_code == 404


def test_a_rater_who_has_withdrawn_has_no_page(rater: Annotator, manager: Client) -> None:
    withdraw(annotator=rater, at=timezone.now())
    assert manager.get(at(rater)).status_code == 404


def test_the_page_takes_no_more_queries_for_more_work(study: Study, rater: Annotator, manager: Client) -> None:
    before = queries_of(lambda: manager.get(at(rater)))
    for _ in range(3):
        rate(claim(rater, timezone.now()), at=timezone.now())
    assert queries_of(lambda: manager.get(at(rater))) == before
