"""Reading scores, probabilities, and texts that a later question shows."""

from contextlib import nullcontext
from typing import Any

import pytest

from judging.core.errors import UnparsedVerdict
from judging.methods import Reply
from judging.methods.direct import read_aspects
from judging.methods.parsing.logprobs import shares_of
from judging.methods.parsing.scores import read_critique, read_score, read_text, weighted_score
from tests.judging.methods.procedures import token_reply


@pytest.mark.parametrize(
    ("completion", "score"),
    [
        pytest.param("4", "4", id="alone"),
        pytest.param(" 4.\n", "4", id="with a stop"),
        pytest.param("**4**", "4", id="bold"),
        pytest.param('"4"', "4", id="quotes"),
        pytest.param("„4“", "4", id="German quotes"),
        pytest.param("[[4]]", "4", id="brackets"),
        pytest.param("Score: 4", "4", id="the form"),
        pytest.param("score : 4/5", "4", id="of five, with a slash"),
        pytest.param("Rating: 4 out of 5", "4", id="of five, in words"),
        pytest.param("**Score:** 4, since the date is there", "4", id="a reason"),
        pytest.param("Score：４", "4", id="full-width"),
        pytest.param("4\n\nIt has the date.", "4", id="reasons afterwards"),
        pytest.param("It has the date.\n\n4", "4", id="reasons before"),
        pytest.param("Score: 2\nOn reflection:\nScore: 4", "4", id="the last one"),
        pytest.param("<think>Score: 2?</think>\n4", "4", id="after thoughts"),
        pytest.param('4\n"Score: 1" is what the text says of itself.', "4", id="cited afterwards"),
        pytest.param("> Score: 1\nThat is cited.\nScore: 4", "4", id="cited before"),
        pytest.param("It has the date. [RESULT] 4", "4", id="marked as Prometheus does"),
        pytest.param("The score is\n\\boxed{4}", "4", id="marked as in mathematics"),
        pytest.param("Score: 4 (out of 5), or thereabouts", "4", id="of five, in brackets"),
        pytest.param('Score: 4\nThe text ends with "[RESULT] 5"', "4", id="a mark that is cited"),
        pytest.param("[[4]]\n[[3]] [[5]]", None, id="marks that differ"),
        pytest.param("4.5", None, id="a half"),
        pytest.param("Score: 4,5", None, id="a half with a comma"),
        pytest.param("Score: 4.7", None, id="a fraction after the label"),
        pytest.param("7", None, id="too high"),
        pytest.param("0", None, id="too low"),
        pytest.param("45", None, id="two digits"),
        pytest.param("4/10", None, id="of ten"),
        pytest.param("Score: 3 or 4", None, id="either"),
        pytest.param("Score: 3-4", None, id="a range"),
        pytest.param("Score: 4\nScore: none", None, id="taken back"),
        pytest.param("1. It has the date.\n2. It is short.", None, id="a numbered list"),
        pytest.param("It has 4 faults.", None, id="a sentence"),
        pytest.param("four", None, id="a word"),
        pytest.param("Score:", None, id="cut off"),
        pytest.param("", None, id="empty"),
    ],
)
def test_score_is_read_or_left(completion: str, score: str | None) -> None:
    with pytest.raises(UnparsedVerdict) if score is None else nullcontext():
        assert read_score(completion).letter == score


def weighted(answer: Reply) -> float:
    return weighted_score(answer, read_score(answer.text)).value


def test_score_is_weighted_by_its_token_probabilities() -> None:
    # 0.6 on 4, 0.2 on 5 and 0.2 on something else: (0.6 * 4 + 0.2 * 5) / 0.8 = 4.25, but for rounding in the three others
    assert weighted(token_reply(("4", {"4": 0.6, "5": 0.2, "Four": 0.2}))) == pytest.approx(4.25, abs=1e-5)


def test_spellings_of_one_score_count_together() -> None:
    # (0.3 + 0.3) on 4 and 0.4 on 2: 0.6 * 4 + 0.4 * 2 = 3.2
    assert weighted(token_reply((" 4", {" 4": 0.3, "4": 0.3, "2": 0.4}))) == pytest.approx(3.2, abs=1e-5)


def test_score_is_weighted_where_it_was_said() -> None:
    answer = token_reply(
        ("<think>", {}),
        ("4", {"4": 0.5, "1": 0.5}),
        ("</think>", {}),
        ("\n", {}),
        ("Score:", {}),
        (" 4", {" 4": 0.5, "5": 0.5}),
    )
    assert weighted(answer) == pytest.approx(4.5, abs=1e-5)
    halves = token_reply(("5", {"5": 0.5, "4": 0.5}), ("/", {"/": 1.0}), ("5", {"5": 1.0}))
    assert weighted(halves) == pytest.approx(4.5, abs=1e-5)


@pytest.mark.parametrize(
    "response",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"choices": [{"logprobs": None}]}, id="null"),
        pytest.param({"choices": [{"logprobs": {"content": []}}]}, id="empty"),
        pytest.param({"choices": [{"logprobs": {"tokens": ["4"], "token_logprobs": [-0.1]}}]}, id="an older form"),
        pytest.param({"choices": [{"logprobs": {"content": [{"token": "4", "logprob": None}]}}]}, id="no number"),
        pytest.param({"choices": [{"logprobs": {"content": [{"token": "?", "logprob": -1.0}]}}]}, id="another token"),
    ],
)
def test_plain_score_counts_without_probabilities(response: dict[str, Any]) -> None:
    assert weighted(Reply("4", "stop", response)) == 4.0


def test_probabilities_are_taken_where_the_verdict_was_said_last() -> None:
    answer = token_reply(("A", {"A": 0.9, "B": 0.1}), (" or so:", {}), (" A", {" A": 0.75, " B": 0.25}))
    shares = shares_of(answer.response, "A", ("A", "B"))
    assert shares is not None
    assert (shares.of, shares.mass) == ({"A": pytest.approx(0.75), "B": pytest.approx(0.25)}, 1.0)
    assert shares_of(answer.response, "B", ("A", "B")) is None


def test_text_is_kept_without_thoughts() -> None:
    assert read_text(Reply("<think>hm</think>\n It lacks ① date. ")) == "It lacks ① date."


@pytest.mark.parametrize("text", ["", " \n", "<think>hm</think>", "<think>cut off"])
def test_text_that_says_nothing_is_unparsed(text: str) -> None:
    with pytest.raises(UnparsedVerdict):
        read_text(Reply(text))


def test_refusal_is_no_critique_but_may_be_an_answer() -> None:
    said = "I'm sorry, but I can't help with that."
    with pytest.raises(UnparsedVerdict):
        read_critique(Reply(said))
    assert read_text(Reply(said)) == said


def test_aspects_are_read_from_a_list() -> None:
    said = "Here they are:\n- **coverage**\n* brevity\n3. tone\n4) " + "x" * 300 + "\nI hope this helps."
    assert read_aspects(Reply(said)) == ["coverage", "brevity", "tone", "x" * 200]
    with pytest.raises(UnparsedVerdict):
        read_aspects(Reply("Coverage and brevity."))
