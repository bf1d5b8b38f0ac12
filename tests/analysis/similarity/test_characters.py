"""Exact match, the Jaccard index of character n-grams, and chrF."""

import numpy as np
import pytest
import sacrebleu
from hypothesis import given

from analysis.similarity.characters import pairwise_chargrams, pairwise_chrf, pairwise_exact
from tests.analysis.similarity.texts import ADVERSARIAL, lists_of_texts

pytestmark = pytest.mark.slow


def test_exact_match_by_hand():
    found = pairwise_exact(
        ["yes", "caf\u00e9 ", "", "a b"], ["yes", "Yes", "yes.", "cafe\u0301", "\n", "a  b", "a b\n"]
    )
    expected = [[1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 0, 1]]
    np.testing.assert_array_equal(found, expected)


def test_chargrams_by_hand():
    # abcd: abc bcd; xabc: xab abc. One of three in all.
    np.testing.assert_allclose(pairwise_chargrams(["abcd"], ["xabc", "abcd"]), [[1 / 3, 1]])
    # aaaa: aaa, counted once; aaab: aaa aab.
    np.testing.assert_allclose(pairwise_chargrams(["aaaa"], ["aaab"]), [[1 / 2]])
    # Of fewer than three characters: the text itself.
    texts, expected = ["ab", "a", " ", ""], [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    np.testing.assert_array_equal(pairwise_chargrams(texts, texts), expected)


def test_chargrams_see_every_script_and_take_white_space_as_one_blank():
    # 完全相同: 完全相 全相同; 完全相似: 完全相 全相似.
    np.testing.assert_allclose(pairwise_chargrams(["完全相同"], ["完全相似"]), [[1 / 3]])
    np.testing.assert_allclose(pairwise_chargrams(["😀🎉😀🎉"], ["🎉😀🎉"]), [[1 / 2]])
    np.testing.assert_allclose(pairwise_chargrams(["a\n\tb"], [" a b"]), [[1]])


def plain_jaccard(a, b, n):
    def sets(text):
        line = " ".join(text.split())
        return {line[at : at + n] for at in range(len(line) - n + 1)} or ({line} if line else set())

    first, second = sets(a), sets(b)
    return len(first & second) / len(first | second) if first | second else 1.0


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_chargrams_equal_the_plain_version_on_adversarial_texts(n):
    texts = [text for text in ADVERSARIAL if "\u0301" not in text]
    expected = [[plain_jaccard(a, b, n) for b in texts] for a in texts]
    np.testing.assert_allclose(pairwise_chargrams(texts, texts, n), expected, atol=1e-12)


def library_chrf(texts_a, texts_b):
    def score(a, b):
        shorter, longer = sorted([a, b], key=lambda text: len("".join(text.split())))
        return sacrebleu.sentence_chrf(shorter, [longer]).score / 100

    return np.reshape([score(a, b) for a in texts_a for b in texts_b], (len(texts_a), len(texts_b)))


def test_chrf_by_hand():
    # ab against abc, the reference: precisions 2/2 and 1/1, recalls 2/3 and 1/2; longer n-grams the shorter has not.
    # P = 1, R = 7/12: 5 P R / (4 P + R).
    recall = 7 / 12
    np.testing.assert_allclose(pairwise_chrf(["a b"], ["abc"]), [[5 * recall / (4 + recall)]])


def test_chrf_equals_the_library_on_adversarial_texts():
    found = pairwise_chrf(ADVERSARIAL, ADVERSARIAL)
    np.testing.assert_allclose(found, library_chrf(ADVERSARIAL, ADVERSARIAL), atol=1e-9)


@given(lists_of_texts, lists_of_texts)
def test_chrf_equals_the_library(texts_a, texts_b):
    for others in (texts_b, texts_a):
        np.testing.assert_allclose(pairwise_chrf(texts_a, others), library_chrf(texts_a, others), atol=1e-9)


def test_chrf_of_empty_texts_is_0_as_in_the_library():
    np.testing.assert_array_equal(pairwise_chrf(["", " "], ["", "a"]), np.zeros((2, 2)))
