"""What the page's script gets for a submitted HIT: the next one with the answer, or why there is none."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.allocation.claims import claim_hit
from annotation.annotators.consent import answer_consent
from annotation.models import Annotator, Assignment, Display, Rating, Slot, Study, VoteChange
from annotation.recruitment.channels import invitation_channel
from annotation.recruitment.invitations import invite
from annotation.studies.services import save_settings
from tests.annotation.rating.pages import HTMX
from tests.factories import make_annotator, make_batch, make_study, rate, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

CLAIMED, SUBMITTED = Assignment.State.CLAIMED, Assignment.State.SUBMITTED


@pytest.fixture
def study() -> Study:
    """Three HITs of one pair for one rater each."""
    study = make_study(instances=3, k=1)
    make_batch(study, pairs=1, raters=1)
    return study


@pytest.fixture
def annotator(study: Study) -> Annotator:
    return make_annotator(study)


@pytest.fixture
def browser(annotator: Annotator) -> Client:
    return signed_in(annotator)


def rated(annotator: Annotator) -> Assignment:
    """Claim a HIT and vote on its pairs."""
    assignment = claim_hit(annotator=annotator, at=timezone.now())
    rate(assignment, submit=False)
    return assignment


def submit(browser: Client, assignment: Assignment, **fields: str) -> Any:
    return browser.post(f"/rate/hit/{assignment.key}/submit/", fields, headers=HTMX)


def current(annotator: Annotator) -> Assignment:
    return annotator.assignments.get(state=CLAIMED)


def main_part(response: Any) -> str:
    """Return what lies in <main>, without what differs at each request and in scripts' names of fields."""
    text = re.search(r"<main.*</main>", response.text, re.DOTALL)
    differs = r'(csrfmiddlewaretoken" value|name="page" value|data-now)="[^"]*"|<span class="thanks">.*?</span>'
    shown = re.sub(differs, "", text[0])
    shown = re.sub(r'name="(choice|version)(-[^"]*" form="end-of-hit)?"', r"\1", shown)
    return re.sub(r"\s+", " ", shown)


def test_the_answer_is_the_next_hit_and_its_address(browser: Client, annotator: Annotator) -> None:
    done = rated(annotator)
    response = submit(browser, done)

    following = current(annotator)
    assert response.status_code == 200
    assert response.headers["HX-Push-Url"] == f"/rate/hit/{following.key}/"
    assert re.findall(r'action="/rate/hit/([^/]+)/submit/"', response.text) == [following.key]
    assert following.hit.matchup.instance.source in response.text
    assert "Submitted. Thank you!" in response.text
    assert "<title>" in response.text
    assert "<html" not in response.text
    assert following.displays.filter(shown_at=None).count() == 0
    done.refresh_from_db()
    assert done.state == SUBMITTED
    assert "no-store" in response.headers["Cache-Control"]
    assert main_part(response) == main_part(browser.get(response.headers["HX-Push-Url"]))  # what a visit shows


def test_submission_and_claim_are_one_transaction(
    browser: Client, annotator: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ends the claim undoes the submission too, which is sent again."""
    done = rated(annotator)
    browser.raise_request_exception = False
    with monkeypatch.context() as broken:
        broken.setattr("annotation.allocation.claims._start_in_slot", lambda *_args: 1 / 0)
        assert submit(browser, done).status_code == 500
    done.refresh_from_db()
    assert done.state == CLAIMED
    assert submit(browser, done).headers["HX-Push-Url"] == f"/rate/hit/{current(annotator).key}/"


def test_without_a_hit_the_answer_says_why(browser: Client, annotator: Annotator) -> None:
    for _ in range(3):
        response = submit(browser, rated(annotator))
    assert response.headers["HX-Push-Url"] == "/rate/"
    assert "Everything has been rated." in response.text
    assert "Submitted. Thank you!" in response.text
    assert "<html" not in response.text


def test_a_submission_sent_again_leads_on_and_changes_nothing(browser: Client, annotator: Annotator) -> None:
    done = rated(annotator)
    submit(browser, done)
    following, ratings = current(annotator), list(Rating.objects.values())
    submitted_at = Assignment.objects.get(pk=done.pk).submitted_at

    response = submit(browser, done)
    assert response.status_code == 200
    assert response.headers["HX-Push-Url"] == f"/rate/hit/{following.key}/"
    assert "This HIT was submitted before; nothing was changed." in response.text
    assert current(annotator) == following
    assert list(Rating.objects.values()) == ratings
    assert Assignment.objects.get(pk=done.pk).submitted_at == submitted_at


def test_hits_that_ran_out_are_freed_for_the_next_one(browser: Client, study: Study, annotator: Annotator) -> None:
    """Those of others, who hold all that is left; one's own is submitted late."""
    done = rated(annotator)
    Assignment.objects.filter(pk=done.pk).update(expires_at=timezone.now() - timedelta(minutes=1))
    for name in ("gone-1", "gone-2"):
        claim_hit(annotator=make_annotator(study, name), at=timezone.now() - timedelta(minutes=61))
    assert Slot.objects.free().count() == 0

    response = submit(browser, done)
    assert response.headers["HX-Push-Url"] == f"/rate/hit/{current(annotator).key}/"
    done.refresh_from_db()
    assert (done.state, done.late) == (SUBMITTED, True)


def test_another_study_that_comes_first_is_not_passed_by(browser: Client, study: Study, annotator: Annotator) -> None:
    done = rated(annotator)
    first = make_study("a-study-that-sorts-first")
    make_batch(first)
    make_annotator(first, "rater")
    expected = browser.get("/rate/").headers["Location"]
    assert expected == f"/rate/hit/{done.key}/"

    response = submit(browser, done)
    assert Assignment.objects.get(state=CLAIMED).annotator.study == first
    assert response.headers["HX-Push-Url"] == browser.get("/rate/").headers["Location"]


def test_a_new_consent_text_is_asked_for_before_the_hit_ends(
    browser: Client, study: Study, annotator: Annotator
) -> None:
    done = rated(annotator)
    save_settings(study=study, consent_text="Other words.", reason="The old ones were wrong.")
    response = submit(browser, done)
    assert (response.status_code, response.headers["X-Tandem-Wait"]) == (409, "consent")
    done.refresh_from_db()
    assert done.state == CLAIMED


def test_the_consent_question_of_the_next_study_is_opened_by_the_browser(browser: Client, annotator: Annotator) -> None:
    """A redirect would be followed by htmx, which puts its page into this one."""
    for _ in range(2):
        submit(browser, rated(annotator))
    other = make_study("other")
    make_batch(other)
    make_annotator(other, "rater", consent=False)
    response = submit(browser, rated(annotator))
    assert response.headers["HX-Redirect"] == f"/rate/consent/{other.key}/"
    assert "Location" not in response.headers


def test_a_qualification_leads_to_its_feedback(browser: Client, study: Study, annotator: Annotator) -> None:
    done = rated(annotator)
    Assignment.objects.filter(pk=done.pk).update(purpose=Assignment.Purpose.QUALIFICATION, attempt=1)
    Slot.objects.update(assignment=None)
    response = submit(browser, done)
    assert response.headers["HX-Redirect"] == f"/rate/hit/{done.key}/feedback/"
    assert "Location" not in response.headers


def test_closing_the_first_votes_shows_the_second_part(browser: Client, study: Study, annotator: Annotator) -> None:
    done = rated(annotator)
    Assignment.objects.filter(pk=done.pk).update(arm="none")
    response = browser.post(f"/rate/hit/{done.key}/lock/", headers=HTMX)
    assert response.status_code == 200
    assert 'id="stage"' in response.text
    assert "<html" not in response.text
    assert Display.objects.filter(second_shown_at=None).count() == 0


def waiting_vote(assignment: Assignment, choice: str = "left", **more: str) -> dict[str, str]:
    """Return the fields of a vote that goes with the submission of a HIT of one pair."""
    key = assignment.displays.get().pair.key
    fields = {"choice": choice, "version": "0", "active_seconds": "3", "wall_seconds": "4", **more}
    return {"page": "x", "times": f"{key}:3:4"} | {f"{name}-{key}": value for name, value in fields.items()}


def test_a_hit_of_one_pair_takes_18_statements_with_its_vote() -> None:
    study = make_study(instances=3, k=1)
    make_batch(study, pairs=1)
    [link] = invite(channel=invitation_channel(study=study), count=1, base_url="", at=timezone.now())
    annotator, browser = Annotator.objects.get(code=link.rater), Client()
    browser.post(link.link)
    answer_consent(annotator=annotator, accepted=True, at=timezone.now())
    browser.get("/rate/", follow=True)
    first = current(annotator)
    assert submit(browser, first, **waiting_vote(first)).status_code == 200
    second = current(annotator)
    vote = waiting_vote(second, "right")

    with CaptureQueriesContext(connection) as captured:
        answer = submit(browser, second, **vote)

    statements = [query["sql"] for query in captured if "SAVEPOINT" not in query["sql"]]
    assert len(statements) <= 18, "\n".join(statements)
    assert f"/rate/hit/{current(annotator).key}/" in answer.text
    second.refresh_from_db()
    assert second.state == Assignment.State.SUBMITTED
    rating = Rating.objects.get(display__assignment=second)
    assert (rating.choice, VoteChange.objects.count()) == ("right", 2)
