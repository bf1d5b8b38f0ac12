"""Sentence BLEU, for all pairs of two lists of texts at once."""

import re
from collections.abc import Sequence

import numpy as np

from analysis.similarity.counting import distinct, encode_units, overlaps
from analysis.types import FloatArray, IntArray

ORDER = 4  # the longest n-grams that count

# Every ASCII sign stands alone, but for the apostrophe, and for hyphen, comma and full stop, which have rules of their own.
_SIGNS = str.maketrans(
    {sign: f" {sign} " for sign in map(chr, range(0x20, 0x7F)) if not sign.isalnum() and sign not in "'-,."}
)
_AFTER_NO_DIGIT = re.compile(r"([^0-9])([.,])")
_BEFORE_NO_DIGIT = re.compile(r"([.,])([^0-9])")
_HYPHEN_AFTER_DIGIT = re.compile(r"([0-9])-")
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))  # in this order: &amp;lt; becomes <


def pairwise_bleu(texts_a: Sequence[str], texts_b: Sequence[str]) -> FloatArray:
    """Sentence BLEU of every text of one list with every text of the other, the one with more tokens as the reference.

        BLEU = exp(1 - r / h) · (p₁ p₂ p₃ p₄)^(1/4)

    with h and r the tokens of the shorter and of the longer text, and pₙ the share of the shorter text's sequences of n
    tokens that the longer one has too. A pₙ without a match counts as half a match, the next one as a quarter, and so on.

    returns : (len(texts_a), len(texts_b)) in [0, 1], symmetric: texts of equal length have the same BLEU in both
              directions; 0 where two texts have no token in common, so also for two empty ones
    source  : Papineni et al. 2002, BLEU; sacrebleu 2, `sentence_bleu` with its defaults, divided by 100: tokenizer
              13a, up to four words, orders that the shorter text has none of left out, exponential smoothing
    """
    unique = distinct(texts_a, texts_b)
    words = encode_units([tokens(text) for text in unique.texts])
    length_a = words.lengths[unique.rows_a][:, np.newaxis]
    length_b = words.lengths[unique.rows_b][np.newaxis, :]
    shorter, longer = np.minimum(length_a, length_b), np.maximum(length_a, length_b)
    log_precisions = np.zeros(shorter.shape)
    halvings = np.zeros(shorter.shape)
    matched = np.zeros(shorter.shape, dtype=bool)
    for n, common in enumerate(overlaps(words, unique, ORDER), start=1):
        matched |= common > 0
        counted = shorter >= n
        missed = counted & (common == 0)
        halvings += missed  # an order without a match counts as half a match, the next such one as a quarter
        hits = np.where(missed, 0.5**halvings, common)
        log_precisions += np.log(np.divide(hits, shorter - n + 1, out=np.ones(hits.shape), where=counted))
    return _bleu(log_precisions, matched, shorter, longer)


def tokens(text: str) -> list[str]:
    """Tokens of sacrebleu's default tokenizer, known as 13a."""
    line = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in line:
        for entity, sign in _ENTITIES:
            line = line.replace(entity, sign)
    line = f" {line} ".translate(_SIGNS)
    line = _AFTER_NO_DIGIT.sub(r"\1 \2 ", line)
    line = _BEFORE_NO_DIGIT.sub(r" \1 \2", line)
    return _HYPHEN_AFTER_DIGIT.sub(r"\1 - ", line).split()


def _bleu(log_precisions: FloatArray, matched: np.ndarray, shorter: IntArray, longer: IntArray) -> FloatArray:
    """Geometric mean of the precisions times the brevity penalty. 0 without a match."""
    orders = np.clip(shorter, 1, ORDER)
    brevity = 1 - longer / np.maximum(shorter, 1)
    value: FloatArray = np.where(matched, np.exp(brevity + log_precisions / orders), 0.0)
    return value
