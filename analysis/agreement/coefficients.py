"""Agreement between raters: raw, Krippendorff's alpha, and Gwet's coefficients.

A unit is one pair of one instance. Each measure is a statistic of per-unit sums (`*_sums`, `coincidences`) that add up, so `analysis.intervals.bootstrap` can resample instances without seeing a rating again.
"""

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError, UnknownValue
from analysis.intervals.bootstrap import quotient, ratio
from analysis.types import FloatArray, verdict_array

Level = Literal["nominal", "ordinal", "interval"]
VALUES = np.array([-1.0, 0.0, 1.0])  # rows and columns of every 3 x 3 table, in this order
DEGREES = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])  # the same of 5 x 5 tables


def agreement_sums(ratings: npt.ArrayLike) -> FloatArray:
    """Agreeing rater pairs and all rater pairs per unit, for `ratio`.

    ratings : (n_units, n_raters) of -1, 0, +1, NaN for missing
    returns : (n_units, 2); a unit with fewer than two ratings adds nothing
    """
    return agreement_sums_of_counts(value_counts(ratings))


def agreement_sums_of_counts(counts: FloatArray) -> FloatArray:
    """`agreement_sums` of units whose votes are counted, (n_units, n_values)."""
    raters = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1) / 2
    return np.stack([agreeing, raters * (raters - 1) / 2], axis=1)


def raw_agreement(ratings: npt.ArrayLike) -> float:
    """Share of agreeing rater pairs among all rater pairs, pooled over units. A tie agrees with a tie only.

    ratings : (n_units, n_raters) of -1, 0, +1, NaN for missing
    returns : in [0, 1]; NaN if no unit has two ratings
    raises  : UnknownValue for other ratings; ShapeError unless 2-D
    """
    return float(ratio(agreement_sums(ratings).sum(axis=0)))


def coincidences(ratings: npt.ArrayLike) -> FloatArray:
    """Each unit's part of Krippendorff's coincidence matrix.

        o(v, w) = Σ_u n_u(v) (n_u(w) - [v = w]) / (m_u - 1)

    with n_u(v) ratings of value v among the m_u ratings of unit u.

    ratings : (n_units, n_raters) of -1, 0, +1, NaN for missing
    returns : (n_units, 3, 3) over -1, 0, +1; a unit with m >= 2 ratings sums to m, any other is all 0
    source  : Krippendorff 2004, Content Analysis, §11.3
    """
    return coincidences_of_counts(value_counts(ratings))


def alpha_from_coincidences(matrix: npt.ArrayLike, level: Level = "ordinal") -> FloatArray:
    """Krippendorff's alpha of coincidence matrices summed over units.

        α = 1 - (n - 1) Σ o(v, w) d(v, w) / Σ n(v) n(w) d(v, w)

    with o the coincidences, n(v) = Σ_w o(v, w), n = Σ_v n(v), and d the squared distance of two values by the level: the
    ordinal one is between mid-ranks, for v the sum of n over smaller values plus n(v) / 2.

    matrix  : (..., 3, 3) of verdicts, or (..., 5, 5) of degrees
    level   : how values differ: "nominal" all alike, "interval" by squared distance, "ordinal" by squared
              rank distance under the matrix's own margins
    returns : (...,) at most 1, a scalar for one matrix; NaN without variation or without pairable values
    raises  : ShapeError, UnknownValue for another level
    source  : Krippendorff 2004, Content Analysis, §11.3 and eq. 11.4
    """
    observed = np.asarray(matrix, dtype=np.float64)
    if observed.shape[-2:] not in ((3, 3), (5, 5)):
        raise ShapeError(f"need (..., 3, 3) or (..., 5, 5) coincidences, got {observed.shape}")
    margin = observed.sum(axis=-1)
    distance = _distances(margin, level)
    disagreed = (observed * distance).sum(axis=(-2, -1))
    expected = (margin[..., :, np.newaxis] * margin[..., np.newaxis, :] * distance).sum(axis=(-2, -1))
    return 1 - quotient((margin.sum(axis=-1) - 1) * disagreed, expected)


def krippendorff_alpha(ratings: npt.ArrayLike, level: Level = "ordinal") -> float:
    """Krippendorff's alpha: 1 for perfect agreement, 0 for chance agreement. Raters may be missing.

    ratings : (n_units, n_raters) of -1, 0, +1, NaN for missing; a unit with one rating plays no part
    returns : at most 1; NaN if all pairable ratings are alike or there are none
    raises  : UnknownValue, ShapeError
    source  : Krippendorff 2004, Content Analysis, §11.3
    """
    return float(alpha_from_coincidences(coincidences(ratings).sum(axis=0), level))


def degrees(verdict: npt.ArrayLike, strength: npt.ArrayLike) -> FloatArray:
    """Verdicts refined by how much one text is preferred.

    verdict  : (...) of -1, 0, +1, NaN for missing
    strength : (...) 1 slightly, 2 much, NaN where it is not known; of a preference, ignored at a tie
    returns  : (...) of -2, -1, 0, 1, 2, NaN for a missing verdict and for a preference of unknown strength
    raises   : UnknownValue, ShapeError if the two shapes differ
    """
    sides, strengths = verdict_array(verdict), np.asarray(strength, dtype=np.float64)
    if sides.shape != strengths.shape:
        raise ShapeError(f"need two arrays of one shape, got {sides.shape} and {strengths.shape}")
    if unknown := set(strengths[~np.isnan(strengths)].tolist()) - {1.0, 2.0}:
        raise UnknownValue(f"a strength is 1 or 2, got {sorted(unknown)[0]}")
    return np.where(sides == 0, 0.0, sides * strengths)


def degree_coincidences(ratings: npt.ArrayLike) -> FloatArray:
    """Each unit's part of Krippendorff's coincidence matrix over the five degrees.

    ratings : (n_units, n_raters) of -2, -1, 0, 1, 2, NaN for missing
    returns : (n_units, 5, 5) over -2 to 2; a unit with m >= 2 ratings sums to m, any other is all 0
    raises  : UnknownValue for other ratings; ShapeError unless 2-D
    source  : Krippendorff 2004, Content Analysis, §11.3
    """
    units = np.asarray(ratings, dtype=np.float64)
    degrees = units[~np.isnan(units)]
    if strangers := set(degrees.tolist()) - set(DEGREES.tolist()):
        raise UnknownValue(f"a degree is -2, -1, 0, 1 or 2, got {sorted(strangers)[0]}")
    return coincidences_of_counts(_counts_of(units, DEGREES))


def degree_alpha_from_coincidences(matrix: npt.ArrayLike) -> FloatArray:
    """Ordinal Krippendorff's alpha of five degrees, as `alpha_from_coincidences`.

    matrix  : (..., 5, 5)
    returns : (...,) at most 1, a scalar for one matrix; NaN without variation or without pairable values
    raises  : ShapeError
    source  : Krippendorff 2004, Content Analysis, §11.3 and eq. 11.4, ordinal
    """
    if np.shape(matrix)[-2:] != (5, 5):
        raise ShapeError(f"need (..., 5, 5) coincidences, got {np.shape(matrix)}")
    return alpha_from_coincidences(matrix)


def degree_alpha(ratings: npt.ArrayLike) -> float:
    """Ordinal Krippendorff's alpha of verdicts with their strengths, as `krippendorff_alpha`.

    ratings : (n_units, n_raters) of -2, -1, 0, 1, 2, NaN for missing; a unit with one rating plays no part
    returns : at most 1; NaN if all pairable ratings are alike or there are none
    raises  : UnknownValue, ShapeError
    source  : Krippendorff 2004, Content Analysis, §11.3
    """
    return float(degree_alpha_from_coincidences(degree_coincidences(ratings).sum(axis=0)))


def coincidences_of_counts(counts: FloatArray) -> FloatArray:
    """`coincidences` of units whose values are counted.

    counts  : (n_units, n_values) votes for each value
    returns : (n_units, n_values, n_values)
    """
    raters = counts.sum(axis=1)[:, np.newaxis, np.newaxis]
    pairs = counts[:, :, np.newaxis] * counts[:, np.newaxis, :]
    np.einsum("ijj->ij", pairs)[...] -= counts  # no rating is paired with itself
    shares: FloatArray = np.divide(pairs, raters - 1, out=np.zeros(pairs.shape), where=raters > 1)
    return shares


def majority_of_counts(counts: FloatArray) -> FloatArray:
    """`majority` of units with counted votes: (n_units, 3) over -1, 0, +1."""
    majority = np.maximum(np.maximum(counts[:, 0], counts[:, 1]), counts[:, 2])
    a, tie, b = (column == majority for column in counts.T)
    alone = (a ^ tie ^ b) & ~(a & tie & b) & (majority > 0)
    return np.where(alone, b.astype(np.float64) - a, np.nan)


def value_counts(ratings: npt.ArrayLike) -> FloatArray:
    """Count the votes of each unit for -1, 0 and +1: (n_units, 3)."""
    return _counts_of(verdict_array(ratings), VALUES)


def _counts_of(units: FloatArray, values: FloatArray) -> FloatArray:
    if units.ndim != 2:
        raise ShapeError(f"need (n_units, n_raters) ratings, got shape {units.shape}")
    counts = np.zeros((len(values), len(units)))
    for rater in units.T:  # by rater: sums along the short axis of units would take several times as long
        counts += rater == values[:, np.newaxis]
    return np.ascontiguousarray(counts.T)


def _distances(margin: FloatArray, level: Level) -> FloatArray:
    """Return squared differences between values, as (n, n) or, for ordinal, (..., n, n)."""
    if level not in get_args(Level):
        raise UnknownValue(f"unknown level {level!r}; known: {', '.join(get_args(Level))}")
    if level == "nominal":
        return 1 - np.eye(margin.shape[-1])
    # Half of the own margin and all margins below, so that distances are differences of mid-ranks.
    ranks = np.cumsum(margin, axis=-1) - margin / 2
    scale = ranks if level == "ordinal" else np.arange(margin.shape[-1], dtype=np.float64)
    squares: FloatArray = np.square(scale[..., :, np.newaxis] - scale[..., np.newaxis, :])
    return squares


def gwet_sums(counts: npt.ArrayLike) -> FloatArray:
    """Return the sums of each unit that, added over units, give Gwet's coefficients.

    counts  : (n_units, q) numbers of votes for each of q ordered kinds; q is 2 or more
    returns : (n_units, 4 + q) agreement without and with ordinal weights, whether the unit has two votes, whether it has any,
              and the share of each kind
    raises  : ShapeError for another shape; UnknownValue for a negative number
    """
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2:
        raise ShapeError(f"need (n_units, q) numbers of votes of two kinds or more, got {table.shape}")
    if (table < 0).any():
        raise UnknownValue("numbers of votes are not negative")
    votes = table.sum(axis=1)
    agreements = [
        quotient((table * (table @ weights - 1)).sum(axis=1), votes * (votes - 1))
        for weights in (np.eye(table.shape[1]), ordinal_weights(table.shape[1]))
    ]
    shared, rated = votes > 1, votes > 0
    columns = [np.where(shared, agreement, 0.0) for agreement in agreements]
    shares = np.where(rated[:, np.newaxis], table / np.maximum(votes, 1)[:, np.newaxis], 0.0)
    return np.column_stack([*columns, shared, rated, shares])


def gwet_from_sums(sums: npt.ArrayLike, *, ordinal: bool = False) -> FloatArray:
    """Gwet's AC1, or AC2 with ordinal weights.

        AC = (p_a - p_e) / (1 - p_e),  p_e = T / (q (q - 1)) Σ π_k (1 - π_k)

    with p_a the mean agreement of units with two votes or more, π_k the mean share of kind k over units, and T the sum of all
    weights, which is q for AC1.

    sums    : (..., 4 + q) sums of `gwet_sums` over units
    returns : (...) at most 1; NaN where no unit has two votes
    source  : Gwet 2008, Computing inter-rater reliability and its variance in the presence of high agreement, British Journal of
              Mathematical and Statistical Psychology 61, eq. 5 to 7; Gwet 2014, Handbook of Inter-Rater Reliability, §3.5 and 4.7
    """
    table = np.asarray(sums, dtype=np.float64)
    q = table.shape[-1] - 4
    observed = quotient(table[..., int(ordinal)], table[..., 2])
    shares = quotient(table[..., 4:], table[..., 3:4])
    total = float(ordinal_weights(q).sum()) if ordinal else float(q)
    expected = total / (q * (q - 1)) * (shares * (1 - shares)).sum(axis=-1)
    return quotient(observed - expected, 1 - expected)


def ordinal_weights(q: int) -> FloatArray:
    """Return a weight for every two kinds: 1 for equal ones, and less for distant ones.

    returns : (q, q) 1 - C(|k - l| + 1, 2) / C(q, 2)
    source  : Gwet 2014, Handbook of Inter-Rater Reliability, §3.5
    """
    distance = np.abs(np.subtract.outer(np.arange(q), np.arange(q)))
    weights: FloatArray = 1 - distance * (distance + 1) / (q * (q - 1))
    return weights
