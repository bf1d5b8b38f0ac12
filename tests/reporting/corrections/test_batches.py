"""A batch without votes is deleted, and one with votes is kept."""

import pytest

from annotation.allocation.claims import return_hit
from annotation.models import Assignment, Batch, Event, Flag, Hit, Slot
from tests.factories import NOON, claim, make_annotator, make_batch, make_study, rate
from tests.reporting.corrections.doors import DOORS, correct

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]

BATCH = {"batch": "pilot"}


@pytest.mark.parametrize("door", DOORS)
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


@pytest.mark.parametrize("door", DOORS)
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
