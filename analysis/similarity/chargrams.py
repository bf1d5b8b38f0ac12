"""Character n-gram Jaccard: the share of their short strings that two texts have in common, in any script."""

from collections.abc import Sequence

import numpy as np

from analysis.similarity.counting import Distinct, distinct, encode_units, overlaps
from analysis.similarity.exact import plain
from analysis.types import FloatArray

LENGTH = 3  # characters of an n-gram


def pairwise_chargrams(texts_a: Sequence[str], texts_b: Sequence[str], n: int = LENGTH) -> FloatArray:
    """Jaccard index of the sets of character n-grams of every text of one list with every text of the other.

    Characters are code points of the text in composed form (NFC), with every run of white space as one blank; a
    text shorter than n is one n-gram, itself.

    returns : (len(texts_a), len(texts_b)) in [0, 1], symmetric; 1 for two empty texts, 0 for one beside a text that
              is not
    """
    unique = distinct(texts_a, texts_b)
    return jaccard([grams(text, n) for text in unique.texts], unique)


def grams(text: str, n: int) -> frozenset[str]:
    """The distinct n-grams of a text. A shorter text is one n-gram, and an empty one has none."""
    line = " ".join(plain(text).split())
    return frozenset(line[start : start + n] for start in range(max(1, len(line) - n + 1)) if line)


def jaccard(sets: Sequence[frozenset[str]], unique: Distinct) -> FloatArray:
    """Size of the intersection by size of the union of two sets, one set for each of `places.texts`.

    returns : (len(rows_a), len(rows_b)) in [0, 1]; 1 for two empty sets
    """
    numbers = encode_units(sets)
    (common,) = overlaps(numbers, unique)
    union = numbers.lengths[unique.rows_a][:, np.newaxis] + numbers.lengths[unique.rows_b][np.newaxis, :] - common
    share: FloatArray = np.divide(common, union, out=np.ones(union.shape), where=union > 0)
    return share
