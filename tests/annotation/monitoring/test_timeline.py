"""Progress over time: steps that add up to the filled slots, and lines that stay in the picture."""

import re
from datetime import timedelta

import pytest
from django.test import Client

from annotation.models import Batch, Study
from annotation.monitoring.batch_annotators import glance_at, raters_of
from annotation.monitoring.batch_status import HEIGHT, WIDTH, timeline_of
from tests.factories import NOON, claim, make_annotator, make_batch, make_study, make_user, rate, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def store() -> Study:
    return make_study(instances=4)


@pytest.fixture
def batch(study: Study) -> Batch:
    batch = make_batch(study, raters=1)
    Batch.objects.update(launched_at=NOON)
    batch.refresh_from_db()
    return batch


def points(line: str) -> list[tuple[int, int]]:
    return [(int(x), int(y)) for x, y in (one.split(",") for one in line.split())]


def test_hours_add_up_and_lead_to_the_expected_end(study: Study, batch: Batch) -> None:
    assert timeline_of(batch, 4, None) is None
    rater = make_annotator(study)
    for hours in (0, 0, 2):
        at = NOON + timedelta(hours=hours, minutes=10)
        rate(claim(rater, at), at=at)

    finish = NOON + timedelta(hours=6)
    found = timeline_of(batch, 4, finish)

    assert found.steps == [(NOON, 2), (NOON + timedelta(hours=2), 3)]
    assert found.by_the_hour
    # Six hours are 600 wide: level at two of four slots (y = 60) from the first hour to the second.
    assert points(found.line) == [(0, 120), (0, 120), (100, 60), (200, 60), (300, 30)]
    assert points(found.expected) == [(300, 30), (WIDTH, 0)]


def test_an_end_within_the_hour_lies_to_the_right_of_what_is_done(study: Study, batch: Batch) -> None:
    rate(claim(make_annotator(study), NOON), at=NOON)
    found = timeline_of(batch, 4, NOON + timedelta(minutes=30))
    [(here, _), (there, height)] = points(found.expected)
    assert points(found.line)[-1] == points(found.expected)[0]
    assert (here <= there, height) == (True, 0)


def test_a_long_batch_is_shown_by_the_day(study: Study, batch: Batch) -> None:
    rater = make_annotator(study)
    for days in (0, 5):
        at = NOON + timedelta(days=days)
        rate(claim(rater, at), at=at)
    found = timeline_of(batch, 4, None)
    assert ([count for _at, count in found.steps], found.by_the_hour, found.expected) == ([1, 2], False, "")
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points(found.line))


def test_the_page_shows_the_picture_and_what_to_decide_first(study: Study, batch: Batch) -> None:
    manager: Client = signed_in(make_user("manager", "study-admin", study=study))
    rater = make_annotator(study)
    rate(claim(rater))
    claim(rater)
    study.annotators.update(warned_at=NOON)
    glance = glance_at(batch, raters_of(batch, NOON + timedelta(minutes=30)))
    assert (glance.raters, glance.at_work, glance.idle, glance.warned, glance.blocked) == (1, 0, 1, 1, 0)

    page = manager.get(f"/studies/study/batches/{batch.pk}/").text
    assert '<polyline class="filled"' in page
    assert "To decide" in page
    assert page.index("To decide") < page.index("Time and money")
    assert re.search(r"1 idle claim\s*</a>\s*<a [^>]*>\s*failed checks: 0 blocked, 1 warned\s*</a>", page)
    assert "0.0 h" not in page  # no vote of this HIT was timed
    assert "Yes, close it" in page
    assert 'value="open"' not in page
    draft = make_batch(study, name="later", status="draft")
    page = manager.get(f"/studies/study/batches/{draft.pk}/").text
    assert page.index(">Launch<") < page.index("Close…")
