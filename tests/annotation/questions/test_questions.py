"""Questions: the choices on offer, what they mean, and which further questions are refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.questions.questions import (
    CHOICES,
    MOST_QUESTIONS,
    Answer,
    BadQuestion,
    Question,
    checked_questions,
    choice_of,
    further_questions,
    without_wording,
)

COHERENCE = {"key": "coherence", "text": "Which one is more coherent?"}


def question(**changes: Any) -> Question:
    return Question(number=0, key="overall", text="Which one is better?", **changes)


@pytest.mark.parametrize(
    ("changes", "choices"),
    [
        ({}, ("left", "none", "right")),
        ({"ties_allowed": False}, ("left", "right")),
        ({"tie_kinds": True}, ("left", "both-good", "both-bad", "right")),
        ({"strength": True}, ("left-much", "left-slightly", "none", "right-slightly", "right-much")),
        (
            {"strength": True, "tie_kinds": True},
            ("left-much", "left-slightly", "both-good", "both-bad", "right-slightly", "right-much"),
        ),
        ({"strength": True, "ties_allowed": False}, ("left-much", "left-slightly", "right-slightly", "right-much")),
    ],
)
def test_the_choices_on_offer_run_from_left_to_right(changes: dict[str, bool], choices: tuple[str, ...]) -> None:
    asked = question(**changes)

    assert asked.choices == choices
    assert tuple(asked.labels("L", "R")) == choices
    assert len(set(asked.labels("L", "R").values())) == len(choices)


@given(st.sampled_from(sorted(CHOICES)))
def test_swapping_the_sides_turns_left_into_right_and_back(choice: str) -> None:
    answer = CHOICES[choice]

    assert choice_of(answer) == choice
    assert answer.swapped().swapped() == answer
    assert answer.strength is None or answer.verdict  # only a preference has a strength,
    assert not answer.tie_kind or not answer.verdict  # and only a tie a kind
    swapped = choice_of(answer.swapped())
    assert (CHOICES["left-much"], CHOICES["right-slightly"]) == (Answer(-1, 2), Answer(1, 1))
    words = {"left": "right", "right": "left"}
    side, *strength = choice.split("-")
    assert swapped == "-".join([words.get(side, side), *strength])


def test_a_further_question_is_stored_whole_and_numbered_from_one() -> None:
    stored = checked_questions([COHERENCE, {"key": "b", "text": " B?\r\n", "strength": True}], "overall")

    first, second = further_questions(stored)
    assert (first.number, first.key, first.ties_allowed, first.strength) == (1, "coherence", True, False)
    assert (second.number, second.text, second.strength) == (2, "B?", True)
    assert checked_questions(stored, "overall") == stored


def test_as_many_questions_as_a_pair_may_have() -> None:
    rows = [{"key": f"q{place}", "text": "?"} for place in range(MOST_QUESTIONS)]

    assert len(checked_questions(rows[:-1], "overall")) == MOST_QUESTIONS - 1
    with pytest.raises(BadQuestion, match="6 questions in all"):
        checked_questions(rows, "overall")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "must be a list"),
        (["coherence"], "Question 2: it must be an object"),
        ([{"key": "a", "text": "?", "colour": "red"}], "Question 2: it has no colour, but key, text"),
        ([{"text": "?"}], "Question 2: a key has small letters"),
        ([{"key": "Über", "text": "?"}], "a key has small letters"),
        ([{"key": "a.b", "text": "?"}], "a key has small letters"),
        ([{"key": "1a", "text": "?"}], "a key has small letters"),
        ([{"key": "a", "text": "  "}], "Question 2: a text is needed"),
        ([{"key": "a", "text": "x" * 301}], "text must be a text of at most 300 characters"),
        ([{"key": "a", "text": "\x00"}], "text must be a text"),
        ([{"key": "a", "text": "half a character: \ud800"}], "text must be a text"),
        ([{"key": "a", "text": ["?"]}], "text must be a text"),
        ([{"key": "a", "text": "?", "strength": 1}], "must be true or false"),
        ([{"key": "a", "text": "?", "tie_kinds": True, "ties_allowed": False}], "need “no preference”"),
        ([{"key": "overall", "text": "?"}], "Question 2: another question has the key overall"),
        ([COHERENCE, COHERENCE], "Question 3: another question has the key coherence"),
    ],
)
def test_a_question_that_cannot_be_asked_is_named(given: Any, problem: str) -> None:
    with pytest.raises(BadQuestion) as caught:
        checked_questions(given, "overall")

    assert problem in str(caught.value)


def test_votes_depend_on_all_but_the_words() -> None:
    stored = checked_questions([COHERENCE], "overall")
    reworded = checked_questions(
        [{**COHERENCE, "text": "Which reads better?", "description": "As a whole."}], "overall"
    )
    stronger = checked_questions([{**COHERENCE, "strength": True}], "overall")

    assert without_wording(stored) == without_wording(reworded)
    assert without_wording(stored) != without_wording(stronger)
