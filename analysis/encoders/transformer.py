"""The forward pass of encoders of BERT's kind: layers of attention and of two linear maps, normalised after each."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analysis.encoders.activations import ACTIVATIONS
from analysis.errors import ShapeError

Floats = npt.NDArray[np.float32]
IDs = npt.NDArray[np.int64]

BATCH = 2048  # most tokens that go through together, padding counted
AT_ONCE = 2  # batches: what one does outside of the matrix products runs beside the products of the other
FAR = np.float32(-1e30)  # a score whose exponential is 0, and that stays finite when others are added
_LARGEST_DISTANCE = 128  # of two tokens, for relative positions: greater ones count as this


class Linear(NamedTuple):
    """x ↦ x·weightᵀ + bias; weight is (out, in)."""

    weight: Floats
    bias: Floats


class Norm(NamedTuple):
    """Layer normalisation: each row to mean 0 and variance 1, then times weight plus bias."""

    weight: Floats
    bias: Floats


class Layer(NamedTuple):
    """One layer. `asked` makes queries, keys and values at once, in this order, queries divided by √(width of a head)."""

    asked: Linear
    mixed: Linear
    mixed_norm: Norm
    wide: Linear
    narrow: Linear
    norm: Norm


@dataclass(frozen=True)
class Weights:
    """All of an encoder.

    words     : (tokens, width)
    positions : (longest text in tokens, width), for the first token on; includes what marks a first sentence
    relative  : (buckets, heads), added to attention by the distance of two tokens; None where there is no such thing
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
    def longest(self) -> int:
        """Most tokens of a text, special ones counted."""
        return len(self.positions)


def token_vectors(weights: Weights, texts: Sequence[Sequence[int]], layers: int | None = None) -> list[Floats]:
    """Vectors of the tokens of texts after so many layers, all of them by default.

    texts   : of each the numbers of its tokens, special ones included
    returns : an array (tokens, width) for each text
    raises  : ShapeError for a text that is too long, or a token that the encoder doesn't have
    source  : Vaswani et al. 2017, Attention is all you need, §3; Devlin et al. 2019, BERT, §3
    """
    _check(weights, texts)
    found: list[Floats] = [np.zeros((0, weights.words.shape[1]), np.float32)] * len(texts)
    count = len(weights.layers) if layers is None else layers

    def run(places: Sequence[int]) -> None:
        rows = _forward(weights, [texts[place] for place in places], count)
        for place, row in zip(places, rows, strict=True):
            # A copy: a view would keep the padding of the whole batch in memory.
            found[place] = row[: len(texts[place])].copy()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(run, batches([len(text) for text in texts])):
            pass
    return found


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of texts to go through together: of similar length, so that little is padded, the longest first."""
    order = sorted((place for place, length in enumerate(lengths) if length), key=lambda place: -lengths[place])
    start = 0
    while start < len(order):
        size = max(1, BATCH // lengths[order[start]])
        yield order[start : start + size]
        start += size


def _check(weights: Weights, texts: Sequence[Sequence[int]]) -> None:
    longest = max(map(len, texts), default=0)
    if longest > weights.longest:
        raise ShapeError(f"a text has {longest} tokens; this encoder takes {weights.longest} at most")
    highest = max((max(text) for text in texts if len(text)), default=0)
    if highest >= len(weights.words):
        raise ShapeError(f"a text has the token {highest}; this encoder knows {len(weights.words)}, from 0 on")


def _forward(weights: Weights, texts: Sequence[Sequence[int]], count: int) -> Floats:
    """Run one batch: (texts, longest text of it, width)."""
    lengths = np.array([len(text) for text in texts])
    size, longest = len(texts), int(lengths.max())
    ids = np.zeros((size, longest), np.int64)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = text
    hidden = weights.words[ids]
    hidden += weights.positions[:longest]
    flat = hidden.reshape(size * longest, -1)
    _normalise(flat, weights.norm, weights.eps)
    added = _added_to_attention(weights, lengths, longest)
    for layer in weights.layers[:count]:
        flat = _layer(weights, layer, flat, (size, longest), added)
    return flat.reshape(size, longest, -1)


def _layer(weights: Weights, layer: Layer, x: Floats, shape: tuple[int, int], added: Floats | None) -> Floats:
    mixed = _linear(_attention(_linear(x, layer.asked), shape, weights.heads, added), layer.mixed)
    mixed += x
    _normalise(mixed, layer.mixed_norm, weights.eps)
    wide = _linear(mixed, layer.wide)
    ACTIVATIONS[weights.activation](wide.reshape(-1))
    out = _linear(wide, layer.narrow)
    out += mixed
    _normalise(out, layer.norm, weights.eps)
    return out


def _attention(asked: Floats, shape: tuple[int, int], heads: int, added: Floats | None) -> Floats:
    """Mix the values of each text's tokens by the softmax of query times key, in every head."""
    width = asked.shape[1] // 3
    parts = asked.reshape(*shape, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)  # (3, texts, heads, tokens, …)
    query, key, value = parts
    scores = query @ key.swapaxes(2, 3)
    if added is not None:
        scores += added
    scores -= scores.max(axis=3, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=3, keepdims=True)
    return (scores @ value).transpose(0, 2, 1, 3).reshape(-1, width)


def _added_to_attention(weights: Weights, lengths: npt.NDArray[np.int64], longest: int) -> Floats | None:
    """What attention adds: nothing is drawn from padding; the relative positions of tokens, where weights have them."""
    added: Floats | None = None
    if lengths.min() < longest:
        padding = np.arange(longest) >= lengths[:, np.newaxis]
        added = np.where(padding, FAR, np.float32(0))[:, np.newaxis, np.newaxis, :]
    if weights.relative is not None:
        by_distance = weights.relative[_buckets(longest, len(weights.relative))].transpose(2, 0, 1)[np.newaxis]
        added = by_distance if added is None else added + by_distance
    return added


def _buckets(longest: int, count: int) -> IDs:
    """Number of the bucket of every two positions: half of them for each direction, ever wider ones from half of that.

    source : Raffel et al. 2020, T5, §2.1
    """
    distance = np.arange(longest)[np.newaxis, :] - np.arange(longest)[:, np.newaxis]
    half = count // 2
    exact = half // 2
    far = np.maximum(np.abs(distance), 1)
    scaled = np.log(far / exact, dtype=np.float32) / np.log(_LARGEST_DISTANCE / exact) * (half - exact)
    wide = np.minimum(exact + scaled.astype(np.int64), half - 1)
    within: IDs = np.where(np.abs(distance) < exact, np.abs(distance), wide)
    return within + np.where(distance > 0, half, 0)


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
