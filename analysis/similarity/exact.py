"""Exact match: whether two texts are the same."""

import unicodedata
from collections.abc import Sequence

import numpy as np

from analysis.similarity.counting import distinct
from analysis.types import BoolArray, FloatArray


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
