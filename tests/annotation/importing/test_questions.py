"""Ratings of several questions, with strengths and kinds of ties, from a file."""

from typing import Any

import pytest

from annotation.core.errors import BadFile
from annotation.importing.rating_files import import_ratings
from annotation.importing.ratings import StoredRatings
from annotation.models import Rating, Study
from annotation.questions.questions import Answer
from tests.annotation.importing.test_rating_files import line
from tests.factories import ask_more, criterion, json_lines, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(db: None) -> Study:
    """A study that asks how much one is better, and what is more fluent and more detailed."""
    further = (criterion("fluency", tie_kinds=True), criterion("detail"))
    return ask_more(make_study(instances=2), *further, strength=True)


def load(*records: dict[str, Any]) -> StoredRatings:
    return import_ratings(data=json_lines(records), name="f.jsonl", slug="study")[1]


def refused(*records: dict[str, Any]) -> str:
    with pytest.raises(BadFile) as caught:
        load(*records)
    (problem,) = caught.value.lines
    return problem.text


def stored() -> dict[int, Answer]:
    return {one.question: one.answer for one in Rating.objects.all()}


def test_answers_are_stored_under_their_questions(study: Study) -> None:
    found = load(
        line(strength=2, reason="clearer", active_seconds=3),
        line(question="fluency", rating=0, tie_kind="good"),
        line(question="detail", rating=1, strength="", tie_kind=""),
    )
    assert found.added == 3
    assert stored() == {0: Answer(-1, 2), 1: Answer(0, tie_kind="good"), 2: Answer(1)}
    assert study.batches.get().pairs_per_hit == 1


def test_an_empty_question_is_the_main_one_and_an_empty_strength_unknown(study: Study) -> None:
    load(line(question="", strength=None), line(question="overall", pair_index=1, strength="1"))
    assert {one.answer for one in Rating.objects.for_question(0)} == {Answer(-1), Answer(-1, 1)}
    load(line(rater="r2", system_a="beta", system_b="alpha", strength=2))
    assert Rating.objects.latest("pk").answer == Answer(1, 2)  # turned, with its strength


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"question": "speed"}, "question is 'speed'; study study asks overall, fluency, detail: "),
        ({"strength": 3}, "strength is '3'; it must be 1 or 2, or empty where it is not known"),
        ({"strength": 2, "rating": 0}, "strength is 2 with rating 0; leave it empty where neither is preferred"),
        ({"tie_kind": "good", "question": "fluency"}, "tie_kind is 'good' with rating -1; leave it empty there"),
        ({"tie_kind": "ugly"}, "tie_kind is 'ugly'; it must be good, bad or empty"),
        ({"tie_kind": "bad", "rating": 0}, "tie_kind is 'bad', which overall does not ask for: set tie_kinds"),
        ({"strength": 1, "question": "detail"}, "strength is 1, which detail does not ask for: set strength of detail"),
        ({"stage": "revised", "question": "detail"}, "stage is revised with question detail; only overall is asked"),
        ({"active_seconds": 2, "question": "detail"}, "reason and seconds are about the whole pair"),
    ],
)
def test_a_line_that_does_not_fit_says_what_to_do(study: Study, changes: dict[str, Any], told: str) -> None:
    assert refused(line(**changes)).startswith(told)
    assert stored() == {}


def test_a_study_that_asks_for_none_refuses_strengths_and_names_the_setting() -> None:
    make_study()
    assert "does not ask for: set strength, or leave it empty" in refused(line(strength=1))
    assert "(setting criteria)" in refused(line(question="fluency"))
    assert load(line(question="overall", strength="", tie_kind="")).added == 1


@pytest.mark.slow
def test_answers_contradict_each_other_by_question_only(study: Study) -> None:
    load(line(strength=2), line(question="detail", rating=1))
    again = load(line(strength=2), line(question="detail", rating=1), line(question="fluency"))
    assert (again.added, again.unchanged) == (1, 2)
    other = "rater r1 has another rating of this pair in the study already"
    assert refused(line(strength=1)) == f"{other}, with strength 2, not strength 1; what is stored stays as it is"
    assert refused(line(rating=1, strength=2)) == other
    assert refused(line(question="detail", rating=0)) == other
    twice = (line(question="detail", pair_index=1), line(question="detail", pair_index=1, rating=0))
    assert refused(*twice) == "rater r1 rated this pair, and the same question, on line 1 already"
    assert refused(line(question="detail", pair_index=1), line(pair_index=1, shown_first="b")) == (
        "rater r1 was shown the other text first on line 1"
    )


def test_a_strength_or_kind_is_not_filled_in_later(study: Study) -> None:
    load(line(), line(question="fluency", rating=0))
    assert "with strength unknown, not strength 2" in refused(line(strength=2))
    told = refused(line(question="fluency", rating=0, tie_kind="good"))
    assert "with tie_kind unknown, not tie_kind good" in told
