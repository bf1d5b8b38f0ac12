"""Bounds that hold whatever is asked for: caps after a HIT ran out, slots of a request, numbers of a plan, admin's hands off."""

import itertools
from datetime import timedelta

import pytest
from django.test import Client

from annotation.batches import services
from annotation.batches.changes import extend_batch
from annotation.batches.services import set_batch_status
from annotation.core.errors import InvalidSelection
from annotation.hits.slots import make_slots, release_expired
from annotation.models import Batch, Slot, Study
from annotation.planning.forms import PlanForm
from annotation.rating.votes import submit_assignment
from tests.factories import NOON, claim, make_annotator, make_batch, make_study, make_user, rate

pytestmark = [pytest.mark.django_db, pytest.mark.engine]

LATER = NOON + timedelta(minutes=61)


# A HIT whose time ran out


def test_a_hit_that_ran_out_takes_no_slot_of_a_batch_that_was_closed_meanwhile() -> None:
    study = make_study(instances=2)
    batch = make_batch(study)
    assignment = rate(claim(make_annotator(study)), submit=False)
    release_expired(at=LATER)
    set_batch_status(batch=batch, status="closed")

    done = submit_assignment(assignment=assignment, at=LATER)

    assert (done.state, done.late) == ("submitted", True)
    assert not Slot.objects.exclude(assignment=None).exists()


def test_a_claim_that_holds_is_finished_after_the_batch_was_closed() -> None:
    study = make_study(instances=2)
    batch = make_batch(study)
    assignment = rate(claim(make_annotator(study)), submit=False)
    set_batch_status(batch=batch, status="closed")

    submit_assignment(assignment=assignment, at=NOON)

    assert Slot.objects.exclude(assignment=None).count() == 1


@pytest.mark.slow
def test_a_hit_that_ran_out_does_not_come_on_top_of_the_cap() -> None:
    study = make_study(instances=3, most_hits_per_rater=1)
    first = make_batch(study, select="ids", instance_ids=["news-1"])
    annotator = make_annotator(study)
    old = rate(claim(annotator), submit=False)
    release_expired(at=LATER)
    set_batch_status(batch=first, status="paused")
    make_batch(study, name="second", select="ids", instance_ids=["news-2"])
    rate(claim(annotator, LATER), at=LATER)
    set_batch_status(batch=first, status="open")

    submit_assignment(assignment=old, at=LATER)

    assert Slot.objects.exclude(assignment=None).count() == 1


# Slots


def test_a_request_makes_a_bounded_number_of_slots_and_a_command_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MOST_SLOTS", 6)
    study = make_study(instances=3)
    admin = make_user("lead")

    with pytest.raises(InvalidSelection, match="9 slots"):
        make_batch(study, raters=3, by=admin)
    assert not Batch.objects.exists()
    batch = make_batch(study, raters=2, by=admin)
    with pytest.raises(InvalidSelection, match="9 slots"):
        extend_batch(batch=batch, more_raters=3, reason="more", by=admin)
    assert Slot.objects.count() == 6
    extend_batch(batch=batch, more_raters=3, reason="more", by=None)
    assert Slot.objects.count() == 15


def test_slots_are_made_for_the_hits_that_are_named_and_no_others() -> None:
    study = make_study(instances=5)
    batch = make_batch(study, raters=1)
    hits = list(batch.hits.order_by("pk"))
    chosen = [hits[0], hits[1], hits[3]]

    make_slots(batch=batch, hits=chosen, numbers=(2, 3))

    made = set(Slot.objects.filter(number__gt=1).values_list("hit", "batch", "position", "number", "arm"))
    assert made == {(hit.pk, batch.pk, hit.position, number, "") for hit, number in itertools.product(chosen, (2, 3))}


# Plans


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("width", "1e-300"), ("width", "nan"), ("level", "0.9999999999999999"), ("level", "1e-300")),
        *(("pay_per_hit", "1e308"), ("minutes_per_hit", "inf"), ("judges", "1" + "0" * 400), ("cost_per_call", "-1")),
    ],
)
def test_absurd_numbers_make_no_plan(name: str, value: str) -> None:
    assert set(PlanForm({"width": "0.1", name: value}, study=make_study()).errors) == {name}


# Settings


@pytest.mark.any_engine
def test_arms_that_are_no_texts_are_refused_by_the_api(client: Client) -> None:
    study = make_study()
    client.force_login(make_user("lead", "study-admin", study=study))

    answer = client.patch(f"/api/v1/studies/{study.slug}/", {"arms": [1, None]}, content_type="application/json")

    assert answer.status_code in (400, 422)
    assert Study.objects.get().arms == []
