"""The forward pass against the formulas written out token by token in double precision."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.encoders import transformer
from analysis.encoders.activations import BLOCK, gelu, gelu_by_tanh, relu
from analysis.encoders.families import FAMILIES, LAYER, weights_of
from analysis.encoders.transformer import pooled, token_vectors
from analysis.errors import ShapeError, UnknownValue
from tests.analysis.encoders.tiny import COUNT, HEADS, POSITIONS, TOKENS, WIDTH, tiny

TEXTS = [[5, 9, 7], [1], list(range(2, 28)), [3, 3, 3, 3], [28, 2]]


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("layers", [COUNT, 1])
def test_vectors_are_those_of_the_formulas(family: str, layers: int) -> None:
    settings_, tensors = tiny(family)

    found = token_vectors(weights_of(settings_, tensors), TEXTS, layers)

    for text, vectors in zip(TEXTS, found, strict=True):
        np.testing.assert_allclose(vectors, slow(family, settings_, tensors, text, layers), atol=2e-5)


def test_a_saved_head_and_old_names_make_no_difference() -> None:
    settings_, tensors = tiny("bert")
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    renamed = {
        "bert." + name.replace(key, old[key]): value for name, value in tensors.items() for key in old if key in name
    }
    renamed |= {"bert." + name: value for name, value in tensors.items() if "LayerNorm" not in name}
    renamed["cls.predictions.bias"] = np.zeros(3, np.float32)

    plain, other = weights_of(settings_, tensors), weights_of(settings_, renamed)

    for ours, theirs in zip(token_vectors(plain, TEXTS), token_vectors(other, TEXTS), strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.slow
@given(order=st.permutations(range(len(TEXTS))), batch=st.integers(1, 60))
@settings(max_examples=20, deadline=None)
def test_neither_order_nor_batches_matter(order: list[int], batch: int) -> None:
    weights = weights_of(*tiny("mpnet"))
    alone = [token_vectors(weights, [text])[0] for text in TEXTS]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transformer, "BATCH", batch)
        found = token_vectors(weights, [TEXTS[place] for place in order])

    for place, vectors in zip(order, found, strict=True):
        assert vectors.shape == (len(TEXTS[place]), WIDTH)
        np.testing.assert_allclose(vectors, alone[place], atol=1e-5)


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(1, 50))
def test_every_text_with_tokens_is_in_one_batch(lengths: list[int], batch: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transformer, "BATCH", batch)
        found = list(transformer.batches(lengths))

    assert sorted(place for places in found for place in places) == [p for p, length in enumerate(lengths) if length]
    assert all(len(places) == 1 or len(places) * max(lengths[p] for p in places) <= batch for places in found)


def test_nothing_gives_nothing() -> None:
    weights = weights_of(*tiny("bert"))
    assert token_vectors(weights, []) == []
    assert [vectors.shape for vectors in token_vectors(weights, [[], [3]])] == [(0, WIDTH), (1, WIDTH)]
    assert pooled([np.zeros((2, 3), np.float32)]).tolist() == [[0, 0, 0]]
    assert pooled([]).shape == (0, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ([2] * (POSITIONS + 1), f"has {POSITIONS + 1} tokens; this encoder takes {POSITIONS} at most"),
        ([TOKENS], f"token {TOKENS}; this encoder knows {TOKENS}"),
    ],
    ids=["too long", "unknown token"],
)
def test_a_text_that_the_encoder_can_not_take_is_refused(text: list[int], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        token_vectors(weights_of(*tiny("bert")), [[1], text])


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        pytest.param({"model_type": "deberta-v2"}, UnknownValue, id="family"),
        pytest.param({"hidden_act": "swish"}, UnknownValue, id="activation"),
        pytest.param({"position_embedding_type": "relative_key"}, UnknownValue, id="positions"),
        pytest.param({"is_decoder": True}, UnknownValue, id="decoder"),
        pytest.param({"num_attention_heads": 5}, ShapeError, id="heads"),
        pytest.param({"hidden_size": None}, ShapeError, id="no width"),
        pytest.param({"num_hidden_layers": COUNT + 1}, ShapeError, id="layers"),
        pytest.param({"hidden_size": 2 * WIDTH}, ShapeError, id="width"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes: dict[str, Any], kind: type[Exception]) -> None:
    settings_, tensors = tiny("bert")
    with pytest.raises(kind):
        weights_of({**settings_, **changes}, tensors)


def test_activations_are_those_of_their_formulas() -> None:
    x = np.concatenate([np.linspace(-12, 12, BLOCK + 7), [0, -0.0, 1e-30, 40, -40]]).astype(np.float32)
    exact = x.astype(np.float64)
    errors = np.vectorize(math.erf)(exact / math.sqrt(2))
    bent = np.tanh(math.sqrt(2 / math.pi) * (exact + 0.044715 * exact**3))
    for function, wanted in (
        (gelu, exact * (1 + errors) / 2),
        (gelu_by_tanh, exact * (1 + bent) / 2),
        (relu, np.maximum(exact, 0)),
    ):
        found = x.copy()
        function(found)
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


def test_nan_goes_through_and_is_not_hidden() -> None:
    settings_, tensors = tiny("bert")
    tensors["encoder.layer.0.output.dense.bias"] = np.full(WIDTH, np.nan, np.float32)
    (vectors,) = token_vectors(weights_of(settings_, tensors), [[3, 4]])
    assert np.isnan(vectors).all()


@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        # Of the tokens (3, 0) and (3, 8): mean (3, 4), sum by √2 (6, 8)/√2.
        pytest.param(["mean"], [3, 4], id="mean"),
        pytest.param(["cls"], [3, 0], id="cls"),
        pytest.param(["max"], [3, 8], id="max"),
        pytest.param(["mean_sqrt_len_tokens"], [6 / math.sqrt(2), 8 / math.sqrt(2)], id="sum by root"),
        pytest.param(["cls", "mean"], [3, 0, 3, 4], id="two end to end"),
    ],
)
def test_pooling_is_as_by_hand(how: list[str], wanted: list[float]) -> None:
    tokens = np.array([[3, 0], [3, 8]], np.float32)
    np.testing.assert_allclose(pooled([tokens], how, unit=False), [wanted], rtol=1e-6)
    length = math.sqrt(sum(value**2 for value in wanted))
    np.testing.assert_allclose(pooled([tokens], how), [[value / length for value in wanted]], rtol=1e-6)


def slow(family: str, settings_: dict[str, Any], tensors: dict[str, Any], text: list[int], layers: int) -> np.ndarray:
    """One text in double precision, with a loop for every token and head."""
    names, w = FAMILIES[family], {name: value.astype(np.float64) for name, value in tensors.items()}
    first = settings_["pad_token_id"] + 1 if names.after_padding else 0
    rows = []
    for place, token in enumerate(text):
        row = w["embeddings.word_embeddings.weight"][token] + w["embeddings.position_embeddings.weight"][first + place]
        if "embeddings.token_type_embeddings.weight" in w:
            row = row + w["embeddings.token_type_embeddings.weight"][0]
        rows.append(norm(row, w, "embeddings.LayerNorm"))
    for number in range(layers):
        part = {key: LAYER.format(number) + name for key, name in names.parts.items()}
        mixed = [attended(family, w, part, rows, place) for place in range(len(rows))]
        rows = [
            norm(row + linear(mix, w, part["attention_output"]), w, part["attention_norm"])
            for row, mix in zip(rows, mixed, strict=True)
        ]
        wide = [
            np.array([x * (1 + math.erf(x / math.sqrt(2))) / 2 for x in linear(row, w, part["feed_forward_in"])])
            for row in rows
        ]
        rows = [
            norm(row + linear(x, w, part["feed_forward_out"]), w, part["norm"])
            for row, x in zip(rows, wide, strict=True)
        ]
    return np.array(rows)


def attended(family: str, w: dict[str, Any], part: dict[str, str], rows: list[Any], place: int) -> np.ndarray:
    """What all heads draw for the token at a place."""
    size, parts = WIDTH // HEADS, []
    for head in range(HEADS):
        own = slice(head * size, (head + 1) * size)
        query = linear(rows[place], w, part["query"])[own]
        scores = [query @ linear(row, w, part["key"])[own] / math.sqrt(size) for row in rows]
        if FAMILIES[family].relative:
            scores = [s + w[FAMILIES[family].relative][bucket(other - place), head] for other, s in enumerate(scores)]
        shares = np.exp(np.array(scores) - max(scores))
        values = [linear(row, w, part["value"])[own] for row in rows]
        parts.append(sum(share * value for share, value in zip(shares / shares.sum(), values, strict=True)))
    return np.concatenate(parts)


def bucket(distance: int, half: int = 16) -> int:
    """Of T5's 32 buckets: 16 for each direction; distances below 8 alone, up to 128 in ever wider ones."""
    far = abs(distance)
    inner = far if far < 8 else min(15, 8 + int(math.log(far / 8) / math.log(128 / 8) * 8))
    return inner + (half if distance > 0 else 0)


def linear(x: np.ndarray, w: dict[str, Any], name: str) -> np.ndarray:
    return np.array([float(row @ x) for row in w[f"{name}.weight"]]) + w[f"{name}.bias"]


def norm(x: np.ndarray, w: dict[str, Any], name: str) -> np.ndarray:
    return (x - x.mean()) / math.sqrt(x.var() + 1e-12) * w[f"{name}.weight"] + w[f"{name}.bias"]
