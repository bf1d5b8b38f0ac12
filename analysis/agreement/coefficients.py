"""Agreement between raters: raw, Krippendorff's alpha, Cohen's kappa, and a judge against people.

A unit is one pair of one instance. Each measure is a statistic of per-unit sums (`*_sums`, `coincidences`,
`confusions`) that add up, so `analysis.intervals.bootstrap` can resample instances without seeing a rating again.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError, UnknownValue
from analysis.intervals.bootstrap import ratio
from analysis.types import FloatArray, verdict_array

Level = Literal["nominal", "ordinal", "interval"]
VALUES = np.array([-1.0, 0.0, 1.0])  # rows and columns of every 3 x 3 table, in this order
DEGREES = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])  # the same of 5 x 5 tables


@dataclass(frozen=True)
class Agreement:
    """A share, the number of comparisons it rests on, and those that could not be made (see each measure)."""

    value: float
    n: int
    left_out: int


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

    matrix  : (..., 3, 3)
    level   : how values differ: "nominal" all alike, "interval" by squared distance, "ordinal" by squared
              rank distance under the matrix's own margins
    returns : (...,) at most 1, a scalar for one matrix; NaN without variation or without pairable values
    raises  : ShapeError, UnknownValue for another level
    source  : Krippendorff 2004, Content Analysis, §11.3 and eq. 11.4
    """
    observed = np.asarray(matrix, dtype=np.float64)
    if observed.shape[-2:] != (3, 3):
        raise ShapeError(f"need (..., 3, 3) coincidences, got {observed.shape}")
    return _alpha(observed, _distances(observed.sum(axis=-1), level))


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
    """Krippendorff's alpha of five ordered degrees, from coincidence matrices summed over units.

    matrix  : (..., 5, 5)
    returns : (...,) at most 1, a scalar for one matrix; NaN without variation or without pairable values
    raises  : ShapeError
    source  : Krippendorff 2004, Content Analysis, §11.3 and eq. 11.4, ordinal
    """
    observed = np.asarray(matrix, dtype=np.float64)
    if observed.shape[-2:] != (5, 5):
        raise ShapeError(f"need (..., 5, 5) coincidences, got {observed.shape}")
    return _alpha(observed, _rank_distances(observed.sum(axis=-1)))


def degree_alpha(ratings: npt.ArrayLike) -> float:
    """Ordinal Krippendorff's alpha of verdicts with their strengths, as `krippendorff_alpha`.

    ratings : (n_units, n_raters) of -2, -1, 0, 1, 2, NaN for missing; a unit with one rating plays no part
    returns : at most 1; NaN if all pairable ratings are alike or there are none
    raises  : UnknownValue, ShapeError
    source  : Krippendorff 2004, Content Analysis, §11.3
    """
    return float(degree_alpha_from_coincidences(degree_coincidences(ratings).sum(axis=0)))


def confusions(x: npt.ArrayLike, y: npt.ArrayLike) -> FloatArray:
    """Each unit's part of the confusion matrix of two raters.

    x, y    : (n_units,) of -1, 0, +1, NaN for missing
    returns : (n_units, 3, 3), rows x, columns y over -1, 0, +1; all 0 where either is missing
    """
    first, second = verdict_array(x), verdict_array(y)
    if first.ndim != 1 or first.shape != second.shape:
        raise ShapeError(f"need two columns of one length, got {first.shape} and {second.shape}")
    rows, columns = first[:, np.newaxis] == VALUES, second[:, np.newaxis] == VALUES
    cells: FloatArray = (rows[:, :, np.newaxis] & columns[:, np.newaxis, :]).astype(np.float64)
    return cells


def kappa_from_confusions(matrix: npt.ArrayLike) -> FloatArray:
    """Cohen's kappa of confusion matrices summed over units: (agreed - chance) / (1 - chance).

    matrix  : (..., 3, 3)
    returns : (...,) at most 1; NaN if empty or both raters gave one and the same value throughout
    source  : Cohen 1960, A coefficient of agreement for nominal scales, eq. 1
    """
    counts = np.asarray(matrix, dtype=np.float64)
    if counts.shape[-2:] != (3, 3):
        raise ShapeError(f"need (..., 3, 3) confusions, got {counts.shape}")
    total = counts.sum(axis=(-2, -1))
    agreed = np.trace(counts, axis1=-2, axis2=-1)
    chance = (counts.sum(axis=-1) * counts.sum(axis=-2)).sum(axis=-1)
    # Both shares times total², so that whole counts stay whole and 1 - chance is 0 exactly when it should be.
    room = total**2 - chance
    undefined = np.full(total.shape, np.nan)
    kappa: FloatArray = np.divide(total * agreed - chance, room, out=undefined, where=room > 0)[()]
    return kappa


def cohen_kappa(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Cohen's unweighted kappa of two raters over A, tie and B, on the units that both rated.

    x, y    : (n_units,) of -1, 0, +1, NaN for missing
    returns : at most 1; NaN if no unit has both, or both gave one and the same value throughout
    raises  : UnknownValue, ShapeError
    source  : Cohen 1960, A coefficient of agreement for nominal scales, eq. 1
    """
    return float(kappa_from_confusions(confusions(x, y).sum(axis=0)))


def majority(people: npt.ArrayLike) -> FloatArray:
    """The verdict that more people gave than any other, per unit.

    people  : (n_units, n_raters) of -1, 0, +1, NaN for missing
    returns : (n_units,) -1, 0 or +1; NaN where the first place is shared or without a vote
    raises  : UnknownValue, ShapeError
    """
    return majority_of_counts(value_counts(people))


def vote_sums(judge: npt.ArrayLike, people: npt.ArrayLike) -> FloatArray:
    """Votes equal to the judge's verdict, and votes, per unit, for `ratio`. 0 and 0 without a verdict.

    judge   : (n_units,); people : (n_units, n_raters); both of -1, 0, +1, NaN for missing
    returns : (n_units, 2)
    """
    verdict, votes = _judge_and_people(judge, people)
    return vote_sums_of_counts(verdict, value_counts(votes))


def vote_sums_of_counts(verdict: FloatArray, counts: FloatArray) -> FloatArray:
    """`vote_sums` of counted votes of people: (n_units, 3) over -1, 0, +1."""
    judged = np.flatnonzero(~np.isnan(verdict))
    sums = np.zeros((len(verdict), 2))
    sums[judged, 0] = counts[judged, verdict[judged].astype(np.int64) + 1]
    sums[judged, 1] = (counts[:, 0] + counts[:, 1] + counts[:, 2])[judged]
    return sums


def votes_agreement(judge: npt.ArrayLike, people: npt.ArrayLike) -> Agreement:
    """Share of people's votes that equal the judge's verdict on the same pair. A tie equals a tie only.

    judge   : (n_units,); people : (n_units, n_raters); both of -1, 0, +1, NaN for missing
    returns : `Agreement` over votes; `left_out` counts votes on units where the judge has no verdict
    raises  : UnknownValue, ShapeError
    """
    sums = vote_sums(judge, people).sum(axis=0)
    votes = int((~np.isnan(verdict_array(people))).sum())
    return Agreement(float(ratio(sums)), int(sums[1]), votes - int(sums[1]))


def majority_sums(judge: npt.ArrayLike, people: npt.ArrayLike) -> FloatArray:
    """Judge's verdicts equal to people's majority, and units with both, for `ratio`.

    judge   : (n_units,); people : (n_units, n_raters); both of -1, 0, +1, NaN for missing
    returns : (n_units, 2) of 0 and 1
    """
    verdict, votes = _judge_and_people(judge, people)
    return majority_sums_of(verdict, majority(votes))


def majority_sums_of(verdict: FloatArray, crowd: FloatArray) -> FloatArray:
    """`majority_sums` where people's majority is known, (n_units,)."""
    return np.stack([verdict == crowd, ~np.isnan(verdict) & ~np.isnan(crowd)], axis=1).astype(np.float64)


def majority_agreement(judge: npt.ArrayLike, people: npt.ArrayLike) -> Agreement:
    """Share of units on which the judge gives the verdict that most people gave.

    judge   : (n_units,); people : (n_units, n_raters); both of -1, 0, +1, NaN for missing
    returns : `Agreement` over units; `left_out` counts units with a verdict and votes but without a majority
    raises  : UnknownValue, ShapeError
    """
    verdict, votes = _judge_and_people(judge, people)
    sums = majority_sums(verdict, votes).sum(axis=0)
    both = ~np.isnan(verdict) & ~np.isnan(votes).all(axis=1)
    return Agreement(float(ratio(sums)), int(sums[1]), int(both.sum()) - int(sums[1]))


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


def _alpha(observed: FloatArray, distance: FloatArray) -> FloatArray:
    margin = observed.sum(axis=-1)
    total = margin.sum(axis=-1)
    disagreed = (observed * distance).sum(axis=(-2, -1))
    expected = (margin[..., :, np.newaxis] * margin[..., np.newaxis, :] * distance).sum(axis=(-2, -1))
    undefined = np.full(total.shape, np.nan)
    alpha: FloatArray = 1 - np.divide((total - 1) * disagreed, expected, out=undefined, where=expected > 0)
    return alpha


def _distances(margin: FloatArray, level: Level) -> FloatArray:
    """Squared differences between the three values: (3, 3), and (..., 3, 3) for ordinal."""
    if level == "nominal":
        return 1 - np.eye(3)
    if level not in ("ordinal", "interval"):
        raise UnknownValue(f"unknown level {level!r}; known: {', '.join(get_args(Level))}")
    return _rank_distances(margin) if level == "ordinal" else _squares(VALUES)


def _rank_distances(margin: FloatArray) -> FloatArray:
    # Half of the own margin and all margins below, so that distances are differences of mid-ranks.
    return _squares(np.cumsum(margin, axis=-1) - margin / 2)


def _squares(scale: FloatArray) -> FloatArray:
    squares: FloatArray = np.square(scale[..., :, np.newaxis] - scale[..., np.newaxis, :])
    return squares


def _judge_and_people(judge: npt.ArrayLike, people: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    verdict, votes = verdict_array(judge), verdict_array(people)
    if verdict.ndim != 1 or votes.ndim != 2 or len(verdict) != len(votes):
        raise ShapeError(f"need (n_units,) and (n_units, n_raters), got {verdict.shape} and {votes.shape}")
    return verdict, votes
