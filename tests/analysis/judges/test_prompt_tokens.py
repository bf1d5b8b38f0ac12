"""Tokens that prompts should have, and prompts that were cut: windows, tokenizers, languages, repeated prompts."""

import numpy as np
import pytest

from analysis.errors import ShapeError
from analysis.judges.prompt_tokens import cut_prompts, expected_tokens

# Characters of a token, as large vocabularies and old ones have them.
PROSE, FORMULAS = (5.0, 4.2), (2.8, 2.2)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def characters(rng: np.random.Generator, n: int, *, low: int = 1200, high: int = 4000) -> np.ndarray:
    """Draw the lengths of prompts."""
    return rng.integers(low, high, n).astype(float)


def counted(rng: np.random.Generator, lengths: np.ndarray, per_token: tuple[float, float]) -> np.ndarray:
    """Count the tokens of prompts, each with its own ratio."""
    return np.round(lengths / rng.uniform(min(per_token), max(per_token), len(lengths))) + 8


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        pytest.param("word " * 20, 99 / 4, id="English"),
        pytest.param("слово " * 20, 119 / 4, id="Russian"),
        pytest.param("漢字" * 20, 20, id="Chinese"),
        pytest.param("a" + " " * 400 + "\n" * 80 + "b", 3 / 4, id="spaces"),
        pytest.param("", 0, id="nothing"),
    ],
)
def test_tokens_by_hand(text: str, tokens: float) -> None:
    assert expected_tokens(text) == tokens


def test_every_prompt_is_cut_to_the_same_window(rng: np.random.Generator) -> None:
    expected = characters(rng, 40) / 4
    assert cut_prompts(np.full(40, 100.0), expected).all()
    assert cut_prompts(np.full(3, 100.0), np.array([480.0, 490.0, 500.0])).all()
    assert cut_prompts(np.array([100.0]), np.array([490.0])).all()


@pytest.mark.parametrize("per_token", [(4.8, 4.4), (3.2, 2.9), (1.2, 1.1)], ids=["large", "old", "foreign"])
def test_prompts_beyond_a_window_are_cut_and_no_others(
    rng: np.random.Generator, per_token: tuple[float, float]
) -> None:
    lengths = characters(rng, 300, low=400, high=6000)
    whole = counted(rng, lengths, per_token)
    window = float(np.quantile(whole, 0.8))
    found = cut_prompts(np.minimum(whole, window), lengths / 4)
    np.testing.assert_array_equal(found, whole >= window)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 5, 60, 3000])
@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param([PROSE], id="prose"),
        pytest.param([PROSE, FORMULAS], id="prose and formulas"),
        pytest.param([FORMULAS, FORMULAS, FORMULAS, PROSE], id="mostly formulas"),
        pytest.param([(4.4, 3.6), (2.0, 1.2), PROSE], id="alphabets"),
        pytest.param([(0.6, 0.4), PROSE], id="an old vocabulary and other letters"),
        pytest.param([(9.0, 8.0)], id="a vocabulary of whole words"),
    ],
)
def test_ordinary_counts_raise_no_alarm(rng: np.random.Generator, kinds: list[tuple[float, float]], n: int) -> None:
    if n < 60 and kinds == [(9.0, 8.0)]:
        n = 60  # fewer can't be told from cut ones
    for _ in range(10):
        lengths = characters(rng, n)
        each = [counted(rng, lengths, kind) for kind in kinds]
        tokens = np.choose(rng.integers(0, len(kinds), n), each)
        assert not cut_prompts(tokens, lengths / 4).any()


def test_repeated_prompts_have_equal_counts_by_themselves(rng: np.random.Generator) -> None:
    lengths = np.repeat(characters(rng, 12), 10)
    tokens = np.repeat(counted(rng, lengths[::10], PROSE), 10)
    tokens[:10] = tokens[10:20]  # two prompts of other lengths that happen to have as many
    assert not cut_prompts(tokens, lengths / 4).any()


def test_order_makes_no_difference_and_nothing_has_no_cut_prompts(rng: np.random.Generator) -> None:
    lengths = characters(rng, 200, high=8000)
    tokens = np.minimum(counted(rng, lengths, PROSE), 1024)
    np.testing.assert_array_equal(cut_prompts(tokens[::-1], lengths[::-1]), cut_prompts(tokens, lengths)[::-1])
    assert cut_prompts(np.zeros(0), np.zeros(0)).shape == (0,)
    with pytest.raises(ShapeError):
        cut_prompts(np.zeros(2), np.zeros(3))
