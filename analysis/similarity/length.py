"""Length penalty: texts of unequal length count as less similar."""

from collections.abc import Sequence

import numpy as np

from analysis.types import FloatArray


def length_penalty(texts_a: Sequence[str], texts_b: Sequence[str]) -> FloatArray:
    """exp(1 - longer / shorter) of every pair of texts, lengths in NLTK word tokens.

    returns : (len(texts_a), len(texts_b)) in [0, 1], symmetric; 1 for equal lengths, 0 for a text without a
              token against one with some, 1 for two without
    source  : Ghosh et al. 2024, Compare without Despair, note 5, with the longer text as the reference
    """
    counts = {text: token_count(text) for text in {*texts_a, *texts_b}}
    length_a = np.array([counts[text] for text in texts_a], dtype=np.float64)[:, np.newaxis]
    length_b = np.array([counts[text] for text in texts_b], dtype=np.float64)[np.newaxis, :]
    longer, shorter = np.maximum(length_a, length_b), np.minimum(length_a, length_b)
    # Starting from infinity makes exp give 0 where only the shorter text is empty.
    ratio = np.divide(longer, shorter, out=np.full(longer.shape, np.inf), where=shorter > 0)
    penalty: FloatArray = np.exp(1 - np.where(longer == shorter, 1.0, ratio))
    return penalty


def token_count(text: str) -> int:
    """Tokens of NLTK's word tokenizer on the text as one line, which needs no downloaded data."""
    # NLTK is 250 modules: only who computes similarities pays for them, not every web process.
    from nltk.tokenize import word_tokenize  # type: ignore[import-untyped]

    return len(word_tokenize(text, preserve_line=True))
