"""chrF."""

import numpy as np
import pytest
import sacrebleu
from hypothesis import given

from analysis.similarity.characters import pairwise_chrf
from tests.analysis.similarity.texts import ADVERSARIAL, lists_of_texts

pytestmark = pytest.mark.slow


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
