"""The forward pass of encoders of BERT's kind, and the pooling of its vectors to one for each text.

Layers are attention and two linear maps, normalised after each.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analysis.encoders.activations import ACTIVATIONS
from analysis.errors import ShapeError

Floats = npt.NDArray[np.float32]
IDs = npt.NDArray[np.int64]

BATCH = 2048  # most tokens in a batch, padding included
PARALLEL_BATCHES = 2  # element-wise work of one overlaps with the matrix products of the other
MASKED_SCORE = np.float32(-1e30)  # its exponential is 0; finite, so that biases can be added
_MAX_DISTANCE = 128  # of relative positions; greater ones count as this


class Linear(NamedTuple):
    """x ↦ x·weightᵀ + bias, with a weight of shape (out, in)."""

    weight: Floats
    bias: Floats


class Norm(NamedTuple):
    """Layer normalisation: each row to mean 0 and variance 1, then times weight plus bias."""

    weight: Floats
    bias: Floats


class Layer(NamedTuple):
    """One layer. `asked` makes queries, keys and values at once, in this order, queries divided by √(width of a head)."""

    qkv: Linear
    attention_output: Linear
    attention_norm: Norm
    feed_forward_in: Linear
    feed_forward_out: Linear
    norm: Norm


@dataclass(frozen=True)
class Weights:
    """All of an encoder.

    words     : (tokens, width)
    positions : (max_tokens, width), from the first token on; includes the token type embedding of a first sentence
    relative  : (buckets, heads), relative position bias of the attention; None in families without one
    """

    words: Floats
    positions: Floats
    norm: Norm
    layers: tuple[Layer, ...]
    heads: int
    eps: float
    activation: str
    relative: Floats | None = None

    @property
    def max_tokens(self) -> int:
        """Most tokens of a text, special ones counted."""
        return len(self.positions)


def token_vectors(weights: Weights, texts: Sequence[Sequence[int]], layers: int | None = None) -> list[Floats]:
    """Return the token vectors of texts after a number of layers, by default all.

    texts   : token ids of each text, special tokens included
    returns : an array (tokens, width) for each text
    raises  : ShapeError for a text that is too long, or a token that the encoder doesn't have
    source  : Vaswani et al. 2017, Attention is all you need, §3; Devlin et al. 2019, BERT, §3
    """
    _check(weights, texts)
    vectors: list[Floats] = [np.zeros((0, weights.words.shape[1]), np.float32)] * len(texts)
    count = len(weights.layers) if layers is None else layers

    def run(rows_of_batch: Sequence[int]) -> None:
        rows = _forward(weights, [texts[index] for index in rows_of_batch], count)
        for index, row in zip(rows_of_batch, rows, strict=True):
            # A copy: a view would keep the padding of the whole batch in memory.
            vectors[index] = row[: len(texts[index])].copy()

    with ThreadPoolExecutor(PARALLEL_BATCHES) as pool:
        for _ in pool.map(run, batches([len(text) for text in texts])):
            pass
    return vectors


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield indices of texts to batch together: of similar length, so that little is padded, the longest first."""
    order = sorted((index for index, length in enumerate(lengths) if length), key=lambda index: -lengths[index])
    start = 0
    while start < len(order):
        size = max(1, BATCH // lengths[order[start]])
        yield order[start : start + size]
        start += size


def _check(weights: Weights, texts: Sequence[Sequence[int]]) -> None:
    max_tokens = max(map(len, texts), default=0)
    if max_tokens > weights.max_tokens:
        raise ShapeError(f"a text has {max_tokens} tokens; this encoder takes {weights.max_tokens} at most")
    highest = max((max(text) for text in texts if len(text)), default=0)
    if highest >= len(weights.words):
        raise ShapeError(f"a text has the token {highest}; this encoder knows {len(weights.words)}, from 0 on")


def _forward(weights: Weights, texts: Sequence[Sequence[int]], count: int) -> Floats:
    """Run one batch: (texts, longest text of it, width)."""
    lengths = np.array([len(text) for text in texts])
    size, max_tokens = len(texts), int(lengths.max())
    ids = np.zeros((size, max_tokens), np.int64)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = text
    hidden = weights.words[ids]
    hidden += weights.positions[:max_tokens]
    flat = hidden.reshape(size * max_tokens, -1)
    _normalise(flat, weights.norm, weights.eps)
    attention_bias = _attention_bias(weights, lengths, max_tokens)
    for layer in weights.layers[:count]:
        flat = _layer(weights, layer, flat, (size, max_tokens), attention_bias)
    return flat.reshape(size, max_tokens, -1)


def _layer(weights: Weights, layer: Layer, x: Floats, shape: tuple[int, int], attention_bias: Floats | None) -> Floats:
    attention_output = _linear(
        _attention(_linear(x, layer.qkv), shape, weights.heads, attention_bias), layer.attention_output
    )
    attention_output += x
    _normalise(attention_output, layer.attention_norm, weights.eps)
    feed_forward_in = _linear(attention_output, layer.feed_forward_in)
    ACTIVATIONS[weights.activation](feed_forward_in.reshape(-1))
    out = _linear(feed_forward_in, layer.feed_forward_out)
    out += attention_output
    _normalise(out, layer.norm, weights.eps)
    return out


def _attention(qkv: Floats, shape: tuple[int, int], heads: int, attention_bias: Floats | None) -> Floats:
    """Mix the values of each text's tokens by the softmax of query times key, in every head."""
    width = qkv.shape[1] // 3
    parts = qkv.reshape(*shape, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)  # (3, texts, heads, tokens, …)
    query, key, value = parts
    scores = query @ key.swapaxes(2, 3)
    if attention_bias is not None:
        scores += attention_bias
    scores -= scores.max(axis=3, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=3, keepdims=True)
    mixed: Floats = (scores @ value).transpose(0, 2, 1, 3).reshape(-1, width)
    return mixed


def _attention_bias(weights: Weights, lengths: npt.NDArray[np.int64], max_tokens: int) -> Floats | None:
    """Return what is added to attention scores: the mask of padding, and the relative position bias if there is one."""
    attention_bias: Floats | None = None
    if lengths.min() < max_tokens:
        padding = np.arange(max_tokens) >= lengths[:, np.newaxis]
        attention_bias = np.where(padding, MASKED_SCORE, np.float32(0))[:, np.newaxis, np.newaxis, :]
    if weights.relative is not None:
        by_distance = weights.relative[_buckets(max_tokens, len(weights.relative))].transpose(2, 0, 1)[np.newaxis]
        attention_bias = by_distance if attention_bias is None else attention_bias + by_distance
    return attention_bias


def _buckets(max_tokens: int, count: int) -> IDs:
    """Return the relative position bucket of every two positions.

    source : Raffel et al. 2020, T5, §2.1
    """
    distance = np.arange(max_tokens)[np.newaxis, :] - np.arange(max_tokens)[:, np.newaxis]
    half = count // 2
    exact = half // 2
    far = np.maximum(np.abs(distance), 1)
    scaled = np.log(far / exact, dtype=np.float32) / np.log(_MAX_DISTANCE / exact) * (half - exact)
    feed_forward_in = np.minimum(exact + scaled.astype(np.int64), half - 1)
    near: IDs = np.where(np.abs(distance) < exact, np.abs(distance), feed_forward_in)
    return near + np.where(distance > 0, half, 0)


def _linear(x: Floats, linear: Linear) -> Floats:
    out = x @ linear.weight.T
    out += linear.bias
    return out


def _normalise(x: Floats, norm: Norm, eps: float) -> None:
    """Normalise the rows in place."""
    x -= x.mean(axis=1, keepdims=True)
    variance = np.einsum("ij,ij->i", x, x)[:, np.newaxis] / np.float32(x.shape[1])
    x /= np.sqrt(variance + np.float32(eps))
    x *= norm.weight
    x += norm.bias


POOLINGS: Mapping[str, Callable[[Floats], Floats]] = MappingProxyType(
    {
        "cls": lambda vectors: vectors[0],
        "max": lambda vectors: vectors.max(axis=0),
        "mean": lambda vectors: vectors.mean(axis=0),
        "mean_sqrt_len_tokens": lambda vectors: vectors.sum(axis=0) / np.sqrt(np.float32(len(vectors))),
    }
)


def pooled(vectors: Sequence[Floats], how: Sequence[str] = ("mean",), *, unit: bool = True) -> Floats:
    """One vector for each text. Special tokens count, as they do in training.

    vectors : of each text (tokens, width)
    how     : names of `POOLINGS`; the vectors of several are put end to end
    unit    : whether to divide each by its length; one of length 0 stays as it is
    returns : (texts, width times poolings)
    source  : Reimers and Gurevych 2019, Sentence-BERT, §3
    """
    if not vectors:
        return np.zeros((0, 0), np.float32)
    rows = np.stack([np.concatenate([POOLINGS[name](each) for name in how]) for each in vectors])
    if unit:
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, np.newaxis]
        rows = np.divide(rows, lengths, out=rows, where=lengths > 0)
    return rows
