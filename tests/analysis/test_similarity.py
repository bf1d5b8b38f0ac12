"""ROUGE-1, the length penalty, and similarities by name."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tokenize import word_tokenize
from rouge_score.rouge_scorer import RougeScorer

from analysis import similarity
from analysis.errors import UnknownValue
from analysis.similarity import length_penalty, pairwise_rouge1, registry, rouge
from analysis.similarity.length import token_count

SCORER = RougeScorer(["rouge1"], use_stemmer=True)
ADVERSARIAL = [
    "",
    "   \n\t ",
    "one",
    "ONE",
    "😀 🎉😀",
    "两个完全相同的中文句子",
    "naïve café coöperation",
    "İstanbul KELVIN ﬁne",  # characters whose lower case is longer, Latin or a ligature
    "well-known state_of_the_art it's don't",
    "generously generating generations; generate generated generator",
    "his bus was his",  # three letters are never stemmed, so these are other words than those of the next line
    "hi bu wa hi",
    "dying flying sky skies news cosmos proceed",  # irregular stems and exceptions
    "2 22 2222 3.14 a1b2 x²",
    "y" * 300,
    "the the the the cat",
    "<script>alert('x')</script> \x00 \u202e reversed",
    "the quick brown fox jumps over the lazy dog " * 400,
]
words = st.lists(
    st.sampled_from(["the", "cats", "cat", "running", "runs", "ran", "é", "中", "Go-Go", "12"]), max_size=12
)
texts = st.lists(words.map(" ".join) | st.text(max_size=30), max_size=4)


def library_rouge1(texts_a, texts_b):
    found = [[SCORER.score(a, b)["rouge1"].fmeasure for b in texts_b] for a in texts_a]
    return np.reshape(found, (len(texts_a), len(texts_b)))


def test_rouge1_by_hand():
    # Stems: two dog chase a cat / the dog chase two cat cat. Common: two, dog, chase, cat = 4 of 5 and of 6 words,
    # so F1 = 2 * 4 / (5 + 6).
    found = pairwise_rouge1(["Two dogs chased a cat"], ["The dog chases: two cats, cats!", "", "Nothing shared"])
    np.testing.assert_allclose(found, [[8 / 11, 0, 0]])


def test_rouge1_counts_a_repeated_word_as_often_as_both_have_it():
    # min(4, 2) = 2 common of 4 and 3 words: 2 * 2 / 7.
    np.testing.assert_allclose(pairwise_rouge1(["no no no no"], ["no no yes"]), [[4 / 7]])


def test_rouge1_equals_the_library_on_adversarial_texts():
    found = pairwise_rouge1(ADVERSARIAL, ADVERSARIAL)
    np.testing.assert_allclose(found, library_rouge1(ADVERSARIAL, ADVERSARIAL), atol=1e-9)


@given(texts, texts)
def test_rouge1_equals_the_library(texts_a, texts_b):
    np.testing.assert_allclose(pairwise_rouge1(texts_a, texts_b), library_rouge1(texts_a, texts_b), atol=1e-9)


@given(texts, texts)
def test_rouge1_is_symmetric_and_bounded(texts_a, texts_b):
    found = pairwise_rouge1(texts_a, texts_b)
    np.testing.assert_array_equal(found, pairwise_rouge1(texts_b, texts_a).T)
    assert ((found >= 0) & (found <= 1)).all()


def test_rouge1_knows_only_latin_letters_and_digits():
    assert pairwise_rouge1(["完全相同"], ["完全相同"]) == 0.0


def test_rouge1_of_no_texts_is_an_empty_matrix():
    assert pairwise_rouge1([], ["a", "b"]).shape == (0, 2)
    assert pairwise_rouge1([], []).shape == (0, 0)


def test_rouge1_in_blocks_equals_one_block(monkeypatch):
    whole = pairwise_rouge1(ADVERSARIAL, ADVERSARIAL)
    monkeypatch.setattr(rouge, "BLOCK", 1)
    np.testing.assert_array_equal(pairwise_rouge1(ADVERSARIAL, ADVERSARIAL), whole)


def test_rouge1_reads_each_text_once(monkeypatch):
    read = []
    tokens = rouge.tokens
    monkeypatch.setattr(rouge, "tokens", lambda text: read.append(text) or tokens(text))
    pairwise_rouge1(["a", "b", "a"], ["b", "c"])
    assert sorted(read) == ["a", "b", "c"]


def test_rouge1_of_a_very_long_text_is_quick():
    start = time.perf_counter()
    pairwise_rouge1(["y" * 100_000 + " word" * 100_000], ["words"])
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize("text", ADVERSARIAL)
def test_token_count_is_that_of_the_nltk_word_tokenizer(text):
    assert token_count(text) == len(word_tokenize(text, preserve_line=True))


def test_length_penalty_by_hand():
    # "Stop, now!" has 4 tokens: Stop , now ! - so exp(1 - 4/1), exp(1 - 4/2) and exp(1 - 4/4).
    found = length_penalty(["Stop, now!"], ["one", "one two", "one two three four"])
    np.testing.assert_allclose(found, [[np.exp(-3), np.exp(-1), 1.0]])


def test_golden_length_penalties_are_met(golden):
    for case in golden("measure_cases")["length_penalty"]:
        # The second list of characters is the longer one in some cases: only tokens may matter.
        short, long = " ".join(["x"] * case["tokens_a"]), " ".join(["somewhat"] * case["tokens_b"])
        assert length_penalty([short], [long])[0, 0] == pytest.approx(case["lp_paper"], abs=1e-12)


def test_length_penalty_of_empty_texts():
    np.testing.assert_array_equal(length_penalty(["", "  "], ["", "word"]), [[1.0, 0.0], [1.0, 0.0]])
    assert length_penalty([], ["word"]).shape == (0, 1)


@given(texts, texts)
def test_length_penalty_equals_the_plain_version(texts_a, texts_b):
    def plain(a, b):
        short, long = sorted([len(word_tokenize(a, preserve_line=True)), len(word_tokenize(b, preserve_line=True))])
        return 1.0 if short == long else np.exp(1 - long / short) if short else 0.0

    expected = np.reshape([plain(a, b) for a in texts_a for b in texts_b], (len(texts_a), len(texts_b)))
    found = length_penalty(texts_a, texts_b)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(found, length_penalty(texts_b, texts_a).T)
    assert ((found >= 0) & (found <= 1)).all()


def test_names_lead_to_functions():
    assert similarity.names() == ("rouge1", "rouge1-length")
    assert similarity.get("rouge1") is pairwise_rouge1
    a, b = ["a dog barked"], ["the dogs barking", "a dog barked at me"]
    expected = pairwise_rouge1(a, b) * length_penalty(a, b)
    np.testing.assert_array_equal(similarity.get("rouge1-length")(a, b), expected)


def test_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(UnknownValue, match=r"'rouge2'; known: rouge1, rouge1-length"):
        similarity.get("rouge2")


@pytest.mark.parametrize("name", registry.SIMILARITIES)
def test_every_similarity_is_symmetric_and_tells_a_text_from_another(name):
    found = similarity.get(name)(["some words here", "quite other things"], ["some words here"])
    np.testing.assert_allclose(found, [[1.0], [0.0]])
