"""ROUGE-1 F1 with Porter stemming, for all pairs of two lists of texts at once."""

import re
from collections.abc import Sequence

import numpy as np

from analysis.similarity.counting import distinct, encode_units, overlaps
from analysis.similarity.stems import stem
from analysis.types import FloatArray

WORD = re.compile(r"[a-z0-9]+")
SHORT = 3  # words up to this many characters are not stemmed


def pairwise_rouge1(texts_a: Sequence[str], texts_b: Sequence[str]) -> FloatArray:
    """ROUGE-1 F1 of every text of one list with every text of the other, as rouge-score defines it.

        F1 = 2 o / (words of one + words of the other)

    with o the words that two texts have in common; a word counts as often as both have it.

    returns : (len(texts_a), len(texts_b)) in [0, 1], symmetric; 0 for two texts without a Latin letter or
              digit, since only those make words here
    source  : Lin 2004, ROUGE, §2, as F1 with Porter stems; rouge-score 0.1.2, `rouge1`, `use_stemmer=True`
    """
    unique = distinct(texts_a, texts_b)
    words = encode_units([tokens(text) for text in unique.texts])
    total = words.lengths[unique.rows_a][:, np.newaxis] + words.lengths[unique.rows_b][np.newaxis, :]
    (common,) = overlaps(words, unique)
    # With P = common / |b| and R = common / |a|, F1 = 2PR / (P + R) is 2 common / (|a| + |b|).
    f1: FloatArray = np.divide(2 * common, total, out=np.zeros(total.shape), where=total > 0)
    return f1


def tokens(text: str) -> list[str]:
    """Stems of the runs of a-z and 0-9 in the lower-cased text."""
    return [stem(word) if len(word) > SHORT else word for word in WORD.findall(text.lower())]
