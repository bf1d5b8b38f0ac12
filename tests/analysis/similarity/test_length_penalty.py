"""The length penalty."""

import numpy as np
import pytest
from hypothesis import given

from analysis.similarity.registry import length_penalty, token_count
from tests.analysis.similarity.texts import ADVERSARIAL, lists_of_texts


def nltk_count(text):
    from nltk.tokenize import word_tokenize  # two seconds, as it loads scikit-learn: not in every worker's collection

    return len(word_tokenize(text, preserve_line=True))


@pytest.mark.parametrize("text", ADVERSARIAL)
def test_token_count_is_that_of_the_nltk_word_tokenizer(text):
    assert token_count(text) == nltk_count(text)


def test_length_penalty_by_hand():
    # "Stop, now!" has 4 tokens: Stop , now ! - so exp(1 - 4/1), exp(1 - 4/2) and exp(1 - 4/4).
    found = length_penalty(["Stop, now!"], ["one", "one two", "one two three four"])
    np.testing.assert_allclose(found, [[np.exp(-3), np.exp(-1), 1.0]])
    np.testing.assert_array_equal(length_penalty(["", "  "], ["", "word"]), [[1.0, 0.0], [1.0, 0.0]])
    assert length_penalty([], ["word"]).shape == (0, 1)


def test_golden_length_penalties_are_met(golden):
    for case in golden("measure_cases")["length_penalty"]:
        # The second list of characters is the longer one in some cases: only tokens may matter.
        short, long = " ".join(["x"] * case["tokens_a"]), " ".join(["somewhat"] * case["tokens_b"])
        assert length_penalty([short], [long])[0, 0] == pytest.approx(case["lp_paper"], abs=1e-12)


@pytest.mark.slow
@given(lists_of_texts, lists_of_texts)
def test_length_penalty_equals_the_plain_version(texts_a, texts_b):
    def plain(a, b):
        short, long = sorted([nltk_count(a), nltk_count(b)])
        return 1.0 if short == long else np.exp(1 - long / short) if short else 0.0

    expected = np.reshape([plain(a, b) for a in texts_a for b in texts_b], (len(texts_a), len(texts_b)))
    found = length_penalty(texts_a, texts_b)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(found, length_penalty(texts_b, texts_a).T)
    assert ((found >= 0) & (found <= 1)).all()
