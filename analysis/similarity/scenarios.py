"""The four scenarios of two systems' generations of an instance, by their alignments."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analysis.errors import AnalysisError, NotEnough
from analysis.types import FloatArray, IntArray, check_columns


class Scenario(IntEnum):
    """Scenarios as numbered in figure 2 of Compare without Despair, OTHER for none, MISSING without an alignment."""

    MISSING = -1
    OTHER = 0
    APART = 1  # each system is like itself, and unlike the other
    SCATTERED = 2  # neither is like itself, nor like the other
    ONE_STEADY = 3  # one is like itself, the other is not, and they are unlike
    ALIKE = 4  # everything is like everything


class Thresholds(NamedTuple):
    """From where on an alignment is high."""

    own: float
    cross: float


HALF = Thresholds(0.5, 0.5)


def median_thresholds(self_a: npt.ArrayLike, self_b: npt.ArrayLike, cross: npt.ArrayLike) -> Thresholds:
    """Medians of both systems' self-alignments together, and of the cross-alignments. NaN is ignored.

    raises : NotEnough without a self- or without a cross-alignment
    """
    own, between = np.concatenate(_columns(self_a, self_b)), _columns(cross)[0]
    own, between = own[~np.isnan(own)], between[~np.isnan(between)]
    if not own.size or not between.size:
        raise NotEnough(f"medians of {own.size} self-alignments and {between.size} cross-alignments are undefined")
    return Thresholds(float(np.median(own)), float(np.median(between)))


def scenarios(
    self_a: npt.ArrayLike, self_b: npt.ArrayLike, cross: npt.ArrayLike, thresholds: Thresholds = HALF
) -> IntArray:
    """Sort matchups into the four scenarios by which of their alignments are high.

    self_a, self_b, cross : (n,) alignments in one unit; for `HALF` normalised ones, so that 0.5 is halfway between
                            the least and the greatest of the normalisation group
    thresholds            : an alignment is high from there on
    returns               : (n,) codes of `Scenario`: 1 both selfs high and cross low, 2 all three low, 3 one self high
                            and cross low, 4 all three high; 0 for a high cross beside a low self; -1 where any is NaN
    raises                : ShapeError if the columns are not 1-D and of one length; AnalysisError for a bad threshold
    source                : Ghosh et al. 2024, Compare without Despair, §2 and figure 2, which draws them without a
                            threshold
    """
    if not np.isfinite(thresholds).all():
        raise AnalysisError(f"thresholds must be finite, got {thresholds.own} and {thresholds.cross}")
    own_a, own_b, between = _columns(self_a, self_b, cross)
    high = (own_a >= thresholds.own).astype(np.int64) + (own_b >= thresholds.own)
    low_cross = between < thresholds.cross
    by_own = np.array([Scenario.SCATTERED, Scenario.ONE_STEADY, Scenario.APART])[high]
    scenario = np.where(low_cross, by_own, np.where(high == 2, Scenario.ALIKE, Scenario.OTHER))
    missing = np.isnan(own_a) | np.isnan(own_b) | np.isnan(between)
    return np.where(missing, Scenario.MISSING, scenario).astype(np.int64)


def _columns(*values: npt.ArrayLike) -> list[FloatArray]:
    columns = [np.asarray(value, dtype=np.float64) for value in values]
    check_columns(*columns)
    return columns
