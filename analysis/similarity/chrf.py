"""chrF, the F score of character n-grams, for all pairs of two lists of texts at once."""

from collections.abc import Sequence

import numpy as np

from analysis.similarity.counting import distinct, encode_units, overlaps
from analysis.types import FloatArray

ORDER = 6  # the longest n-grams of characters that count
BETA = 2  # recall counts this many times as much as precision


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
