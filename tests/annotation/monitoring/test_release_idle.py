"""Releasing every idle claim of a batch: who counts as idle, what becomes of their work, and who keeps theirs."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation.core.errors import AnnotationError
from annotation.hits.idle import idle_claims
from annotation.models import Annotator, Assignment, Batch, Slot, Study
from annotation.monitoring import batch_views
from annotation.quality import exclusion
from annotation.quality.exclusion import release_idle
from annotation.rating.votes import save_vote, submit_assignment
from tests.annotation.allocation.test_races import together
from tests.factories import NOON, claim, make_annotator, make_batch, make_study, make_user, output_of, rate

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]
TEN = timedelta(minutes=10)
LATER = NOON + TEN


@pytest.fixture
def study() -> Study:
    return make_study(instances=4)


@pytest.fixture
def batch(study: Study) -> Batch:
    return make_batch(study, raters=1)


def vote(assignment: Assignment, at: Any) -> None:
    display = assignment.displays.first()
    save_vote(assignment=assignment, pair_key=display.pair.key, choice="right", at=at)


def release(batch: Batch, at: Any = LATER, **given: Any) -> int:
    return release_idle(**{"batch": batch, "after": TEN, "by": None, "at": at, **given})


def test_every_idle_claim_of_the_batch_is_released_and_no_other(batch: Batch) -> None:
    idle = [claim(make_annotator(batch.study, f"idle {number}")) for number in range(2)]
    late = claim(make_annotator(batch.study, "late"), NOON + timedelta(minutes=1))
    voting = claim(make_annotator(batch.study, "voting"))
    vote(voting, NOON + timedelta(minutes=5))
    other = make_batch(batch.study, name="other", raters=2)

    assert [one.assignment for one in idle_claims(batch, LATER)] == idle
    assert release(other) == 0
    assert release(batch) == 2

    states = dict(Assignment.objects.values_list("annotator__user__username", "state"))
    assert states == {"idle 0": "expired", "idle 1": "expired", "late": "claimed", "voting": "claimed"}
    assert set(Slot.objects.filter(batch=batch).exclude(assignment=None).values_list("assignment", flat=True)) == {
        late.pk,
        voting.pk,
    }


def test_opened_pair_is_activity(batch: Batch) -> None:
    held = claim(make_annotator(batch.study))
    held.displays.update(shown_at=NOON + timedelta(seconds=1))

    assert release(batch) == 0
    assert release(batch, LATER + timedelta(seconds=1)) == 1


def test_each_release_is_in_the_log_with_who_why_and_how_long(batch: Batch) -> None:
    manager = make_user("manager", "study-admin", study=batch.study)
    held = [claim(make_annotator(batch.study, f"idle {number}")) for number in range(2)]

    release(batch, NOON + timedelta(minutes=25), reason="The batch has to end.", by=manager)

    events = batch.study.events.filter(kind="released")
    assert {event.assignment for event in events} == set(held)
    assert {(event.by, event.reason, event.batch, event.changes["idle_minutes"]) for event in events} == {
        (manager, "The batch has to end.", batch, 25)
    }


@pytest.mark.parametrize("meanwhile", ["vote", "submit", "withdraw"])
def test_who_acts_while_the_others_are_released_keeps_the_hit(
    batch: Batch, meanwhile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = claim(make_annotator(batch.study, "first"))
    second = rate(claim(make_annotator(batch.study, "second")), submit=False)
    at, single = NOON + timedelta(minutes=20), exclusion.release_claim

    def release_and_act(*, assignment: Assignment, **given: Any) -> exclusion.Effect:
        if assignment == second:
            if meanwhile == "vote":
                vote(second, at)
            elif meanwhile == "submit":
                submit_assignment(assignment=second, at=at)
            else:
                Annotator.objects.filter(pk=second.annotator_id).update(withdrawn_at=at)
        return single(assignment=assignment, **given)

    monkeypatch.setattr(exclusion, "release_claim", release_and_act)

    assert release(batch, at) == 1

    first.refresh_from_db()
    second.refresh_from_db()
    assert first.state == "expired"
    assert second.state == ("submitted" if meanwhile == "submit" else "claimed")
    assert Slot.objects.filter(assignment=second).exists()


@pytest.mark.django_db(transaction=True)
def test_release_and_submission_at_one_moment_leave_one_place_and_no_lost_work() -> None:
    batch = make_batch(make_study(instances=1), raters=1)
    held = rate(claim(make_annotator(batch.study)), submit=False)
    at = NOON + timedelta(minutes=20)

    together([lambda: release(batch, at), lambda: submit_assignment(assignment=held, at=at)])

    assert Assignment.objects.counted().get() == held
    assert Slot.objects.get().assignment == held


# The page


def address(batch: Batch) -> str:
    return f"/studies/{batch.study.slug}/batches/{batch.pk}/idle/"


def idle_for(batch: Batch, name: str, minutes: int) -> Assignment:
    return claim(make_annotator(batch.study, name), timezone.now() - timedelta(minutes=minutes))


@pytest.mark.any_engine
def test_page_lists_who_is_idle_says_what_that_is_and_releases_on_confirmation(batch: Batch, manager: Client) -> None:
    long, short = idle_for(batch, "long", 45), idle_for(batch, "short", 12)
    assert address(batch) in manager.get(f"/studies/{batch.study.slug}/batches/{batch.pk}/").content.decode()

    page = manager.get(address(batch)).content.decode()
    assert "for at least 10 minutes" in page
    assert long.annotator.code in page
    assert short.annotator.code in page
    page = manager.get(address(batch), {"minutes": "30"}).content.decode()
    assert "for at least 30 minutes" in page
    assert short.annotator.code not in page
    assert manager.get(address(batch), {"minutes": "9"}).status_code == 422
    assert Assignment.objects.claimed().count() == 2

    page = manager.post(address(batch), {"minutes": "30", "reason": ""}, follow=True).content.decode()
    assert "1 HIT was released." in page
    assert Assignment.objects.claimed().get() == short


@pytest.mark.any_engine
def test_page_shows_a_refusal_at_its_form(batch: Batch, manager: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_settings: Any) -> int:
        raise AnnotationError("not now")

    monkeypatch.setattr(batch_views, "release_idle", refuse)
    refused = manager.post(address(batch), {"minutes": "30", "reason": "kept"})
    assert (refused.status_code, refused.context["form"].non_field_errors()) == (422, ["not now"])
    assert refused.context["form"]["reason"].value() == "kept"


# The command


def run(study: Study, *options: str) -> str:
    return output_of("release_idle", study.slug, "--batch", "batch", *options)


@pytest.mark.any_engine
def test_command_lists_and_releases(batch: Batch) -> None:
    held = idle_for(batch, "idle", 45)

    assert f"{held.annotator.code}: idle for 45 min" in run(batch.study, "--dry-run")
    assert Assignment.objects.claimed().exists()
    told = json.loads(run(batch.study, "--format", "json", "--minutes", "40", "--reason", "It has to end."))
    assert told == {
        "batch": "batch",
        "idle": [{"rater": held.annotator.code, "assignment": held.key, "idle_minutes": 45}],
        "released": 1,
    }
    assert "0 claims idle, 0 released" in run(batch.study)
    assert batch.study.events.get(kind="released").reason == "It has to end."
