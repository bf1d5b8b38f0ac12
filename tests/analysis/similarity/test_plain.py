"""Exact match and the Jaccard index of character n-grams."""

import numpy as np
import pytest
from hypothesis import given

from analysis.similarity.characters import pairwise_chargrams, pairwise_exact
from tests.analysis.similarity.texts import ADVERSARIAL, lists_of_texts


def test_exact_match_by_hand():
    found = pairwise_exact(["yes", "caf\u00e9 ", ""], ["yes", "Yes", "yes.", "cafe\u0301", "\n"])
    np.testing.assert_array_equal(found, [[1, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]])


def test_exact_match_minds_white_space_within():
    np.testing.assert_array_equal(pairwise_exact(["a b"], ["a  b", "a b\n"]), [[0, 1]])


def test_chargrams_by_hand():
    # abcd: abc bcd; xabc: xab abc. One of three in all.
    np.testing.assert_allclose(pairwise_chargrams(["abcd"], ["xabc", "abcd"]), [[1 / 3, 1]])


def test_chargrams_count_a_repeated_one_once():
    # aaaa: aaa; aaab: aaa aab.
    np.testing.assert_allclose(pairwise_chargrams(["aaaa"], ["aaab"]), [[1 / 2]])


def test_chargrams_of_short_and_empty_texts():
    # Of fewer than three characters: the text itself.
    texts = ["ab", "a", " ", ""]
    np.testing.assert_array_equal(
        pairwise_chargrams(texts, texts), [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    )


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


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_chargrams_equal_the_plain_version_on_adversarial_texts(n):
    texts = [text for text in ADVERSARIAL if "\u0301" not in text]
    expected = [[plain_jaccard(a, b, n) for b in texts] for a in texts]
    np.testing.assert_allclose(pairwise_chargrams(texts, texts, n), expected, atol=1e-12)


@pytest.mark.slow
@given(lists_of_texts, lists_of_texts)
def test_chargrams_are_1_only_for_texts_with_the_same_n_grams(texts_a, texts_b):
    found, same = pairwise_chargrams(texts_a, texts_b), pairwise_exact(texts_a, texts_b)
    assert (found[same == 1] == 1).all()
