"""Sentence BLEU."""

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from analysis.similarity import bleu, counting
from analysis.similarity.bleu import pairwise_bleu
from tests.analysis.similarity.texts import ADVERSARIAL, lists_of_texts

pytestmark = pytest.mark.slow

LIBRARY = Tokenizer13a()


def library_tokens(text):
    return LIBRARY(text.rstrip()).split()


def library_bleu(texts_a, texts_b):
    def score(a, b):
        shorter, longer = sorted([a, b], key=lambda text: len(library_tokens(text)))
        return sacrebleu.sentence_bleu(shorter, [longer]).score / 100

    return np.reshape([score(a, b) for a in texts_a for b in texts_b], (len(texts_a), len(texts_b)))


def test_bleu_by_hand():
    # Shorter: the cat sat on a mat (6), longer: the cat sat on the old mat (7). In common: the cat sat on mat = 5 of 6
    # words, "the cat", "cat sat", "sat on" = 3 of 5 pairs, 2 of 4 triples, 1 of 3 quadruples; exp(1 - 7/6) for length.
    expected = np.exp(1 - 7 / 6) * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** (1 / 4)
    texts = ["the cat sat on a mat", "the cat sat on the old mat"]
    np.testing.assert_allclose(pairwise_bleu(texts, texts), [[1, expected], [expected, 1]])
    # 2 of 2 words and 1 of 1 pair; no triples: only the length counts, exp(1 - 3/2).
    np.testing.assert_allclose(pairwise_bleu(["a b"], ["a b c"]), [[np.exp(-0.5)]])
    # Papineni et al. 2002, §2.1: of seven "the", two are in the reference; "the the" is not, so 1/2 of 6, 1/4 of 5,
    # 1/8 of 4; both texts have seven words.
    found = pairwise_bleu(["the the the the the the the"], ["a cat is on the mat the"])
    np.testing.assert_allclose(found, [[(2 / 7 * 1 / 12 * 1 / 20 * 1 / 32) ** (1 / 4)]])


@pytest.mark.parametrize("text", ADVERSARIAL)
def test_tokens_are_those_of_the_library_for_adversarial_text(text):
    assert bleu.tokens(text) == library_tokens(text)


@given(st.text() | st.text(" a1.,-&;'\n\tm<skiped>lgtquo\u2028中", max_size=40))
def test_tokens_are_those_of_the_library(text):
    assert bleu.tokens(text) == library_tokens(text)


def test_bleu_equals_the_library_on_adversarial_texts():
    found = pairwise_bleu(ADVERSARIAL, ADVERSARIAL)
    np.testing.assert_allclose(found, library_bleu(ADVERSARIAL, ADVERSARIAL), atol=1e-9)


@given(lists_of_texts, lists_of_texts)
def test_bleu_equals_the_library(texts_a, texts_b):
    for others in (texts_b, texts_a):
        np.testing.assert_allclose(pairwise_bleu(texts_a, others), library_bleu(texts_a, others), atol=1e-9)


def test_bleu_in_blocks_equals_one_block(monkeypatch):
    whole = pairwise_bleu(ADVERSARIAL, ADVERSARIAL)
    monkeypatch.setattr(counting, "BLOCK", 100)
    np.testing.assert_array_equal(pairwise_bleu(ADVERSARIAL, ADVERSARIAL), whole)
