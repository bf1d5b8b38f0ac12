"""The last HIT may be changed for two minutes, until the next one is submitted; it stays submitted and keeps its slot."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation.allocation.revision import PERIOD, is_revisable, last_revisable
from annotation.annotators.consent import withdraw
from annotation.annotators.participants import join
from annotation.core.errors import AssignmentClosed, Unacceptable
from annotation.models import Annotator, Assignment, Batch, Channel, Rating, Slot, Study, Submission, VoteChange
from annotation.quality.exclusion import exclude_annotator, reject_assignment
from annotation.rating.second_stage import reveal, save_second_vote
from annotation.rating.votes import lock_first_votes, save_vote, submit_assignment
from tests.annotation.quality.test_hidden_checks import studied
from tests.annotation.rating.pages import HTMX, Forms
from tests.annotation.rating.test_second_stage import REASON, two_stage
from tests.factories import NOON, claim, keys_of, make_annotator, make_batch, make_study, rate, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
SOON = NOON + PERIOD / 2


@pytest.fixture
def study() -> Study:
    study = make_study(instances=3, pay_per_hit="0.50", currency="EUR")
    make_batch(study, raters=1)
    return study


@pytest.fixture
def rater(study: Study) -> Annotator:
    return make_annotator(study)


def fresh(assignment: Assignment) -> Assignment:
    return Assignment.objects.select_related("annotator", "hit__batch__study").get(pk=assignment.pk)


def revise(assignment: Assignment, choice: str = "right", **settings: Any) -> Rating:
    wanted = {"at": SOON, "revises": True, **settings}
    return save_vote(assignment=fresh(assignment), pair_key=keys_of(assignment)[0], choice=choice, **wanted)


def choices_of(assignment: Assignment) -> list[str]:
    ratings = Rating.objects.for_question(0).filter(display__assignment=assignment, stage="first")
    return [one.choice for one in ratings.select_related("display").order_by("display__position")]


def state_of(assignment: Assignment) -> tuple[Any, ...]:
    stored = fresh(assignment)
    held = Slot.objects.filter(assignment=stored).values_list("pk", flat=True)
    return stored.state, stored.submitted_at, stored.expires_at, stored.late, stored.pay_due, list(held)


@pytest.mark.engine
def test_a_change_is_a_revision_and_leaves_the_hit_as_it_was(rater: Annotator) -> None:
    done = rate(claim(rater), "left")
    following = claim(rater)
    before = state_of(done)

    revise(done)

    assert choices_of(done) == ["right", "left"]
    changes = VoteChange.objects.for_question(0).filter(display__assignment=done, display__position=0).order_by("pk")
    assert [(one.received_at, one.late) for one in changes] == [(NOON, False), (SOON, False)]
    assert changes[0].verdict == -changes[1].verdict
    assert state_of(done) == before
    assert fresh(following).state == "claimed"
    assert Assignment.objects.counted().filter(pk=done.pk).exists()


def test_a_change_is_refused_after_two_minutes_and_once_the_next_one_is_submitted(rater: Annotator) -> None:
    done = rate(claim(rater), "left")
    with pytest.raises(AssignmentClosed):
        revise(done, revises=False)
    with pytest.raises(AssignmentClosed):
        revise(done, at=NOON + PERIOD)
    following = rate(claim(rater), "left", at=SOON - timedelta(seconds=1))
    with pytest.raises(AssignmentClosed):
        revise(done)
    revise(following)
    assert (choices_of(done), choices_of(following)) == (["left", "left"], ["right", "left"])
    assert VoteChange.objects.for_question(0).count() == 5


def shut_out(study: Study, done: Assignment, how: str) -> None:
    rater = fresh(done).annotator
    if how == "excluded":
        exclude_annotator(annotator=rater, reason="x", reopen=False, by=None, at=NOON)
    elif how == "rejected":
        reject_assignment(assignment=done, reason="x", reopen=False, by=None, at=NOON)
    elif how == "withdrawn":
        withdraw(annotator=rater, at=NOON)
    elif how == "blocked":
        Annotator.objects.update(blocked_at=NOON)
    elif how == "closed":
        Batch.objects.update(status="closed")
    elif how == "archived":
        Study.objects.update(archived_at=NOON)


@pytest.mark.parametrize("how", ["excluded", "rejected", "withdrawn", "blocked", "closed", "archived"])
def test_a_change_is_refused_where_work_has_ended(study: Study, rater: Annotator, how: str) -> None:
    done = rate(claim(rater), "left")
    Batch.objects.update(status="paused")  # which alone ends nothing
    assert last_revisable(rater.user_id or 0, SOON) == done
    revise(done)
    shut_out(study, done, how)
    assert last_revisable(rater.user_id or 0, SOON) is None
    with pytest.raises(AssignmentClosed):
        revise(done, "none")
    assert (state_of(done)[0], choices_of(done)) == ("submitted", ["right", "left"])


@pytest.mark.parametrize(
    ("state", "may"),
    [("started", True), ("completed", True), ("approved", False), ("rejected", False), ("returned", False)],
)
def test_a_platforms_decision_ends_it(study: Study, state: str, may: bool) -> None:
    channel = Channel.objects.create(study=study, kind="prolific", name="p", is_open=True)
    participant, _made = join(channel=channel, external_id="5f1a2b3c4d5e6f7a8b9c0d1e", at=NOON)
    rater = participant.annotator
    Submission.objects.create(channel=channel, participant=participant, external_id="old", state="approved")
    Submission.objects.create(channel=channel, participant=participant, external_id="new", state=state)
    assignment = Assignment(hit=study.batches.get().hits.first(), annotator=rater, state="submitted", submitted_at=NOON)
    assert is_revisable(assignment, SOON) is may


def test_a_qualification_is_never_changed() -> None:
    study = studied(instances=8, gold=1, qualification=1)
    rater = make_annotator(study)
    test = rate(claim(rater))
    assert (test.purpose, is_revisable(fresh(test), SOON)) == ("qualification", False)


def test_a_gold_hit_is_changed_as_any_other() -> None:
    study = studied(instances=8, gold=1)
    Batch.objects.filter(purpose="rating").update(gold_rate=0.5)
    raters = [make_annotator(study, f"r{number}") for number in range(12)]
    rater = next(one for one in raters if claim(one).purpose == "gold")
    done = rate(claim(rater), "left")
    revise(done)
    assert choices_of(done) == ["right", "left"]


def test_a_reason_that_is_too_short_is_refused(rater: Annotator) -> None:
    Study.objects.update(first_reason="required", first_reason_min_length=5)
    rater.study.refresh_from_db()
    hit = claim(rater)
    for key in hit.displays.values_list("pair__key", flat=True):
        save_vote(assignment=hit, pair_key=key, choice="left", reason="long enough", at=NOON)
    done = submit_assignment(assignment=hit, at=NOON)
    with pytest.raises(Unacceptable):
        revise(done, reason="no")
    revise(done, reason="another one")
    assert choices_of(done) == ["right", "left"]


def test_the_second_stage_is_changed_with_a_reason_and_the_first_stays_closed() -> None:
    rater = make_annotator(two_stage("table:c8"))
    hit = rate(claim(rater), "left", submit=False)
    lock_first_votes(assignment=hit, at=NOON)
    for key in keys_of(hit):
        reveal(assignment=fresh(hit), at=NOON)
        save_second_vote(assignment=fresh(hit), pair_key=key, choice="left", reason="", at=NOON)
    done = submit_assignment(assignment=fresh(hit), at=NOON)
    again = {"assignment": fresh(done), "pair_key": keys_of(done)[0], "choice": "right", "at": SOON}
    with pytest.raises(Unacceptable):
        save_second_vote(**again, reason="", revises=True)
    save_second_vote(**again, reason=REASON, revises=True)
    with pytest.raises(Exception, match="closed"):
        revise(done)
    changed = Rating.objects.for_question(0).get(display__assignment=done, display__position=0, stage="revised")
    assert (changed.choice, changed.reason, state_of(done)[0]) == ("right", REASON, "submitted")


# Pages


@pytest.fixture
def browser(rater: Annotator) -> Client:
    return signed_in(rater)


def submit_first(browser: Client, **headers: str) -> tuple[Assignment, Any]:
    address = browser.get("/rate/").headers["Location"]
    for key in Forms(browser.get(address).text).pairs:
        browser.post(f"{address}vote/", {"pair_key": key, "choice": "left"})
    answer = browser.post(f"{address}submit/", follow=not headers, headers=headers)
    return Assignment.objects.get(key=address.split("/")[-2]), answer


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
def test_the_next_page_leads_back_to_the_hit_and_on_again(
    browser: Client, study: Study, headers: dict[str, str]
) -> None:
    done, answer = submit_first(browser, **headers)
    again = f"/rate/hit/{done.key}/?again=1"
    assert again in answer.text
    assert again in browser.get("/rate/", follow=True).text

    page = browser.get(again)
    forms = Forms(page.text)
    assert {one["checked"] for one in forms.pairs.values()} == {"left"}
    assert page.text.count('name="again"') == len(forms.pairs) + 1  # and the form that leads back
    assert (forms.submits, "return/" in page.text, "flag/" in page.text) == (1, False, False)
    key = next(iter(forms.pairs))
    vote = {"pair_key": key, "choice": "right", "again": "1", "version": "1"}
    answer = browser.post(f"/rate/hit/{done.key}/vote/", vote, headers=headers)
    assert answer.status_code == (200 if headers else 302)
    assert headers or answer.headers["Location"] == f"{again}#pair-{key}"
    assert not headers or f'id="answer-{key}"' in answer.text
    assert choices_of(done) == ["right", "left"]

    back = browser.post(f"/rate/hit/{done.key}/submit/", {"again": "1"}, headers=headers, follow=not headers)
    claimed = Assignment.objects.get(state="claimed")
    assert f"/rate/hit/{claimed.key}/" in back.text
    assert Assignment.objects.filter(state="submitted").count() == 1


def test_a_page_without_scripts_saves_what_was_changed_on_the_way_back(browser: Client) -> None:
    done, _answer = submit_first(browser)
    keys = keys_of(done)
    fields = {"again": "1"} | {f"version-{key}": "1" for key in keys} | {f"choice-{key}": "none" for key in keys}
    assert browser.post(f"/rate/hit/{done.key}/submit/", fields).headers["Location"] == "/rate/"
    assert choices_of(done) == ["none", "none"]


def test_after_the_last_hit_the_page_leads_back_too(browser: Client, study: Study) -> None:
    Slot.objects.exclude(pk=Slot.objects.order_by("pk")[0].pk).delete()
    done, answer = submit_first(browser)
    assert f"/rate/hit/{done.key}/?again=1" in answer.text
    Assignment.objects.update(submitted_at=timezone.now() - PERIOD)
    assert "again=1" not in browser.get("/rate/").text
    late = browser.get(f"/rate/hit/{done.key}/?again=1")
    assert (late.status_code, late.headers["Location"]) == (302, "/rate/")
    vote = {"pair_key": keys_of(done)[0], "choice": "right", "again": "1"}
    assert browser.post(f"/rate/hit/{done.key}/vote/", vote, headers=HTMX).status_code == 409
    assert choices_of(done) == ["left", "left"]


def test_a_page_from_before_the_submission_changes_nothing(browser: Client) -> None:
    done, _answer = submit_first(browser)
    assert browser.get(f"/rate/hit/{done.key}/").headers["Location"] == "/rate/"
    vote = {"pair_key": keys_of(done)[0], "choice": "right"}
    assert browser.post(f"/rate/hit/{done.key}/vote/", vote, headers=HTMX).status_code == 409
    assert browser.post(f"/rate/hit/{done.key}/submit/").status_code == 409
    assert choices_of(done) == ["left", "left"]
