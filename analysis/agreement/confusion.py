"""A judge beside people, and two raters: confusions, Cohen's kappa, votes and majorities."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.agreement.coefficients import VALUES, majority_of_counts, value_counts
from analysis.errors import ShapeError
from analysis.grouping import groups_of_rows
from analysis.intervals.bootstrap import counted_rows, quotient, ratio
from analysis.types import FloatArray, IntArray, verdict_array, verdict_columns


@dataclass(frozen=True)
class Agreement:
    """A share, the number of comparisons it rests on, and those that could not be made (see each measure)."""

    value: float
    n: int
    left_out: int


def confusions(x: npt.ArrayLike, y: npt.ArrayLike) -> FloatArray:
    """Each unit's part of the confusion matrix of two raters.

    x, y    : (n_units,) of -1, 0, +1, NaN for missing
    returns : (n_units, 3, 3), rows x, columns y over -1, 0, +1; all 0 where either is missing
    """
    rows, columns = (verdicts[:, np.newaxis] == VALUES for verdicts in verdict_columns(x, y))
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
    return quotient(total * agreed - chance, np.maximum(total**2 - chance, 0))


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
    return counted_rows(verdict == crowd, ~np.isnan(verdict + crowd))


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


@dataclass(frozen=True, eq=False)
class Confusion:
    """Verdicts by the majority beside which they stand.

    counts      : (3, 3) rows the majority, columns the verdict, over -1, 0, +1
    no_majority : verdicts on units whose votes have no single most frequent one
    no_vote     : verdicts on units without a vote
    """

    counts: IntArray
    no_majority: int
    no_vote: int

    @property
    def n(self) -> int:
        """The number of verdicts that are counted."""
        return int(self.counts.sum())


def majority_confusion(judge: npt.ArrayLike, people: npt.ArrayLike) -> Confusion:
    """A judge's verdicts by the majority of people's votes on the same unit.

    judge  : (n_units,); people : (n_units, n_raters); both of -1, 0, +1, NaN for missing
    raises : UnknownValue, ShapeError
    """
    return majority_confusion_of_counts(judge, value_counts(people))


def majority_confusion_of_counts(judge: npt.ArrayLike, counts: FloatArray) -> Confusion:
    """`majority_confusion` of counted votes of people: (n_units, 3) over -1, 0, +1."""
    verdict, majority = verdict_array(judge), majority_of_counts(counts)
    table = confusions(majority, verdict).sum(axis=0).astype(np.int64)
    judged, voted = ~np.isnan(verdict), counts.any(axis=1)
    return Confusion(table, int((judged & voted & np.isnan(majority)).sum()), int((judged & ~voted).sum()))


def others_confusion(people: npt.ArrayLike) -> Confusion:
    """Each person's votes by the majority of the other people's votes on the same unit, over all people.

    people : (n_units, n_raters) of -1, 0, +1, NaN for missing
    raises : UnknownValue, ShapeError
    """
    return others_confusion_of_counts(value_counts(people))


def others_confusion_of_counts(counts: FloatArray) -> Confusion:
    """`others_confusion` of counted votes: (n_units, 3) over -1, 0, +1."""
    columns, kind = groups_of_rows(*counts.astype(np.int64).T)  # few: many units have the same counts
    kinds, times = np.stack(columns, axis=1).astype(np.float64), np.bincount(kind, minlength=len(columns[0]))
    alone = kinds.sum(axis=1) < 2
    table, undecided = np.zeros((3, 3), dtype=np.int64), 0
    for column in range(3):
        votes = (kinds[:, column] * times)[~alone]
        rest_counts = kinds[~alone] - np.eye(3)[column]
        majority = majority_of_counts(np.where(votes[:, np.newaxis] > 0, rest_counts, 0.0))
        table[:, column] = [int(votes[majority == value].sum()) for value in VALUES]
        undecided += int(votes[np.isnan(majority)].sum())
    return Confusion(table, undecided, int((kinds.sum(axis=1) * times)[alone].sum()))


def _judge_and_people(judge: npt.ArrayLike, people: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    verdict, votes = verdict_array(judge), verdict_array(people)
    if verdict.ndim != 1 or votes.ndim != 2 or len(verdict) != len(votes):
        raise ShapeError(f"need (n_units,) and (n_units, n_raters), got {verdict.shape} and {votes.shape}")
    return verdict, votes
