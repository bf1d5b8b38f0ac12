"""Chances of instances to be rated by people, the greater the further a judge may be from them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError, UnknownValue
from analysis.grouping import groups_of_rows
from analysis.intervals.bootstrap import cluster_sums, mean_sums, ratio
from analysis.types import FloatArray, IntArray, check_columns, code_array, share_array, verdict_array

MIN_FITTED = 20  # instances with people's votes
UNIFORM = 0.1  # share of the draws that is spread evenly: no chance lies below a tenth of the mean
# Expected distances before any vote lie this far around 1. If they tell nothing, the interval takes
# (0.8 + 1.2)² / (4 · 0.8 · 1.2) = 1.042 times as many votes at most.
PRIOR = 0.2


@dataclass(frozen=True, eq=False)
class ExpectedErrors:
    """Result of `expected_errors`.

    variance    : (n_instances,) E[(y - λ f)²] around its mean, up to a factor
    fitted_on   : number of instances whose votes it was fitted on; 0 for the prior
    coefficient : λ, or NaN for the prior
    slopes      : (n_features,) change of the variance by each feature, in means of the variance; 0 for one that tells nothing
    shrinkage   : share of the fitted differences that is kept, from 0 (all chances equal) to 1; NaN for the prior
    """

    variance: FloatArray
    fitted_on: int
    coefficient: float
    slopes: FloatArray
    shrinkage: float


def judges_doubts(
    instance: npt.ArrayLike,
    pair: npt.ArrayLike,
    judge: npt.ArrayLike,
    order: npt.ArrayLike,
    verdict: npt.ArrayLike,
    p_b: npt.ArrayLike,
    n_instances: int,
) -> FloatArray:
    """Return three signs of judges' doubt about each instance.

    instance, pair, judge, order : (n,) integer codes of each answer; an instance from 0 to n_instances - 1, an order 0 or 1
    verdict  : (n,) of -1, 0, +1, NaN for none
    p_b      : (n,) probability of B, NaN where it is not known: then 1, ½ or 0 by the verdict
    returns  : (n_instances, 3) in [0, 1], means over an instance's pairs; NaN where it has none
               0: doubt of single answers, 1 - |2p - 1|
               1: share of the pairs, asked in both orders, on which a judge's preference depends on the order
               2: share of pairs of judges that prefer different texts, or only one of them any
    raises   : ShapeError, UnknownValue
    """
    codes = [
        code_array(name, c) for name, c in (("instance", instance), ("pair", pair), ("judge", judge), ("order", order))
    ]
    values, p = verdict_array(verdict), share_array("probabilities", p_b)
    check_columns(*codes, values, p)
    answered = ~np.isnan(values)
    of, pairs, judges, orders = (column[answered] for column in codes)
    values, p = values[answered], p[answered]
    doubts = np.full((n_instances, 3), np.nan)
    _fill(doubts[:, 0], of, 1 - np.abs(np.where(np.isnan(p), values, 2 * p - 1)))

    in_order, of_order = _preferences(values, of, pairs, judges, orders)
    both, of_both = groups_of_rows(*in_order[:3])
    asked, net = cluster_sums(np.ones(len(of_order)), of_both), cluster_sums(of_order, of_both)
    stays = (np.abs(net) == 2) | (cluster_sums(np.abs(of_order), of_both) == 0)
    _fill(doubts[:, 1], both[0][asked == 2], 1.0 - stays[asked == 2])

    by_judge, preferred = _preferences(values, of, pairs, judges)
    voted, at = groups_of_rows(*by_judge[:2])
    counts = np.stack([cluster_sums((preferred == side).astype(np.float64), at) for side in (-1, 0, 1)])
    size = counts.sum(axis=0)
    several = size > 1
    alike = (counts * (counts - 1)).sum(axis=0)[several] / (size * (size - 1))[several]
    _fill(doubts[:, 2], voted[0][several], 1 - alike)
    return doubts


def judges_shares(instance: npt.ArrayLike, verdict: npt.ArrayLike, p_b: npt.ArrayLike, n_instances: int) -> FloatArray:
    """Mean probability of B by all judges on each instance. A verdict without one counts as 1, ½ or 0.

    instance, verdict, p_b, n_instances : as for `judges_doubts`; returns : (n_instances,), NaN without an answer
    """
    values, p = verdict_array(verdict), np.asarray(p_b, dtype=np.float64)
    codes, shares = code_array("instance", instance), np.full(n_instances, np.nan)
    answered = ~np.isnan(values)
    _fill(shares, codes[answered], np.where(np.isnan(p), (1 + values) / 2, p)[answered])
    return shares


def _preferences(values: FloatArray, *codes: IntArray) -> tuple[tuple[IntArray, ...], FloatArray]:
    """Return the distinct codes, and the sign of the mean verdict of each."""
    distinct, row = groups_of_rows(*codes)
    return distinct, np.sign(cluster_sums(values, row))


def _fill(column: FloatArray, instance: IntArray, values: FloatArray) -> None:
    column[np.unique(instance)] = ratio(mean_sums(values, instance))


def expected_errors(features: npt.ArrayLike, people: npt.ArrayLike, judge: npt.ArrayLike) -> ExpectedErrors:
    """Expect the squared distance of people from a judge on each instance, from votes that exist already.

        e² = ((y - mean y) - λ (f - mean f))²,  λ = Cov(y, f) / Var(f), cut to [0, 1]

    e² is fitted to the features by least squares. Of the differences the share max(0, 1 - 1 / F) is kept, F the fit's
    ratio of variances: nothing where features explain no more than by chance. With fewer than 20 votes, the prior: the
    root of e² grows with the mean of the features from 0.8 for the surest instance to 1.2.

    features : (n_instances, n_features) in [0, 1], greater where judges are less sure; NaN has the feature's mean
    people   : (n_instances,) means of earlier votes in [0, 1]; NaN where there are none
    judge    : (n_instances,) means of the judges in [0, 1]; NaN where there are none
    raises   : ShapeError
    source   : Zrnic and Candès 2024, Active Statistical Inference, §4; the shrinkage is James and Stein's
    """
    rows, y, f = np.asarray(features, np.float64), np.asarray(people, np.float64), np.asarray(judge, np.float64)
    if rows.ndim != 2 or not len(rows) == len(y) == len(f):
        raise ShapeError(f"need features, people and judge of one length, got {rows.shape}, {y.shape} and {f.shape}")
    present = ~np.isnan(rows)
    means = np.where(present, rows, 0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    filled = np.where(present, rows, means)
    slopes = np.zeros(rows.shape[1])
    rated = ~np.isnan(y) & ~np.isnan(f)
    n = int(rated.sum())
    if n < MIN_FITTED:
        useful = np.ptp(filled, axis=0) > 0 if len(rows) else np.zeros(rows.shape[1], dtype=bool)
        score = filled[:, useful].mean(axis=1) if useful.any() else np.zeros(len(rows))
        spread = float(np.ptp(score)) if len(score) else 0.0
        scaled = (score - score.min()) / spread if spread else np.full(len(score), 0.5)
        return ExpectedErrors(np.square(1 - PRIOR + 2 * PRIOR * scaled), 0, np.nan, slopes, np.nan)
    y, f = y[rated] - y[rated].mean(), f[rated] - f[rated].mean()
    coefficient = float(np.clip(y @ f / (f @ f), 0, 1)) if f @ f else 0.0
    squares = np.square(y - coefficient * f)
    varies = np.flatnonzero(np.ptp(filled[rated], axis=0) > 0)
    shrinkage, mean = 0.0, float(squares.mean())
    if len(varies) and mean:
        centre = filled[rated][:, varies].mean(axis=0)
        fitted, _, rank, _ = np.linalg.lstsq(filled[rated][:, varies] - centre, squares - mean, rcond=None)
        explained = float(np.square((filled[rated][:, varies] - centre) @ fitted).sum()) / rank
        residual = max(float(np.square(squares - mean).sum()) - explained * rank, 0.0) / (n - rank - 1)
        shrinkage = max(0.0, 1 - residual / explained) if explained else 0.0
        slopes[varies] = shrinkage * fitted / mean
    variance = np.maximum(1 + (filled - filled[rated].mean(axis=0)) @ slopes, 0)
    return ExpectedErrors(variance, n, coefficient, slopes, shrinkage)


def active_weights(variance: npt.ArrayLike) -> FloatArray:
    """Weights for `choose_importance`: a tenth spread evenly, the rest in proportion to the root of the variance.

    variance : (n,), 0 or more
    returns  : (n,) with mean 1, at least 0.1
    raises   : UnknownValue for a missing, negative or infinite variance
    source   : Zrnic and Candès 2024, Active Statistical Inference, §3 and §4
    """
    values = np.asarray(variance, dtype=np.float64)
    if not (np.isfinite(values) & (values >= 0)).all():
        raise UnknownValue("variances are finite and 0 or more")
    roots = np.sqrt(values)
    mean = roots.mean() if roots.size else 0.0
    weights: FloatArray = UNIFORM + (1 - UNIFORM) * (roots / mean if mean else np.ones(roots.shape))
    return weights
