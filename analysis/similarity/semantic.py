"""Semantic similarities over a model that the caller supplies: text vectors, token vectors, or named entities."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from analysis.errors import NotFinite, ShapeError
from analysis.similarity.characters import jaccard
from analysis.similarity.counting import Distinct, distinct
from analysis.types import FloatArray

BLOCK = 2**24  # most cells of the table of tokens by tokens held at a time: 64 MiB in single precision

Extractor = Callable[[Sequence[str]], Sequence[frozenset[str]]]  # the named entities of each text


class Encoder(Protocol):
    """A model that gives a text one vector."""

    def encode(self, texts: Sequence[str]) -> npt.ArrayLike:
        """One vector for each text, as (n, d)."""


class TokenEncoder(Protocol):
    """A model that gives a text one vector for each of its tokens.

    An encoder that leaves its model's special tokens in, such as [CLS] and [SEP], says so by an attribute `specials`:
    how many rows of every array they take at its start and at its end, as (1, 1). Without it all are the text's.
    """

    def encode_tokens(self, texts: Sequence[str]) -> Sequence[npt.ArrayLike]:
        """An array (t_i, d) for each text."""


def pairwise_cosine(texts_a: Sequence[str], texts_b: Sequence[str], encoder: Encoder) -> FloatArray:
    """Cosine of the vectors of every text of one list and every text of the other.

    returns : (len(texts_a), len(texts_b)) in [-1, 1], symmetric, exactly 1 for equal texts; an empty text (nothing but
              white space) is not shown to the model, nor compared where its vector is 0: 1 for two such texts if they
              are equal or both empty, 0 for one beside any other
    raises  : ShapeError if the model gives anything but one vector a text; NotFinite naming the text whose vector
              holds NaN or infinity
    source  : Ghosh et al. 2024, Compare without Despair, appendix E
    """
    unique = distinct(texts_a, texts_b)
    written = [row for row, text in enumerate(unique.texts) if text.strip()]
    values = np.eye(len(unique.texts))
    if written:
        written_texts = [unique.texts[row] for row in written]
        vectors = np.asarray(encoder.encode(written_texts), dtype=np.float64)
        if vectors.ndim != 2 or len(vectors) != len(written_texts):
            raise ShapeError(
                f"the encoder gave an array {vectors.shape} for {len(written_texts)} texts; needed one vector each"
            )
        _check_finite([vectors[row : row + 1] for row in range(len(written_texts))], written_texts)
        directions, has_one = _directions(vectors)
        # Rounding can take the cosine of a vector with itself past 1.
        cosines = np.clip(directions @ directions.T, -1.0, 1.0)
        cosines[np.ix_(~has_one, ~has_one)] = 0.0
        np.fill_diagonal(cosines, 1.0)  # of a text with itself, whatever rounding made of it
        values[np.ix_(written, written)] = cosines
    return _with_empty(values, unique)


def pairwise_bertscore(
    texts_a: Sequence[str], texts_b: Sequence[str], tokens: TokenEncoder, *, match_specials: bool = False
) -> FloatArray:
    """BERTScore F1 of every text of one list with every text of the other.

    Every token is matched with the one of the other text whose vector has the greatest cosine with its own; the
    means of these cosines over the tokens of either text are precision P and recall R, and F1 = 2PR / (P + R).
    There are no weights by rarity (idf), and values are not rescaled by a baseline.

    match_specials : whether a special token can be the one that is matched, as in the bert-score package; it is not
                     averaged over there either. By default special tokens take no part
    returns        : (len(texts_a), len(texts_b)), symmetric, at most 1 but for rounding, and exactly 1 for equal
                     texts; 0 for others where P + R is 0; for texts that are empty (nothing but white space; not shown
                     to the model) or in which the model finds no token, 1 for two if they are equal or both empty, 0
                     for one beside any other
    raises         : ShapeError if the model gives other than an array (t, d) for each text; NotFinite naming the text
                     whose vectors hold NaN or infinity
    source         : Zhang et al. 2020, BERTScore, §3; with match_specials bert-score 0.3.13 without idf and baseline
    """
    unique = distinct(texts_a, texts_b)
    vectors_of_tokens = _token_vectors(unique.texts, tokens, match_specials)
    values = np.eye(len(unique.texts))
    if vectors_of_tokens.rows:
        best = _mean_best_match(vectors_of_tokens)
        both = best + best.T
        values[np.ix_(vectors_of_tokens.rows, vectors_of_tokens.rows)] = np.divide(
            2 * best * best.T, both, out=np.zeros(both.shape), where=both != 0
        )
        np.fill_diagonal(values, 1.0)  # every token is its own best match, whatever rounding made of it
    return _with_empty(values, unique)


def pairwise_entities(texts_a: Sequence[str], texts_b: Sequence[str], extractor: Extractor) -> FloatArray:
    """Jaccard index of the named entities in every text of one list and every text of the other.

    returns : (len(texts_a), len(texts_b)) in [0, 1], symmetric; 1 for two texts without an entity, as they name the
              same; 1 for two empty texts (nothing but white space, not shown to the model), 0 for one beside any other
    raises  : ShapeError if the extractor gives other than one set a text
    source  : Ghosh et al. 2024, Compare without Despair, appendix E, note 13
    """
    unique = distinct(texts_a, texts_b)
    written_texts = [text for text in unique.texts if text.strip()]
    vectors_of_tokens = extractor(written_texts) if written_texts else []
    if len(vectors_of_tokens) != len(written_texts):
        raise ShapeError(f"the extractor gave {len(vectors_of_tokens)} sets of entities for {len(written_texts)} texts")
    sets = iter(vectors_of_tokens)
    named = [frozenset(next(sets)) if text.strip() else frozenset[str]() for text in unique.texts]
    shares = jaccard(named, unique)
    empty = np.array([not text.strip() for text in unique.texts], dtype=bool)
    one_empty = empty[unique.rows_a][:, np.newaxis] != empty[unique.rows_b][np.newaxis, :]
    return np.where(one_empty, 0.0, shares)


class _TokenVectors(NamedTuple):
    """The texts that have tokens: their rows among all, unit vectors one text after another, and what is averaged."""

    rows: list[int]
    vectors: np.ndarray
    starts: npt.NDArray[np.int64]  # of each text, and the end of the last
    counted: npt.NDArray[np.bool_]  # (tokens,), False for special ones


def _token_vectors(texts: Sequence[str], tokens: TokenEncoder, match_specials: bool) -> _TokenVectors:
    written = [row for row, text in enumerate(texts) if text.strip()]
    written_texts = [texts[row] for row in written]
    arrays = [np.asarray(array) for array in tokens.encode_tokens(written_texts)] if written_texts else []
    if len(arrays) != len(written_texts):
        raise ShapeError(f"the token encoder gave {len(arrays)} arrays for {len(written_texts)} texts")
    for array, text in zip(arrays, written_texts, strict=True):
        if array.ndim != 2 or (len(array) and array.shape[1] != arrays[0].shape[1]):
            raise ShapeError(
                f"the token encoder gave an array {array.shape} for the text {_start(text)}; needed (t, d)"
            )
    first, last = getattr(tokens, "specials", (0, 0))
    long_enough = [index for index, array in enumerate(arrays) if len(array) > first + last]
    arrays, written_texts = [arrays[index] for index in long_enough], [written_texts[index] for index in long_enough]
    if not match_specials:
        arrays = [array[first : len(array) - last] for array in arrays]
        first = last = 0
    _check_finite(arrays, written_texts)
    lengths = np.array([len(array) for array in arrays], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    counted = np.ones(starts[-1], dtype=bool)
    for start, stop in pairwise(starts):
        counted[start : start + first] = counted[stop - last : stop] = False
    vectors = _directions(np.concatenate(arrays))[0] if arrays else np.zeros((0, 0))
    return _TokenVectors([written[index] for index in long_enough], vectors, starts, counted)


def _mean_best_match(vectors_of_tokens: _TokenVectors) -> FloatArray:
    """Mean over the tokens of text i of the greatest cosine with a token of text j, (texts, texts)."""
    vectors, starts = vectors_of_tokens.vectors, vectors_of_tokens.starts
    best = np.empty((len(starts) - 1, len(vectors)), dtype=vectors.dtype)
    for low, high in _blocks(starts):
        block = vectors[starts[low] : starts[high]]
        # Of a whole set, NumPy computes only half of the product: it is one array with its own transpose.
        cosines = (vectors if len(block) == len(vectors) else block) @ vectors.T
        for text in range(low, high):
            cosines[starts[text] - starts[low] : starts[text + 1] - starts[low]].max(axis=0, out=best[text])
    weighted = np.where(vectors_of_tokens.counted, best, 0).astype(np.float64)
    averaged = np.add.reduceat(vectors_of_tokens.counted.astype(np.float64), starts[:-1])
    means: FloatArray = (np.add.reduceat(weighted, starts[:-1], axis=1) / averaged).T
    return means


def _blocks(starts: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Runs of texts, as (first, one past the last), whose tokens by all tokens stay within a block."""
    max_n = max(1, BLOCK // int(starts[-1]))
    edges = [0]
    for text in range(1, len(starts) - 1):
        if starts[text + 1] - starts[edges[-1]] > max_n:
            edges.append(text)
    return list(pairwise([*edges, len(starts) - 1]))


def _directions(vectors: np.ndarray) -> tuple[np.ndarray, npt.NDArray[np.bool_]]:
    """Vectors of length 1, in single precision if they came so, and which have a direction: one of 0 stays 0."""
    exact = vectors if vectors.dtype in (np.float32, np.float64) else vectors.astype(np.float64)
    norms = np.sqrt(np.einsum("ij,ij->i", exact, exact))[:, np.newaxis]
    return np.divide(exact, norms, out=np.zeros_like(exact), where=norms > 0), norms[:, 0] > 0


def _with_empty(values: FloatArray, unique: Distinct) -> FloatArray:
    """Lay the values of distinct texts out as the lists ask, empty texts being all the same."""
    empty = np.array([not text.strip() for text in unique.texts], dtype=bool)
    values[np.ix_(empty, empty)] = 1.0
    return values[unique.rows_a[:, np.newaxis], unique.rows_b[np.newaxis, :]]


def _check_finite(arrays: Sequence[np.ndarray], texts: Sequence[str]) -> None:
    if not arrays or np.isfinite(np.concatenate(arrays)).all():
        return
    bad = [text for array, text in zip(arrays, texts, strict=True) if not np.isfinite(array).all()]
    raise NotFinite(
        f"the model gave NaN or infinity for {len(bad)} of {len(texts)} texts, first for {_start(bad[0])}; "
        "leave the text out, or take another model",
        text=bad[0],
    )


def _start(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")
