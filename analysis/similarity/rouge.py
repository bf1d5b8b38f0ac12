"""ROUGE-1 F1 with Porter stemming, for all pairs of two lists of texts at once."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from analysis.types import FloatArray, IntArray

WORD = re.compile(r"[a-z0-9]+")
SHORT = 3  # words up to this many characters are not stemmed
BLOCK = 2**22  # most cells of the count table held at a time: 32 MiB


def pairwise_rouge1(texts_a: Sequence[str], texts_b: Sequence[str]) -> FloatArray:
    """ROUGE-1 F1 of every text of one list with every text of the other, as rouge-score defines it.

    returns : (len(texts_a), len(texts_b)) in [0, 1], symmetric; 0 for two texts without a Latin letter or
              digit, since only those make words here
    source  : Lin 2004, ROUGE, §2, as F1 with Porter stems; rouge-score 0.1.2, `rouge1`, `use_stemmer=True`
    """
    counts = {text: Counter(tokens(text)) for text in {*texts_a, *texts_b}}
    bags_a, bags_b = [counts[text] for text in texts_a], [counts[text] for text in texts_b]
    total_a = np.array([bag.total() for bag in bags_a], dtype=np.float64)[:, np.newaxis]
    total_b = np.array([bag.total() for bag in bags_b], dtype=np.float64)[np.newaxis, :]
    total = total_a + total_b
    # With P = overlap / |b| and R = overlap / |a|, F1 = 2PR / (P + R) is 2 overlap / (|a| + |b|).
    doubled = 2 * _overlaps(bags_a, bags_b)
    f1: FloatArray = np.divide(doubled, total, out=np.zeros(total.shape), where=total > 0)
    return f1


def tokens(text: str) -> list[str]:
    """Stems of the runs of a-z and 0-9 in the lower-cased text."""
    return [_stem(word) if len(word) > SHORT else word for word in WORD.findall(text.lower())]


@lru_cache(maxsize=2**16)
def _stem(word: str) -> str:
    return str(_stemmer().stem(word))


@cache
def _stemmer() -> Any:
    # NLTK is 250 modules: only who computes similarities pays for them, not every web process.
    from nltk.stem.porter import PorterStemmer  # type: ignore[import-untyped]

    return PorterStemmer()


def _overlaps(bags_a: Sequence[Counter[str]], bags_b: Sequence[Counter[str]]) -> FloatArray:
    """Clipped common word counts, (len(bags_a), len(bags_b)); only words that both lists use get a column."""
    shared = set().union(*bags_a) & set().union(*bags_b)
    column = {word: index for index, word in enumerate(shared)}
    rows = [_sparse(bag, column) for bag in bags_a]
    overlaps = np.zeros((len(bags_a), len(bags_b)))
    step = max(1, BLOCK // max(1, len(column)))
    for start in range(0, len(bags_b), step):
        block = bags_b[start : start + step]
        table = np.zeros((len(column), len(block)), dtype=np.int64)
        for index, bag in enumerate(block):
            words, times = _sparse(bag, column)
            table[words, index] = times
        for index, (words, times) in enumerate(rows):
            overlaps[index, start : start + step] = np.minimum(table[words], times[:, np.newaxis]).sum(axis=0)
    return overlaps


def _sparse(bag: Counter[str], column: dict[str, int]) -> tuple[IntArray, IntArray]:
    shared = [(column[word], times) for word, times in bag.items() if word in column]
    cells = np.array(shared, dtype=np.int64).reshape(-1, 2)
    return cells[:, 0], cells[:, 1]
