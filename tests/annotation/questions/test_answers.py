"""Answers to a study's questions, as the database holds them."""

import pytest
from django.db import IntegrityError, transaction

from annotation.models import Display, Rating
from tests.factories import claim, make_annotator, make_batch, make_study, rate

pytestmark = pytest.mark.django_db


def test_no_join_leads_from_a_display_to_its_answers() -> None:
    names = {field.name for field in Display._meta.get_fields()}

    assert names.isdisjoint({"rating", "ratings", "votechange", "changes"})


@pytest.fixture
def rated() -> Rating:
    """The answer to the main question of a study's only pair."""
    study = make_study(instances=1)
    make_batch(study, pairs=1)
    rate(claim(make_annotator(study)))
    return Rating.objects.for_question(0).get()


def test_answers_are_read_by_their_question(rated: Rating) -> None:
    Rating.objects.create(display=rated.display, verdict=1, question=2)

    assert [one.pk for one in Rating.objects.for_question(0)] == [rated.pk]
    assert Rating.objects.for_question(1).count() == 0
    assert Rating.objects.count() == 2


@pytest.mark.parametrize(
    "values",
    [
        {"question": 0},
        {"question": 1, "stage": "revised"},
        {"question": 1, "verdict": 0, "strength": 2},
        {"question": 1, "verdict": 1, "strength": 3},
        {"question": 1, "verdict": 1, "tie_kind": "good"},
        {"question": 1, "verdict": 0, "tie_kind": "ugly"[:4]},
    ],
)
def test_the_database_refuses_what_no_rater_can_mean(rated: Rating, values: dict[str, object]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Rating.objects.create(display=rated.display, **{"verdict": 1, **values})

    assert Rating.objects.count() == 1
