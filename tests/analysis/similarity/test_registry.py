"""Similarities by name: ours, over a model, and those of installed packages; what holds for every one; the length penalty."""

import re
import sys
from importlib.metadata import EntryPoint
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given

from analysis.errors import AnalysisError, NeedsModel, NotFinite, ShapeError, UnknownValue
from analysis.similarity import registry
from analysis.similarity.registry import length_penalty, token_count
from analysis.similarity.rouge import pairwise_rouge1
from analysis.similarity.semantic import pairwise_bertscore
from tests.analysis.similarity.texts import ADVERSARIAL, lists_of_texts

pytestmark = pytest.mark.slow

NAMES = (
    "bertscore",
    "bertscore-length",
    "bertscore-package",
    "bleu",
    "chargram",
    "chrf",
    "cosine",
    "entities",
    "exact",
    "rouge1",
    "rouge1-length",
)


class Letters:
    """A model whose tokens are characters, and whose vectors are made from their code points."""

    def encode_tokens(self, texts):
        return [np.array([self.vector(ord(sign)) for sign in text]) for text in texts]

    def encode(self, texts):
        return [vectors.mean(axis=0) for vectors in self.encode_tokens(texts)]

    def entities(self, texts):
        return [frozenset(word for word in text.split() if word.istitle()) for text in texts]

    @staticmethod
    def vector(code):
        return np.array([1.0, code % 7, code % 11, code % 13, code % 17])


def made(name):
    model = Letters()
    return registry.with_model(name, encoder=model, tokens=model, extractor=model.entities)


@pytest.fixture
def package(monkeypatch):
    """Installs a package, for this test, that offers what it is given."""
    monkeypatch.setattr(registry, "_installed", registry._installed.__wrapped__)

    def install(**own):
        module = ModuleType("their_package")
        vars(module).update(own)
        monkeypatch.setitem(sys.modules, "their_package", module)
        entries = [EntryPoint(name.replace("_", "-"), f"their_package:{name}", registry.ENTRY_POINTS) for name in own]
        monkeypatch.setattr(
            registry, "entry_points", lambda *, group: entries if group == "tandem.similarities" else []
        )

    return install


def test_names_lead_to_functions():
    assert registry.names() == NAMES
    assert registry.get("rouge1") is pairwise_rouge1
    a, b = ["a dog barked"], ["the dogs barking", "a dog barked at me"]
    expected = pairwise_rouge1(a, b) * length_penalty(a, b)
    np.testing.assert_array_equal(registry.get("rouge1-length")(a, b), expected)


def test_unknown_name_is_refused_with_the_known_ones():
    for asked in (registry.get, registry.needs, registry.with_model):
        with pytest.raises(UnknownValue):
            asked("rouge2")


def test_needs_of_every_name():
    assert {name: needed for name in NAMES if (needed := registry.needs(name))} == {
        "bertscore": "tokens",
        "bertscore-length": "tokens",
        "bertscore-package": "tokens",
        "cosine": "encoder",
        "entities": "extractor",
    }


def test_semantic_similarity_without_its_model_is_refused():
    with pytest.raises(NeedsModel):
        registry.get("bertscore-length")
    with pytest.raises(NeedsModel):
        registry.with_model("cosine", tokens=Letters())
    with pytest.raises(NeedsModel):
        registry.with_model("entities", encoder=Letters())


def test_model_makes_the_similarity_and_lexical_ones_need_none():
    a, b = ["a dog barked"], ["the dogs barking", "a dog barked at me"]
    np.testing.assert_array_equal(made("bertscore")(a, b), pairwise_bertscore(a, b, Letters()))
    expected = pairwise_bertscore(a, b, Letters()) * length_penalty(a, b)
    np.testing.assert_array_equal(made("bertscore-length")(a, b), expected)
    assert made("rouge1") is pairwise_rouge1


@pytest.mark.parametrize("name", NAMES)
@given(texts_a=lists_of_texts, texts_b=lists_of_texts)
def test_every_similarity_is_symmetric_and_bounded(name, texts_a, texts_b):
    found = made(name)(texts_a, texts_b)
    assert found.shape == (len(texts_a), len(texts_b))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, made(name)(texts_b, texts_a).T, atol=1e-9)
    assert ((found >= 0) & (found <= 1 + 1e-9)).all()


@pytest.mark.parametrize("name", NAMES)
@given(texts=lists_of_texts)
def test_order_and_company_of_texts_change_no_value(name, texts):
    score = made(name)
    found = score(texts, texts)
    np.testing.assert_allclose(score(texts[::-1], texts), found[::-1], atol=1e-9)
    alone = [[score([a], [b])[0, 0] for b in texts] for a in texts]
    np.testing.assert_allclose(found, np.reshape(alone, found.shape), atol=1e-9)
    np.testing.assert_allclose(score(texts * 2, texts), np.concatenate([found, found]), atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_empty_texts_and_texts_beside_themselves(name):
    # ROUGE, BLEU and chrF keep what their libraries give for two empty texts.
    both = 0 if name in ("bleu", "chrf", "rouge1", "rouge1-length") else 1
    np.testing.assert_array_equal(made(name)(["", "Oslo"], ["", " \n"]), [[both, both], [0, 0]])
    for texts_a, texts_b in ([], []), ([], ["a", "b"]), (["a"], []):
        assert made(name)(texts_a, texts_b).shape == (len(texts_a), len(texts_b))
    texts = [text for text in ADVERSARIAL if len(text) < 1000 and re.search("[A-Za-z0-9]", text)]
    np.testing.assert_allclose([made(name)([text], [text])[0, 0] for text in texts], 1, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_every_similarity_tells_a_text_from_another(name):
    found = made(name)(["Some words here", "Quite other things"], ["Some words here"])
    assert found[0, 0] == pytest.approx(1)
    assert found[1, 0] < 0.999


def test_package_offers_its_own(package):
    package(first_letter=lambda texts_a, texts_b: [[float(a[:1] == b[:1]) for b in texts_b] for a in texts_a])
    assert registry.names() == tuple(sorted([*NAMES, "first-letter"]))
    assert registry.needs("first-letter") == ""
    np.testing.assert_array_equal(registry.with_model("first-letter")(["ab", "b"], ["ac"]), [[1], [0]])


def test_package_cannot_take_the_name_of_ours(package):
    package(rouge1=lambda texts_a, texts_b: np.zeros((len(texts_a), len(texts_b))))
    assert registry.names() == NAMES
    assert registry.get("rouge1") is pairwise_rouge1


def test_package_that_cannot_be_loaded_is_named(package, monkeypatch):
    package(theirs=3)
    with pytest.raises(AnalysisError, match="theirs is no function: their_package:theirs is 3"):
        registry.get("theirs")
    monkeypatch.setitem(sys.modules, "their_package", None)
    with pytest.raises(AnalysisError, match="theirs can't be loaded from their_package:theirs"):
        registry.get("theirs")


def test_package_whose_answer_does_not_fit_is_named(package):
    package(
        narrow=lambda texts_a, texts_b: np.zeros(len(texts_a)),
        lost=lambda texts_a, texts_b: [[0.5, 0.5], [np.nan, 0.5]],
    )
    with pytest.raises(ShapeError):
        registry.get("narrow")(["a", "b"], ["a", "b"])
    with pytest.raises(NotFinite) as caught:
        registry.get("lost")(["a", "b"], ["a", "b"])
    assert caught.value.text == "b"


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
