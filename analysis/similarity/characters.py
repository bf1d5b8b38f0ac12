"""Similarities of texts by their characters, in any script: equality, common short strings, and chrF."""

import unicodedata
from collections.abc import Sequence

import numpy as np

from analysis.similarity.counting import Distinct, distinct, encode_units, overlaps
from analysis.types import BoolArray, FloatArray

LENGTH = 3  # characters of an n-gram of `pairwise_chargrams`
ORDER = 6  # the longest n-grams of characters that count in chrF
BETA = 2  # in chrF recall counts this many times as much as precision


def pairwise_exact(texts_a: Sequence[str], texts_b: Sequence[str]) -> FloatArray:
    """1 where two texts are equal, else 0.

    Letters composed in another way (é as one character or as e and an accent) are equal, and white space around a
    text does not count; case, punctuation and white space within it do.

    returns : (len(texts_a), len(texts_b)) of 0 and 1, symmetric; 1 for two empty texts
    """
    unique = distinct([plain(text) for text in texts_a], [plain(text) for text in texts_b])
    equal: BoolArray = unique.rows_a[:, np.newaxis] == unique.rows_b[np.newaxis, :]
    return equal.astype(np.float64)


def plain(text: str) -> str:
    """The text in Unicode's composed form (NFC), without white space around it."""
    return unicodedata.normalize("NFC", text).strip()


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


def pairwise_chrf(texts_a: Sequence[str], texts_b: Sequence[str]) -> FloatArray:
    """chrF2 of every text of one list with every text of the other, the one with more characters as the reference.

        chrF2 = 5 P R / (4 P + R)

    with P and R the mean shares of the shorter and of the longer text's sequences of 1 to 6 characters that the other has
    too. Characters are Unicode code points other than white space. Lengths of which the shorter text has no sequence are
    left out of the means.

    returns : (len(texts_a), len(texts_b)) in [0, 1], symmetric: texts of equal length have the same chrF in both
              directions; 0 where one is empty, also for two empty ones
    source  : Popović 2015, chrF; sacrebleu 2, `sentence_chrf` with its defaults, divided by 100
    """
    unique = distinct(texts_a, texts_b)
    characters = encode_units(["".join(text.split()) for text in unique.texts])
    length_a = characters.lengths[unique.rows_a][:, np.newaxis]
    length_b = characters.lengths[unique.rows_b][np.newaxis, :]
    shorter, longer = np.minimum(length_a, length_b), np.maximum(length_a, length_b)
    precision, recall = np.zeros(shorter.shape), np.zeros(shorter.shape)
    for n, common in enumerate(overlaps(characters, unique, ORDER), start=1):
        precision += common / np.maximum(shorter - n + 1, 1)
        recall += common / np.maximum(longer - n + 1, 1)
    orders = np.clip(shorter, 1, ORDER)  # those that both texts have n-grams of
    precision, recall = precision / orders, recall / orders
    weighted = BETA**2 * precision + recall
    score: FloatArray = np.divide(
        (1 + BETA**2) * precision * recall, weighted, out=np.zeros(weighted.shape), where=weighted > 0
    )
    return score
