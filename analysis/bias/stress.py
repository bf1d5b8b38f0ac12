"""Stress tests of a judge: whether its verdict on a pair turns when one of the texts is changed, and towards what."""

import numpy as np
import numpy.typing as npt

from analysis.intervals.bootstrap import counted_rows
from analysis.types import FloatArray, IntArray, check_columns

TURNS = ("turned", "towards", "away", "to_tie")


def turn_sums(before: npt.ArrayLike, after: npt.ArrayLike) -> dict[str, FloatArray]:
    """Turned verdicts, and what they turned to, of pairs that have a verdict before and after a change.

    before, after : (n,) +1 the changed text is preferred, -1 the other one, 0 neither, NaN no verdict
    returns       : by name of `TURNS`, (n, 2) numerator and denominator of a share; (0, 0) where a verdict is missing.
                    `towards` the changed text, `away` to the other one and `to_tie` add up to `turned`
    raises        : ShapeError if the lengths differ
    """
    first, second = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    check_columns(first, second)
    turned = first != second
    changes = (turned, turned & (second == 1), turned & (second == -1), turned & (second == 0))
    both = ~np.isnan(first + second)
    return {name: counted_rows(change, both) for name, change in zip(TURNS, changes, strict=True)}


def unanimity(unit: IntArray, verdict: npt.ArrayLike, n_units: int) -> FloatArray:
    """Tell for each unit whether all who voted on it gave the same verdict.

    unit, verdict : (n,) of each vote; NaN for no vote
    returns       : (n_units,) 1 all alike, 0 not, NaN fewer than two votes
    """
    values = np.asarray(verdict, dtype=np.float64)
    answered = ~np.isnan(values)
    lowest, highest = np.full(n_units, np.inf), np.full(n_units, -np.inf)
    np.minimum.at(lowest, unit[answered], values[answered])
    np.maximum.at(highest, unit[answered], values[answered])
    votes = np.bincount(unit[answered], minlength=n_units)
    return np.where(votes < 2, np.nan, lowest == highest)
