"""Elo ratings, with one factor for all comparisons or one for each."""

import math

import numpy as np
import numpy.typing as npt

from analysis.errors import AnalysisError
from analysis.ranking.comparisons import check_comparisons
from analysis.types import FloatArray

POINTS = 400 / math.log(10)  # of a rating, for one unit of log-odds


def elo(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    score_a: npt.ArrayLike,
    *,
    n_systems: int,
    k: float = 4.0,
    initial: float = 1000.0,
    weights: npt.ArrayLike | None = None,
) -> FloatArray:
    """Elo ratings after all comparisons, in their order: R_A += K (S_A - E_A), and R_B the opposite.

    E_A = 1 / (1 + 10^((R_B - R_A) / 400)).

    a, b    : (n,) codes of the two systems, from 0 to n_systems - 1
    score_a : (n,) 1 (A won), 0.5 (a tie), 0 (B won); NaN is missing and left out
    k       : points that a comparison moves at most
    weights : (n,) factors of k, finite and not negative, as `sep_elo_weight` gives them for SEP-Elo
    returns : (n_systems,) ratings, whose mean stays `initial`; a system without a comparison stays there, which is no
              estimate of it (`components` names it)
    raises  : ShapeError if the columns are not 1-D and of one length; UnknownValue for a code out of range or not an
              integer, a system against itself, another score or a bad weight; AnalysisError for a bad k or initial
    source  : Ghosh et al. 2024, Compare without Despair, eq. 5; the base 10, the scale 400 and the start 1000 are those
              of Chiang et al. 2024, Chatbot Arena
    """
    if not (math.isfinite(k) and k >= 0 and math.isfinite(initial)):
        raise AnalysisError(f"need a finite k of at least 0 and a finite start, got {k} and {initial}")
    rows = check_comparisons(a, b, score_a, n_systems, weights)
    # In units of half log-odds E_A = (1 + tanh(R_A - R_B)) / 2, so that a step is few operations and cannot overflow.
    half = rows.weight * (k / POINTS / 4)
    gain = half * (2 * rows.score_a - 1)
    ratings = [0.0] * n_systems
    tanh = math.tanh
    for one, other, won, most in zip(rows.a.tolist(), rows.b.tolist(), gain.tolist(), half.tolist(), strict=True):
        mine, theirs = ratings[one], ratings[other]
        change = won - most * tanh(mine - theirs)
        ratings[one] = mine + change
        ratings[other] = theirs - change
    return initial + 2 * POINTS * np.array(ratings, dtype=np.float64)


def sep_elo_weight(
    delta: npt.ArrayLike, *, threshold: float = 0.4, alpha: float = 2.0, beta: float = 6.0
) -> FloatArray:
    """Factor of k by which SEP-Elo lets a comparison count: alpha / (1 + exp(-beta (delta - threshold))).

    delta   : separability of the comparison's instance, of any shape
    returns : the factors, in that shape, between 0 and alpha; NaN where delta is NaN
    raises  : AnalysisError for parameters that are not finite, or a negative alpha
    source  : Ghosh et al. 2024, Compare without Despair, eq. 6; by default it is 1 at the threshold
    """
    if not np.isfinite([threshold, alpha, beta]).all() or alpha < 0:
        raise AnalysisError(f"need finite parameters and alpha >= 0, got {threshold}, {alpha} and {beta}")
    # The logistic function through tanh, which does not overflow.
    factor: FloatArray = alpha / 2 * (1 + np.tanh(beta / 2 * (np.asarray(delta, dtype=np.float64) - threshold)))
    return factor
