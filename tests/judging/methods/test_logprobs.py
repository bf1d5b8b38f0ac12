"""Probabilities of the letters and scores on offer: noise, spellings, letters that aren't listed, endpoints' forms."""

from typing import Any

import pytest

from analysis.types import Verdict
from judging.calls.cases import Case, Cell, StoredAnswer
from judging.core.errors import UnparsedVerdict
from judging.methods import Setting, find_method
from judging.methods.base import Presentation
from judging.methods.parsing.logprobs import bare, shares_at
from judging.methods.parsing.scores import read_score, weighted_score
from tests.judging.methods.procedures import play, token_reply

SHOWN = Presentation("summarization", "", "A talk.", "Short.", "Longer than that.", "i1")


def outcome(name: str, alternatives: Any) -> tuple[Verdict, float | None, float | None]:
    """Return what `token-preference` reads in an answer of one token: verdict, P(second) and the letters' mass."""
    found = play("token-preference", [token_reply((name, alternatives))]).outcome
    assert found is not None
    return found.verdict, found.p_second, found.token_mass


@pytest.mark.parametrize(
    ("name", "alternatives", "mass"),
    [
        pytest.param("<think>", {"<think>": 0.9999, "A": 1.7e-8}, 1.7e-8, id="thoughts"),
        pytest.param("\n", {"\n": 0.95, "B": 0.01}, 0.01, id="a new line"),
        pytest.param("A", {"The": 0.55, "A": 0.3, "B": 0.15}, 0.45, id="mostly something else"),
        pytest.param("The", {"The": 0.9, "That": 0.1}, 0.0, id="neither letter"),
    ],
)
def test_letters_with_less_than_half_of_the_probability_are_no_verdict(
    name: str, alternatives: dict[str, float], mass: float
) -> None:
    with pytest.raises(UnparsedVerdict) as unparsed:
        play("token-preference", [token_reply((name, alternatives))])
    assert unparsed.value.token_mass == pytest.approx(mass)
    method = find_method("token-preference")
    case = Case(Cell(1), method.ask(SHOWN, Setting()))  # type: ignore[attr-defined]
    while not case.ended:
        case.take(case.open_calls()[0], StoredAnswer("k", token_reply((name, alternatives))), paid=True)
    assert case.reading is not None
    assert (case.reading.status, case.reading.token_mass) == ("unparsed", pytest.approx(mass))


@pytest.mark.parametrize(
    ("name", "alternatives", "verdict", "p_second"),
    [
        pytest.param("a", {"a": 0.9, "b": 0.05, "A": 1e-4}, Verdict.A, 0.05 / 0.9501, id="small letters"),
        pytest.param(" B", {" B": 0.6, "B": 0.2, "A": 0.1, " a": 0.1}, Verdict.B, 0.8, id="spaces"),
        pytest.param("<0x42>", {"<0x42>": 0.8, "<0x41>": 0.2}, Verdict.B, 0.8, id="bytes of SentencePiece"),
        pytest.param("bytes:\\x42", {"bytes:\\x42": 0.8, "bytes:\\x41": 0.2}, Verdict.B, 0.8, id="bytes written out"),
        pytest.param("Ｂ", {"Ｂ": 0.8, "Ａ": 0.2}, Verdict.B, 0.8, id="full width"),
        pytest.param("▁B", {"▁B": 0.8, "ĠA": 0.2}, Verdict.B, 0.8, id="marks of tokenizers"),
    ],
)
def test_spellings_count_to_their_letter(
    name: str, alternatives: dict[str, float], verdict: Verdict, p_second: float
) -> None:
    found, p, mass = outcome(name, alternatives)
    assert (found, p, mass) == (verdict, pytest.approx(p_second), pytest.approx(sum(alternatives.values())))


@pytest.mark.parametrize(
    ("alternatives", "p_second"),
    [
        # The least of the alternatives is 0.001, and they leave 0.01.
        pytest.param({"A": 0.98, "The": 0.009, "So": 0.001}, 0.001 / 0.981, id="the least alternative"),
        pytest.param({"A": 0.9}, 0.1 / 1.0, id="what a single one leaves"),
        pytest.param({"A": 0.9, "The": 0.1}, 1e-6 / 0.900001, id="no more than rounding"),
    ],
)
def test_missing_letter_has_as_much_as_it_can_have(alternatives: dict[str, float], p_second: float) -> None:
    found, p, mass = outcome("A", alternatives)
    assert (found, p, mass) == (Verdict.A, pytest.approx(p_second), alternatives["A"])


@pytest.mark.parametrize(
    "alternatives",
    [
        pytest.param([], id="an empty list"),
        pytest.param(None, id="null"),
        pytest.param({"A": -0.1, "B": {}}, id="an object"),
        pytest.param([5, "A"], id="no objects"),
        pytest.param([{"token": "A", "logprob": None}], id="no numbers"),
        pytest.param([{"token": "A", "logprob": True}], id="a truth value"),
    ],
)
def test_alternatives_of_no_use_are_no_log_probabilities(alternatives: Any) -> None:
    assert (
        shares_at(token_reply(("A", alternatives)).response["choices"][0]["logprobs"]["content"][0], ("A", "B")) is None
    )
    with pytest.raises(UnparsedVerdict, match="no log-probabilities") as unparsed:
        play("token-preference", [token_reply(("A", alternatives))])
    assert unparsed.value.token_mass is None
    assert weighted_score(token_reply(("4", alternatives)), read_score("4")).token_mass is None


def test_probability_of_a_verdict_in_words_needs_half_of_the_mass() -> None:
    found = play("pairwise", [token_reply(("A", {"**": 0.6, "A": 0.3, "B": 0.1}))], logprobs=True).outcome
    assert found is not None
    assert (found.verdict, found.p_second, found.token_mass) == (Verdict.A, None, pytest.approx(0.4))


def test_score_counts_plainly_where_the_scores_have_less_than_half_of_the_mass() -> None:
    noise = token_reply(("4", {"Four": 0.6, "4": 0.2, "1": 0.2}))
    score = weighted_score(noise, read_score("4"))
    assert (score.value, score.token_mass) == (4.0, pytest.approx(0.4))
    clear = token_reply(("4", {"4": 0.6, "5": 0.3, "Four": 0.1}))
    found = play("pointwise", [clear, noise]).outcome
    assert found is not None
    assert (found.score_second, found.token_mass) == (4.0, pytest.approx(0.4))
    assert found.score_first == pytest.approx((4 * 0.6 + 5 * 0.3) / 0.9, abs=1e-5)


def test_bytes_that_are_no_text_are_kept_apart() -> None:
    assert bare("<0xE2><0x82><0xAC>") == "€"
    assert bare("<0xFF>") == "\ufffd"
    assert bare("<0x4>") == "0x4"
