"""Inverse probability weighting: estimates over all instances, from those that were sampled."""

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError, UnknownValue
from analysis.grouping import groups_of_rows
from analysis.types import FloatArray, Outcomes


def inverse_probability_weighted(sums: npt.ArrayLike, probabilities: npt.ArrayLike) -> FloatArray:
    """Divide sums by inclusion probabilities. `bootstrap.ratio` of their total is then the ratio estimator.

    sums          : (n, ...)  additive values, as numerator y and denominator n on the last axis
    probabilities : (n,)      chance π of having been chosen, above 0 and at most 1, without a unit
    returns       : (n, ...)  in the unit of the sums. With (y, n) on the last axis, `ratio` of their total is
                              (Σ y/π) / (Σ n/π): the total of y over that of n, both estimated for everything that could
                              be chosen. `bootstrap.cluster_interval` of the rows resamples each together with its π
    raises        : ShapeError unless there is one chance for each row; UnknownValue for a chance that is NaN, 0 or
                    less, or above 1
    source        : Horvitz and Thompson 1952, A generalization of sampling without replacement from a finite universe;
                    the ratio form by Hájek 1971, in Godambe and Sprott, Foundations of Statistical Inference, p. 236
    """
    rows, chances = np.asarray(sums, dtype=np.float64), _chances(probabilities)
    if rows.shape[:1] != chances.shape:
        raise ShapeError(f"need one chance for each row, got {chances.shape} chances for sums of shape {rows.shape}")
    weighted: FloatArray = rows / chances.reshape(-1, *[1] * (rows.ndim - 1))
    return weighted


def effective_number(weights: npt.ArrayLike) -> float:
    """Effective sample size: how many equally weighted instances are as informative, (Σ w)² / Σ w².

    weights : (n,) finite and above 0; their scale plays no part
    returns : from 1 to n, and n where all are equal; NaN for none
    raises  : ShapeError unless 1-D; UnknownValue for a weight that is not finite, or not above 0
    source  : Kish 1965, Survey Sampling, §11.2C
    """
    column = np.asarray(weights, dtype=np.float64)
    if column.ndim != 1:
        raise ShapeError(f"need one weight for each instance, got shape {column.shape}")
    if not (np.isfinite(column) & (column > 0)).all():
        raise UnknownValue("weights must be finite and above 0")
    if not column.size:
        return np.nan
    relative = column / column.max()  # so that no square overflows
    return float(relative.sum() ** 2 / (relative**2).sum())


def set_probabilities(outcomes: Outcomes, probabilities: npt.ArrayLike) -> FloatArray:
    """Inclusion probability of each rating set, from those of its verdicts.

    probabilities : (n_outcomes,) chance of the instance in the draw that a verdict was asked for in; NaN if unknown
    returns       : (n_sets,) in the order of `consistency.rating_sets`; NaN where the chance of one of its verdicts is
                    unknown, or two of them differ: no one draw is behind such a set
    raises        : ShapeError unless there is one chance for each verdict
    """
    chances = np.asarray(probabilities, dtype=np.float64)
    if chances.shape != (len(outcomes),):
        raise ShapeError(f"need one chance for each of {len(outcomes)} verdicts, got shape {chances.shape}")
    (instance, *_), row = groups_of_rows(outcomes.instance, outcomes.a, outcomes.b, outcomes.rater)
    lowest, highest = np.full(len(instance), np.inf), np.full(len(instance), -np.inf)
    unknown = np.isnan(chances)
    np.minimum.at(lowest, row, np.where(unknown, -np.inf, chances))  # no set with an unknown one has equal bounds
    np.maximum.at(highest, row, np.where(unknown, np.inf, chances))
    return np.where(lowest == highest, lowest, np.nan)


def _chances(probabilities: npt.ArrayLike) -> FloatArray:
    chances = np.asarray(probabilities, dtype=np.float64)
    if chances.ndim != 1:
        raise ShapeError(f"need one chance for each row, got shape {chances.shape}")
    wrong = ~((chances > 0) & (chances <= 1))
    if wrong.any():
        raise UnknownValue(f"a chance lies above 0 and is at most 1, got {chances[wrong][:5].tolist()}")
    return chances
