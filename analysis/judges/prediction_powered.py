"""Win rates of people's votes on some instances and a judge's on all: prediction-powered inference.

What cannot be answered carries a `Refusal`, and its numbers are NaN.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.errors import UnknownValue
from analysis.grouping import count_groups
from analysis.intervals.bootstrap import cluster_sums, mean_sums, ratio
from analysis.intervals.jackknife import effective_clusters, mean_bounds
from analysis.planning.weighting import inverse_probability_weighted
from analysis.types import FloatArray, IntArray, Refusal, check_columns, code_array, share_array, too_few, verdict_array

MIN_RATED = 20  # instances
ROUNDING = 1e-9  # a standard error below this is 0


@dataclass(frozen=True)
class PlainRate:
    """People's mean over the same instances alone. Bounds are NaN below five instances."""

    estimate: float
    low: float
    high: float
    standard_error: float


@dataclass(frozen=True)
class PredictionPoweredRate:
    """Result of `prediction_powered_win_rate`. If refused, all but the plain numbers are NaN.

    estimate, low, high : win rate and its interval, cut at 0 and 1
    coefficient         : λ, from 0 (the judge plays no part) to 1
    effective_n         : number of instances drawn with equal chances that would give people's plain mean the same variance
    saved               : effective_n - n_rated: instances that people need not rate
    n_rated, n_judged   : instances with people's votes and a verdict; with a verdict only
    n_clusters          : clusters with a rated instance
    left_out            : instances with people's votes and no verdict
    """

    estimate: float
    low: float
    high: float
    level: float
    standard_error: float
    coefficient: float
    effective_n: float
    saved: float
    plain: PlainRate
    n_rated: int
    n_judged: int
    n_clusters: int
    left_out: int
    refusal: Refusal | None


def win_shares(verdict: npt.ArrayLike, instance: npt.ArrayLike, n_instances: int) -> FloatArray:
    """Share of its verdicts that B wins on each instance. A tie is half a win.

    verdict  : (n,) of -1, 0, +1, NaN for missing; instance : (n,) codes from 0 to n_instances - 1
    returns  : (n_instances,) in [0, 1]; NaN where there is no verdict
    raises   : ShapeError, UnknownValue
    """
    codes, values = code_array("instance", instance), verdict_array(verdict)
    if codes.size and not 0 <= codes.min() <= codes.max() < n_instances:
        raise UnknownValue(f"instances are 0 to {n_instances - 1}, got {codes.min()} to {codes.max()}")
    shares = np.full(n_instances, np.nan)
    shares[np.unique(codes)] = ratio(mean_sums((1 + values) / 2, codes))
    return shares


def prediction_powered_win_rate(
    people: npt.ArrayLike,
    judge: npt.ArrayLike,
    *,
    probabilities: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    random_draw: bool = True,
    level: float = 0.95,
) -> PredictionPoweredRate:
    """Win rate over all instances, from people's votes on some of them and a judge's verdicts on all.

        θ = mean over rated of (y - λ f) + λ mean over unrated of f
        λ = Cov(y, f) / ((1 + n / N) Var(f)), cut to [0, 1];  Var(θ) = Var(y - λ f) / n + λ² Var(f) / N

    with y and f the instance means of people and judge, n instances rated by people and N with the judge's verdict only. The
    judge's errors cancel as long as the rated instances are a random draw; a judge that tells nothing has λ near 0.
    Where instances were drawn with unequal chances, means over the rated weigh by 1/π, the correction compares them with
    the mean of f over all, and λ is what makes the variance least; with equal chances that is the same, nearly.

    people        : (n_instances,) in [0, 1], such as of `win_shares`; NaN where no person rated
    judge         : (n_instances,) in [0, 1]; NaN where the judge has no verdict: left out, and counted
    probabilities : (n_instances,) chance π of having been drawn for people; all equal when left out; only those of rated
                    instances are read
    clusters      : (n_instances,) integer codes of the instances' clusters, over which variances are, with as many degrees of
                    freedom as there are clusters with a rated instance; each instance its own when left out
    random_draw   : False where the instances were chosen, such as the most separable ones: there is no estimate then
    level         : of the intervals, by Student's t (n - 1)
    returns       : `PredictionPoweredRate`, with a `Refusal` below 20 rated instances or without a random draw
    raises        : ShapeError; UnknownValue for a mean outside [0, 1], or a chance that is missing, 0 or less, or above 1;
                    AnalysisError for a level outside (0, 1)
    source        : Angelopoulos, Duchi and Zrnic 2023, PPI++: Efficient Prediction-Powered Inference, §6 (λ, with its
                    covariance by n and its variance by n + N - 1 as in ppi-python); Särndal, Swensson and Wretman
                    1992, Model Assisted Survey Sampling, §6.3, and Zrnic and Candès 2024, Active Statistical Inference,
                    §5, for unequal chances. Variances are by n - 1 here, by n there
    """
    y, f = share_array("means of people", people), share_array("means of the judge", judge)
    check_columns(y, f)
    weight = np.ones(y.shape)
    if probabilities is not None:
        chances = np.asarray(probabilities, dtype=np.float64)
        check_columns(y, chances)
        voted = ~np.isnan(y)
        weight[voted] = inverse_probability_weighted(weight[voted], chances[voted])
    codes = np.arange(len(y)) if clusters is None else code_array("clusters", clusters)
    check_columns(y, codes)
    rated, is_unrated = ~np.isnan(y) & ~np.isnan(f), np.isnan(y) & ~np.isnan(f)
    clusters_of_all = np.concatenate([codes[rated], codes[is_unrated]])
    drawn = _Rated(y[rated], f[rated], weight[rated], f[is_unrated], clusters_of_all)
    n, plain_error = len(drawn.y), drawn.error(0.0)
    weights = cluster_sums(drawn.weight, codes[rated])
    limits: dict[str, float] = {"floor": 0, "ceiling": 1, "level": level, "effective": effective_clusters(weights)}
    plain = mean_bounds(drawn.mean(drawn.y), plain_error, len(weights), **limits)
    refusal = too_few("instances", len(weights), MIN_RATED) if random_draw else Refusal("selection")
    coefficient = np.nan if refusal else drawn.coefficient()
    error = drawn.error(coefficient)
    estimate = float(np.clip(drawn.estimate(coefficient), 0, 1))
    bounds = mean_bounds(estimate, error, len(weights), **limits)
    random_error = drawn.random_error() if drawn.unequal else plain_error
    effective = float(n) if error == random_error else n * float(np.square(np.divide(random_error, error or np.nan)))
    return PredictionPoweredRate(
        estimate=estimate,
        low=bounds.low,
        high=bounds.high,
        level=level,
        standard_error=error,
        coefficient=coefficient,
        effective_n=effective,
        saved=effective - n,
        plain=PlainRate(drawn.mean(drawn.y), plain.low, plain.high, plain_error),
        n_rated=n,
        n_judged=len(drawn.unrated),
        n_clusters=len(weights),
        left_out=int((~np.isnan(y)).sum()) - n,
        refusal=refusal,
    )


@dataclass(frozen=True, eq=False)
class _Rated:
    """Instance means of people and judge where both are there, and the weight of each instance.

    unrated : means of the judge on the instances without people's votes
    cluster : of the instances with both, then of those without people's votes
    """

    y: FloatArray
    f: FloatArray
    weight: FloatArray
    unrated: FloatArray
    cluster: IntArray

    @property
    def unequal(self) -> bool:
        return bool(len(self.weight) and np.ptp(self.weight))

    def mean(self, values: FloatArray) -> float:
        return float(self.weight @ values / self.weight.sum()) if len(values) else np.nan

    def coefficient(self) -> float:
        """λ. It is 0 if the judge's means do not vary, or fewer than two instances are judged only."""
        everything = np.concatenate([self.f, self.unrated])
        if len(self.unrated) < 2 or np.ptp(everything) == 0:
            return 0.0
        if self.unequal:
            without = self.influence(0.0)
            change = self.influence(1.0) - without
            return float(np.clip(-(without @ change) / (change @ change or 1.0), 0, 1))
        covariance = self.mean((self.y - self.mean(self.y)) * (self.f - self.mean(self.f)))
        return float(np.clip(covariance / ((1 + len(self.y) / len(self.unrated)) * everything.var(ddof=1)), 0, 1))

    def estimate(self, coefficient: float) -> float:
        if np.isnan(coefficient):
            return np.nan
        if coefficient == 0:
            return self.mean(self.y)
        # The mean over all in place of that over the unrated: those are no fair draw where chances differ.
        everything = np.concatenate([self.f, self.unrated])
        gap = (self.mean(self.f) - everything.mean()) * len(everything) / len(self.unrated)
        return self.mean(self.y) - coefficient * float(gap)

    def error(self, coefficient: float) -> float:
        """Standard error from each instance's influence on the estimate. NaN for fewer than two rated instances."""
        if len(self.y) < 2 or np.isnan(coefficient):
            return np.nan
        return _root_of_squares(self.influence(coefficient))

    def influence(self, coefficient: float) -> FloatArray:
        """Influence of each cluster on the estimate, linear in the coefficient."""
        n = len(self.y)
        reach = coefficient / len(self.unrated) if coefficient else 0.0
        residual = self.y - reach * (n + len(self.unrated)) * self.f
        influence = self.weight / self.weight.sum() * (residual - self.mean(residual)) + reach * self.f
        moved = _centred(influence, self.cluster[:n])
        if len(self.unrated):
            moved = np.append(moved, _centred(reach * self.unrated, self.cluster[n:]))
        return cluster_sums(moved, self.cluster)

    def random_error(self) -> float:
        """Standard error of people's mean if as many instances had been drawn with equal chances."""
        n = len(self.y)
        if n < 2:
            return np.nan
        clusters = count_groups(self.cluster[:n])
        moved = np.sqrt(self.weight / self.weight.sum() / n) * (self.y - self.mean(self.y))
        return _root_of_squares(cluster_sums(moved, self.cluster[:n]) * np.sqrt(clusters / max(clusters - 1, 1)))


def _root_of_squares(sums: FloatArray) -> float:
    variance = float(sums @ sums)
    return float(np.sqrt(variance)) if variance > ROUNDING**2 else 0.0


def _centred(influence: FloatArray, cluster: IntArray) -> FloatArray:
    """Centre the influences of instances whose number is fixed, as large as unbiased variances need them."""
    clusters = count_groups(cluster)
    centred: FloatArray = (influence - influence.mean()) * np.sqrt(clusters / max(clusters - 1, 1))
    return centred
