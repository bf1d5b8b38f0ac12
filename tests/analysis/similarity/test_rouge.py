"""ROUGE-1."""

import time
from functools import cache

import numpy as np
import pytest
from hypothesis import given

from analysis.similarity import counting, rouge
from analysis.similarity.rouge import pairwise_rouge1
from tests.analysis.similarity.texts import ADVERSARIAL, lists_of_texts

pytestmark = pytest.mark.slow


@cache
def scorer():
    from rouge_score.rouge_scorer import RougeScorer  # two seconds, as it loads NLTK: not in every worker's collection

    return RougeScorer(["rouge1"], use_stemmer=True)


def library_rouge1(texts_a, texts_b):
    found = [[scorer().score(a, b)["rouge1"].fmeasure for b in texts_b] for a in texts_a]
    return np.reshape(found, (len(texts_a), len(texts_b)))


def test_rouge1_by_hand():
    # Stems: two dog chase a cat / the dog chase two cat cat. Common: two, dog, chase, cat = 4 of 5 and of 6 words,
    # so F1 = 2 * 4 / (5 + 6).
    found = pairwise_rouge1(["Two dogs chased a cat"], ["The dog chases: two cats, cats!", "", "Nothing shared"])
    np.testing.assert_allclose(found, [[8 / 11, 0, 0]])


def test_golden_values_are_met(golden):
    for case in golden("similarity_cases")["rouge1_f_stemmed"]:
        assert pairwise_rouge1([case["a"]], [case["b"]])[0, 0] == pytest.approx(case["f"], abs=1e-9)


def test_rouge1_equals_the_library_on_adversarial_texts():
    found = pairwise_rouge1(ADVERSARIAL, ADVERSARIAL)
    np.testing.assert_allclose(found, library_rouge1(ADVERSARIAL, ADVERSARIAL), atol=1e-9)


@given(lists_of_texts, lists_of_texts)
def test_rouge1_equals_the_library(texts_a, texts_b):
    for others in (texts_b, texts_a):
        np.testing.assert_allclose(pairwise_rouge1(texts_a, others), library_rouge1(texts_a, others), atol=1e-9)


def test_rouge1_in_blocks_equals_one_block(monkeypatch):
    whole = pairwise_rouge1(ADVERSARIAL, ADVERSARIAL)
    monkeypatch.setattr(counting, "BLOCK", 1)
    np.testing.assert_array_equal(pairwise_rouge1(ADVERSARIAL, ADVERSARIAL), whole)


def test_rouge1_reads_each_text_once(monkeypatch):
    read = []
    tokens = rouge.tokens
    monkeypatch.setattr(rouge, "tokens", lambda text: read.append(text) or tokens(text))
    pairwise_rouge1(["a", "b", "a"], ["b", "c"])
    assert sorted(read) == ["a", "b", "c"]


def test_rouge1_of_a_very_long_text_is_quick():
    start = time.process_time()
    pairwise_rouge1(["y" * 100_000 + " word" * 100_000], ["words"])
    assert time.process_time() - start < 5
