"""What a rater says where the majority of people says something else: a judge's verdicts, and people's own votes."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.agreement import VALUES, confusions, majority, majority_of_counts
from analysis.errors import ShapeError
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
    verdict, votes = verdict_array(judge), _units(people)
    most = majority(votes)
    counts = confusions(most, verdict).sum(axis=0).astype(np.int64)
    judged, voted = ~np.isnan(verdict), ~np.isnan(votes).all(axis=1)
    return Confusion(counts, int((judged & voted & np.isnan(most)).sum()), int((judged & ~voted).sum()))


def others_confusion(people: npt.ArrayLike) -> Confusion:
    """Each person's votes by the majority of the other people's votes on the same unit, over all people.

    people : (n_units, n_raters) of -1, 0, +1, NaN for missing
    raises : UnknownValue, ShapeError
    """
    votes = _units(people)
    counts = np.stack([(votes == value).sum(axis=1) for value in VALUES], axis=1).astype(np.float64)
    alone = counts.sum(axis=1) < 2
    table, undecided = np.zeros((3, 3), dtype=np.int64), 0
    for column in range(3):
        given = counts[~alone, column]
        others = counts[~alone] - np.eye(3)[column]
        most = majority_of_counts(np.where(given[:, np.newaxis] > 0, others, 0.0))
        table[:, column] = [int(given[most == value].sum()) for value in VALUES]
        undecided += int(given[np.isnan(most)].sum())
    return Confusion(table, undecided, int(counts[alone].sum()))


def _units(people: npt.ArrayLike) -> FloatArray:
    votes = verdict_array(people)
    if votes.ndim != 2:
        raise ShapeError(f"need (n_units, n_raters) votes, got shape {votes.shape}")
    return votes
