"""Similarities over vectors and entities that a model gives; the models are tables of vectors here."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import NotFinite, ShapeError
from analysis.similarity import semantic
from analysis.similarity.registry import with_model
from analysis.similarity.semantic import pairwise_bertscore, pairwise_cosine, pairwise_entities

pytestmark = pytest.mark.slow


class Table:
    """Gives every text what a table holds for it, and remembers what it was asked."""

    def __init__(self, table, specials=None):
        self.table, self.asked = table, []
        if specials is not None:
            self.specials = specials

    def encode(self, texts):
        self.asked.append(list(texts))
        return np.array([self.table[text] for text in texts])

    def encode_tokens(self, texts):
        self.asked.append(list(texts))
        return [np.array(self.table[text]) for text in texts]

    def entities(self, texts):
        self.asked.append(list(texts))
        return [frozenset(self.table[text]) for text in texts]


def plain_bertscore(a, b, first=0, last=0):
    """BERTScore F1 of two lists of token vectors, token by token."""

    def cosine(u, v):
        size = np.linalg.norm(u) * np.linalg.norm(v)
        return float(np.dot(u, v)) / size if size else 0.0

    def mean_best(tokens, others):
        scored = tokens[first : len(tokens) - last]
        return sum(max(cosine(token, other) for other in others) for token in scored) / len(scored)

    precision, recall = mean_best(a, b), mean_best(b, a)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


numbers = st.floats(0.1, 2) | st.floats(-0.5, -0.1)
token_lists = st.lists(
    st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=3, max_size=5), min_size=1, max_size=4
)


def test_bertscore_by_hand():
    # a: x, y; b: x. P = (1 + 0) / 2, R = 1: F1 = 2 * 0.5 / 1.5. c is opposite to b: P = R = -1, 2 * 1 / -2.
    model = Table({"a": [[2.0, 0], [0, 3]], "b": [[1.0, 0]], "c": [[-1.0, 0]]})
    np.testing.assert_allclose(pairwise_bertscore(["a", "b"], ["b", "a"], model), [[2 / 3, 1], [1, 2 / 3]])
    np.testing.assert_allclose(pairwise_bertscore(["b"], ["c"], model), [[-1]])


def test_golden_values_are_met(golden):
    for case in golden("similarity_cases")["bertscore_from_vectors"]:
        model = Table({"cand": case["cand"], "ref": case["ref"]})
        assert pairwise_bertscore(["cand"], ["ref"], model)[0, 0] == pytest.approx(case["F1"], abs=1e-4)


@given(token_lists, token_lists)
def test_bertscore_equals_the_plain_version(vectors_a, vectors_b):
    texts_a = [f"a{place}" for place in range(len(vectors_a))]
    texts_b = [f"b{place}" for place in range(len(vectors_b))]
    table = dict(zip(texts_a + texts_b, vectors_a + vectors_b, strict=True))
    found = pairwise_bertscore(texts_a, texts_b, Table(table))
    np.testing.assert_allclose(found, [[plain_bertscore(a, b) for b in vectors_b] for a in vectors_a], atol=1e-9)
    np.testing.assert_allclose(found, pairwise_bertscore(texts_b, texts_a, Table(table)).T, atol=1e-12)


@given(token_lists)
def test_special_tokens_take_no_part_or_are_matched_on_request_but_not_averaged_over(vectors):
    texts = [f"a{place}" for place in range(len(vectors))]
    model = Table(dict(zip(texts, vectors, strict=True)), specials=(1, 1))
    expected = [[plain_bertscore(a[1:-1], b[1:-1]) for b in vectors] for a in vectors]
    np.testing.assert_allclose(pairwise_bertscore(texts, texts, model), expected, atol=1e-9)
    found = pairwise_bertscore(texts, texts, model, match_specials=True)
    expected = [[plain_bertscore(a, b, 1, 1) for b in vectors] for a in vectors]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_special_tokens_are_matched_where_the_package_is_asked_for():
    model = Table({"a": [[1.0, 0], [3, 4], [0, 1]], "b": [[0.0, 1], [1, 0], [0, 1]]}, specials=(1, 1))
    found = {name: with_model(name, tokens=model)(["a"], ["b"])[0, 0] for name in ("bertscore", "bertscore-package")}
    # Tokens (0.6, 0.8) and (1, 0). Alone they have 0.6; the first is nearer to a special (0, 1), the second to (1, 0).
    assert found == {"bertscore": pytest.approx(0.6), "bertscore-package": pytest.approx(2 * 0.8 / 1.8)}


def test_bertscore_in_blocks_equals_one_block(monkeypatch, rng):
    table = {str(place): rng.normal(size=(rng.integers(1, 9), 8)).astype(np.float32) for place in range(12)}
    texts = list(table)
    whole = pairwise_bertscore(texts, texts, Table(table))
    for block in (1, 500, 1500):
        monkeypatch.setattr(semantic, "BLOCK", block)
        # As vectors are of single precision: sums in another order differ by some of its steps.
        np.testing.assert_allclose(pairwise_bertscore(texts, texts, Table(table)), whole, rtol=2e-6, atol=1e-6)


def test_bertscore_of_empty_texts_and_of_texts_without_a_token():
    model = Table({"a": [[1.0, 0]], "?": np.zeros((0, 2)), "!": np.zeros((0, 2))})
    texts = ["a", "", " \n", "?", "!"]
    expected = [[1, 0, 0, 0, 0], [0, 1, 1, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]
    np.testing.assert_array_equal(pairwise_bertscore(texts, texts, model), expected)
    assert model.asked == [["a", "?", "!"]]  # each once, and never an empty one
    np.testing.assert_array_equal(pairwise_bertscore([""], ["", "a"], model), [[1, 0]])
    specials_alone = Table({"a": [[1.0, 0]] * 3, "?": [[1.0, 0]] * 2}, specials=(1, 1))
    np.testing.assert_array_equal(pairwise_bertscore(["a", "?"], ["a", "?"], specials_alone), np.eye(2))


def test_cosine_by_hand():
    model = Table({"a": [3.0, 4.0], "b": [4.0, 3.0], "c": [-3.0, -4.0], "short": [0.0, 0.2]})
    np.testing.assert_allclose(pairwise_cosine(["a"], ["a", "b", "c", "short"], model), [[1, 24 / 25, -1, 4 / 5]])


@given(st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=1, max_size=5))
def test_cosine_is_symmetric_bounded_and_1_with_itself(vectors):
    texts = [str(place) for place in range(len(vectors))]
    found = pairwise_cosine(texts, texts, Table(dict(zip(texts, vectors, strict=True))))
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(np.diag(found), 1, atol=1e-12)
    assert (np.abs(found) <= 1).all()
    backwards = pairwise_cosine(texts[::-1], texts, Table(dict(zip(texts, vectors, strict=True))))
    np.testing.assert_allclose(backwards, found[::-1], atol=1e-12)


def test_cosine_of_empty_texts_and_of_a_vector_without_direction():
    model = Table({"a": [1.0, 0], "?": [0.0, 0], "!": [0.0, 0]})
    texts = ["a", "", " ", "?", "!"]
    expected = [[1, 0, 0, 0, 0], [0, 1, 1, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]
    np.testing.assert_array_equal(pairwise_cosine(texts, texts, model), expected)
    assert model.asked == [["a", "?", "!"]]
    np.testing.assert_array_equal(pairwise_cosine([""], [""], Table({})), [[1]])


def test_entities_by_hand():
    # Oslo, Bergen and Oslo, Rome, Bergen: two of three.
    model = Table({"a": ["Oslo", "Bergen"], "b": ["Oslo", "Rome", "Bergen"], "c": [], "d": []})
    found = pairwise_entities(["a", "c", ""], ["a", "b", "c", "d", " "], model.entities)
    np.testing.assert_allclose(found, [[1, 2 / 3, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1]])
    assert model.asked == [["a", "c", "b", "d"]]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_text_for_which_the_model_gives_no_number_is_named(bad):
    with pytest.raises(NotFinite) as caught:
        pairwise_cosine(["first", "second"], ["first"], Table({"first": [1.0, 0], "second": [bad, 0]}))
    assert caught.value.text == "second"
    with pytest.raises(NotFinite):
        pairwise_bertscore(["first", "second"], ["first"], Table({"first": [[1.0, 0]], "second": [[0, 1], [bad, 0]]}))


def test_wrong_shapes_from_a_model_are_refused():
    with pytest.raises(ShapeError):
        pairwise_cosine(["a"], ["a"], Table({"a": [[1.0, 0]]}))
    with pytest.raises(ShapeError):
        pairwise_bertscore(["a"], ["a"], Table({"a": [1.0, 0]}))
    with pytest.raises(ShapeError):
        pairwise_entities(["a"], ["a"], lambda texts: [frozenset(), frozenset()])


def test_equal_texts_are_exactly_alike_whatever_rounding_makes_of_their_vectors():
    rng = np.random.default_rng(3)
    texts = [f"t{place}" for place in range(40)]
    tokens = Table({text: rng.normal(size=(7, 33)).astype(np.float32) for text in texts})
    vectors = Table({text: rng.normal(size=33) for text in texts})
    for found in (pairwise_bertscore(texts, texts, tokens), pairwise_cosine(texts, texts, vectors)):
        assert (np.diag(found) == 1.0).all()
        assert (found[~np.eye(40, dtype=bool)] < 1.0).all()
