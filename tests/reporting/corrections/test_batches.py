"""A batch without votes is deleted, and one with votes is kept."""

from time import sleep

import pytest
from django.db import transaction

from annotation.allocation.claims import return_hit
from annotation.core.errors import AnnotationError
from annotation.hits.slots import release_expired
from annotation.models import Assignment, Batch, Event, Flag, Hit, Rating, Slot
from annotation.rating.votes import save_vote
from reporting.corrections.batches import DeleteBatch
from tests.annotation.allocation.test_races import LATER, together
from tests.factories import NOON, claim, make_annotator, make_batch, make_study, rate
from tests.reporting.corrections.doors import correct, each_door

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]

BATCH = {"batch": "pilot"}


@each_door
def test_a_batch_without_votes_is_deleted(door: str) -> None:
    study = make_study(instances=2)
    batch, other = make_batch(study, name="pilot"), make_batch(study, name="main", status="draft")
    assignment = claim(make_annotator(study))

    refused = correct(door, study, "delete-batch", BATCH)
    assert (refused.made, "1 HIT of batch pilot claimed now" in refused.text) == (False, True)
    return_hit(assignment=assignment, reason="other", comment="too long", at=NOON)
    Event.objects.create(study=study, kind=Event.Kind.LAUNCHED, batch=batch)
    assert correct(door, study, "delete-batch", BATCH, preview=True).effects == [
        *("2 HITs", "1 claim", "1 comment of raters")
    ]
    assert Batch.objects.count() == 2

    assert correct(door, study, "delete-batch", BATCH).made
    assert [*Batch.objects.all()] == [other]
    assert {*Hit.objects.values_list("batch", flat=True), *Slot.objects.values_list("batch", flat=True)} == {other.pk}
    assert not Assignment.objects.exists()
    assert study.events.filter(kind=Event.Kind.LAUNCHED, batch=None).exists()
    assert study.events.get(kind=Event.Kind.DELETED).changes == {"batch": "pilot", "HITs": 2}


@each_door
def test_a_batch_with_votes_is_kept(door: str) -> None:
    study = make_study(instances=1)
    make_batch(study, name="pilot")
    rate(claim(make_annotator(study)))

    refused = correct(door, study, "delete-batch", BATCH)
    assert (refused.made, "2 votes would be lost" in refused.text) == (False, True)
    assert Batch.objects.exists()


def test_a_batch_with_reports_of_raters_is_kept() -> None:
    study = make_study(instances=1)
    make_batch(study, name="pilot")
    assignment = claim(make_annotator(study))
    flag = Flag.objects.create(display=assignment.displays.all()[0], kind=Flag.Kind.HARMFUL, flagged_at=NOON)
    return_hit(assignment=assignment, reason="other", comment="", at=NOON)

    assert not correct("command", study, "delete-batch", BATCH).made
    flag.taken_back_at = NOON
    flag.save()
    assert correct("command", study, "delete-batch", BATCH).made


@pytest.mark.django_db(transaction=True)
def test_deleting_waits_for_a_vote_on_a_hidden_check() -> None:
    study = make_study(instances=1)
    batch = make_batch(study, name="pilot", raters=1)
    check = claim(make_annotator(study))
    release_expired(at=LATER)
    Slot.objects.all().delete()  # checks need none
    Assignment.objects.update(purpose=Assignment.Purpose.GOLD)
    key = check.displays.select_related("pair")[0].pair.key

    def vote() -> None:
        with transaction.atomic():
            save_vote(assignment=check, pair_key=key, choice="left", at=LATER)
            sleep(1)

    def delete() -> str:
        sleep(0.4)
        form = DeleteBatch({"batch": batch.name, "reason": ""}, study=study)
        assert form.is_valid()
        return form.run(by=None)

    _, deleted = together([vote, delete])

    assert isinstance(deleted, AnnotationError)
    assert Rating.objects.count() == 1
