"""Verdicts of one rater on a pair of texts, under swapped order, repetition and negation.

A unit is one pair of one instance. Each measure is a statistic of per-unit sums (`*_sums`) that add up, so
`analysis.intervals.bootstrap` can resample instances without seeing a verdict again.
"""

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError
from analysis.intervals.bootstrap import counted_rows, quotient
from analysis.types import FloatArray, check_columns, share_array, verdict_array, verdict_columns

SAME, FIRST, SECOND, MIXED = range(4)  # columns of `order_sums`


def first_sums(verdict: npt.ArrayLike, first_is_a: npt.ArrayLike) -> FloatArray:
    """Verdicts for the text shown first, and verdicts other than ties, per presentation, for `ratio`.

    verdict    : (n,) -1 (A), 0, +1 (B), NaN for missing; first_is_a : (n,) bool, whether A's text was shown first
    returns    : (n, 2) of 0 and 1; without position bias the ratio of the sums is near 1/2
    raises     : UnknownValue, ShapeError
    source     : the share of verdicts for the first place among all other than ties; Zheng et al. 2023, Judging
                 LLM-as-a-Judge, §3.3, names the bias
    """
    verdicts, a_first = verdict_array(verdict), np.asarray(first_is_a, dtype=bool)
    check_columns(verdicts, a_first)
    return counted_rows(np.where(a_first, -1, 1) == verdicts, np.abs(verdicts) == 1)


def order_sums(a_first: npt.ArrayLike, b_first: npt.ArrayLike) -> FloatArray:
    """The outcome of each pair that was judged in both orders, as one of four kinds.

    a_first, b_first : (n_units,) the verdict with A shown first, and with B shown first; -1 (A), 0, +1 (B), NaN
    returns          : (n_units, 4) of 0 and 1 in the columns SAME (one system twice, or two ties), FIRST (each time
                       the text shown first), SECOND (each time the second), MIXED (a tie and a preference);
                       all 0 where either verdict is missing
    raises           : UnknownValue, ShapeError
    source           : Zheng et al. 2023, Judging LLM-as-a-Judge, §3.3 (consistent, biased toward first, toward second)
    """
    with_a_first, with_b_first = verdict_columns(a_first, b_first)
    both = ~np.isnan(with_a_first) & ~np.isnan(with_b_first)
    same = both & (with_a_first == with_b_first)
    opposite = both & (with_a_first * with_b_first == -1)
    first = opposite & (with_a_first == -1)
    kinds = [same, first, opposite & ~first, both & ~same & ~opposite]
    return np.stack(kinds, axis=1).astype(np.float64)


def same_share(sums: FloatArray) -> FloatArray:
    """Share of pairs with the same verdict in both orders: the commutativity of Liu et al. 2024.

    sums    : (..., 4) summed `order_sums`
    returns : (...,) in [0, 1]; NaN without a pair that was judged in both orders
    source  : Liu et al. 2024, Aligning with Logic, §2.2 (commutativity); two ties count as the same answer
    """
    table = np.asarray(sums, dtype=np.float64)
    if table.shape[-1:] != (4,):
        raise ShapeError(f"need the four kinds on the last axis, got shape {table.shape}")
    return quotient(table[..., SAME], table.sum(axis=-1))


def self_agreement_sums(answers: npt.ArrayLike) -> FloatArray:
    """Repeated answers that equal the one given most often, and repeated answers, per presentation, for `ratio`.

    answers : (n_units, n_repeats) of -1, 0, +1, NaN for missing; the same question repeated
    returns : (n_units, 2); 0 and 0 for a unit with fewer than two answers. With two possible answers the ratio is in
              [1/2, 1], with three in [1/3, 1]
    raises  : UnknownValue, ShapeError
    source  : Liu et al. 2024, Aligning with Logic, §3.1 (share of the answers that equal the majority's)
    """
    units = verdict_array(answers)
    if units.ndim != 2:
        raise ShapeError(f"need (n_units, n_repeats) answers, got shape {units.shape}")
    counts = np.stack([(units == value).sum(axis=1) for value in (-1, 0, 1)], axis=1)
    answered = counts.sum(axis=1)
    most_frequent = counts.max(axis=1, initial=0)
    return np.where(answered[:, np.newaxis] > 1, np.stack([most_frequent, answered], axis=1), 0).astype(np.float64)


def negation_sums(plain: npt.ArrayLike, negated: npt.ArrayLike) -> FloatArray:
    """Negated questions answered as the plain ones imply, and questions answered both ways, for `ratio`.

    plain, negated : (n_units,) the *preferred* system by the plain and by the negated question of one presentation;
                     -1, 0, +1, NaN. To call B the worse text is to prefer A, so the opposite answer is the same verdict
                     here; a tie agrees with a tie only
    returns        : (n_units, 2) of 0 and 1
    raises         : UnknownValue, ShapeError
    source         : Liu et al. 2024, Aligning with Logic, §2.3 (negation invariance)
    """
    plain_verdict, negated_verdict = verdict_columns(plain, negated)
    return counted_rows(plain_verdict == negated_verdict, ~np.isnan(plain_verdict + negated_verdict))


def averaged_verdict(p_first: npt.ArrayLike, p_second: npt.ArrayLike) -> FloatArray:
    """The verdict of the mean of two probabilities that B is preferred, one from each order of the texts.

    p_first, p_second : (n_units,) in [0, 1], NaN for missing
    returns           : (n_units,) +1 above 1/2, -1 below it, 0 at exactly 1/2; NaN where either is missing
    raises            : ShapeError; UnknownValue for a value outside [0, 1]
    source            : Liu et al. 2024, Aligning with Logic, §5 (calibration)
    """
    first_order, second_order = share_array("probabilities", p_first), share_array("probabilities", p_second)
    check_columns(first_order, second_order)
    # The sum, not the mean: whether it is above 1 is decided without a rounding of its own.
    return np.sign(first_order + second_order - 1)
