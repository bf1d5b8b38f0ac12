"""One verdict per unit from many raters' by Dawid and Skene's model: each rater has a confusion matrix of their own."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.agreement import VALUES
from analysis.errors import NotEnough, ShapeError, UnknownValue
from analysis.types import FloatArray, verdict_array

SMOOTHING = 1e-10  # keeps logarithms finite and moves no posterior that anyone reads
SHARED = 1e-9  # posteriors that differ by less share the first place


@dataclass(frozen=True, eq=False)
class DawidSkene:
    """Result of `dawid_skene`; classes are -1 (A), 0 (tie), +1 (B), in this order on every axis of length 3.

    verdict    : (n_units,) the likeliest class; NaN without a vote, or where the first place is shared
    posterior  : (n_units, 3) probabilities of the classes; NaN without a vote
    confusion  : (n_raters, 3, 3) probability that a rater gives the column's verdict where the row's is true; NaN for a
                 rater without votes; even where no unit that they rated has the row's class
    prevalence : (3,) of the classes
    iterations : rounds of expectation and maximisation made
    converged  : whether no posterior moved by `tolerance` or more in the last one
    """

    verdict: FloatArray
    posterior: FloatArray
    confusion: FloatArray
    prevalence: FloatArray
    iterations: int
    converged: bool


def dawid_skene(
    ratings: npt.ArrayLike, *, smoothing: float = SMOOTHING, max_iterations: int = 1000, tolerance: float = 1e-9
) -> DawidSkene:
    """Estimate true verdicts, and each rater's confusion matrix, by maximum likelihood (EM from the shares of the votes).

    ratings        : (n_units, n_raters) of -1, 0, +1, NaN for missing
    smoothing      : added to each count of a confusion matrix before its rows are divided by their sums: a Dirichlet prior
                     of 1 + smoothing; the default is as good as none. The prevalence has no prior
    max_iterations : rounds at most
    tolerance      : largest change of a posterior at which it counts as converged
    returns        : `DawidSkene`. From three raters a unit on it can tell raters apart; from fewer it repeats the votes
    raises         : NotEnough without any rating; ShapeError, UnknownValue
    source         : Dawid and Skene 1979, Maximum likelihood estimation of observer error-rates using the EM algorithm,
                     eqs. 2.3 to 2.5, started as in §4 there
    """
    votes = verdict_array(ratings)
    if votes.ndim != 2:
        raise ShapeError(f"need (n_units, n_raters) ratings, got shape {votes.shape}")
    if not (np.isfinite(smoothing) and smoothing > 0 and max_iterations >= 1 and tolerance > 0):
        raise UnknownValue(
            f"smoothing, tolerance and rounds are above 0, got {smoothing}, {tolerance} and {max_iterations}"
        )
    given = (votes[:, :, np.newaxis] == VALUES).astype(np.float64)
    rated = given.any(axis=(1, 2))
    if not rated.any():
        raise NotEnough("no rater rated a unit")
    known = given[rated]
    posterior = known.sum(axis=1) / known.sum(axis=(1, 2))[:, np.newaxis]
    moved, iterations = np.inf, 0
    while moved >= tolerance and iterations < max_iterations:
        before = posterior
        prevalence, confusion = _maximise(known, posterior, smoothing)
        posterior = _expect(known, prevalence, confusion)
        moved, iterations = float(np.abs(posterior - before).max()), iterations + 1
    prevalence, confusion = _maximise(known, posterior, smoothing)
    confusion[~given.any(axis=(0, 2))] = np.nan
    everywhere = np.full((len(votes), 3), np.nan)
    everywhere[rated] = posterior
    return DawidSkene(_likeliest(everywhere), everywhere, confusion, prevalence, iterations, moved < tolerance)


def _maximise(given: FloatArray, posterior: FloatArray, smoothing: float) -> tuple[FloatArray, FloatArray]:
    """Prevalence and confusion matrices, from the votes and how likely each class is."""
    counts = np.einsum("uc,urv->rcv", posterior, given) + smoothing
    return posterior.mean(axis=0), counts / counts.sum(axis=2, keepdims=True)


def _expect(given: FloatArray, prevalence: FloatArray, confusion: FloatArray) -> FloatArray:
    """How likely each class is on each unit; in logarithms, since a product over many raters underflows."""
    with np.errstate(divide="ignore"):  # a class that no unit has stays impossible
        logs = np.log(prevalence) + np.einsum("urv,rcv->uc", given, np.log(confusion))
    weight = np.exp(logs - logs.max(axis=1, keepdims=True))
    posterior: FloatArray = weight / weight.sum(axis=1, keepdims=True)
    return posterior


def _likeliest(posterior: FloatArray) -> FloatArray:
    ordered = np.sort(posterior, axis=1)
    alone = ordered[:, 2] - ordered[:, 1] > SHARED  # False for NaN
    places = np.argmax(np.where(np.isnan(posterior), 0, posterior), axis=1)
    return np.where(alone, VALUES[places], np.nan)
