"""Confusion matrices of a rater and the majority of people, for judges and for people."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.agreement.coefficients import VALUES, confusions, majority_of_counts, value_counts
from analysis.grouping import groups_of_rows
from analysis.types import FloatArray, IntArray, verdict_array


@dataclass(frozen=True, eq=False)
class Confusion:
    """Verdicts by the majority beside which they stand.

    counts      : (3, 3) rows the majority, columns the verdict, over -1, 0, +1
    no_majority : verdicts that stand beside votes of which none is the most frequent alone
    no_vote     : verdicts that stand beside no vote
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
