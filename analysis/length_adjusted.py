"""Win rates adjusted for length: what a rater would prefer if both texts were equally long."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError, UnknownValue
from analysis.jackknife import student_quantile, student_tail
from analysis.refusal import Refusal, too_few
from analysis.types import FloatArray, IntArray, code_array, verdict_array

RIDGE = 0.01  # of a verdict: what it takes for finite values where one system, or the longer text, wins throughout
MIN_INSTANCES = 20  # for a jackknife of what is no mean
ROUNDS = 100  # of Newton's method, which takes some six
TOLERANCE = 1e-12
BLOCK = 8192  # rows
NEAR = 0.25  # standard deviations of the length differences: texts of about equal lengths
# Shares of pairs, all and on each side, below which a rate at equal lengths is a guess; normal differences around 0 have .197, .099.
LEAST_NEAR, LEAST_NEAR_SIDE = 0.1, 0.06
LONGEST_STEP = 5.0  # in log-odds, so that a step from a flat place does not overshoot


@dataclass(frozen=True)
class LengthAdjustedRate:
    """Result of `length_adjusted_win_rate`; NaN without a verdict, or if lengths differ by one and the same throughout.

    win_rate, low, high : of B at equal lengths; no interval if refused, or if all verdicts are alike
    plain               : win rate of B on the same verdicts, as it is
    length_effect       : log-odds that a much longer text adds to a system's win; below 0 where raters prefer shorter ones
    effect_low, effect_high : its interval; none where the win rate has none, or if all texts of a pair are equally long
    effect_p_value      : of H0: no effect of length; NaN without an interval
    change, change_low, change_high : win_rate - plain, and its paired interval; none where the effect has none
    scale               : standard deviation of the length differences
    near                : share of verdicts on texts of about equal lengths
    near_shorter, near_longer : the same with B's text not the longer one, and not the shorter one
    """

    win_rate: float
    low: float
    high: float
    level: float
    plain: float
    length_effect: float
    effect_low: float
    effect_high: float
    effect_p_value: float
    change: float
    change_low: float
    change_high: float
    scale: float
    near: float
    near_shorter: float
    near_longer: float
    n: int
    n_instances: int
    refusal: Refusal | None

    @property
    def overlaps(self) -> bool:
        """Whether lengths are near equal often enough, on both sides, for a rate at equal lengths."""
        return self.near >= LEAST_NEAR and min(self.near_shorter, self.near_longer) >= LEAST_NEAR_SIDE


def length_adjusted_win_rate(
    verdict: npt.ArrayLike,
    length_difference: npt.ArrayLike,
    instance: npt.ArrayLike,
    *,
    ridge: float = RIDGE,
    level: float = 0.95,
) -> LengthAdjustedRate:
    """Win rate of B if both texts were equally long, by logistic regression; a tie is half a win.

        P(B wins) = 1 / (1 + exp(-(θ + γ tanh(d / s)))),   win rate at equal lengths = 1 / (1 + exp(-θ))

    with d the length of B less that of A and s its standard deviation; d is not centred, so that 0 means equal lengths.
    θ and γ maximise the likelihood less ridge (θ² + γ²) / 2. Intervals are Student's t on the log-odds, that of the change
    on the rates, from leaving out one instance at a time by one Newton step from the full fit; s stays. Length matters if
    the intervals of γ and of the change are without 0; where lengths hardly overlap, θ is an extrapolation.

    verdict           : (n,) -1 (A), 0 (tie), +1 (B); NaN is left out
    length_difference : (n,) length of B less that of A, in any unit; finite
    instance          : (n,) integer codes
    ridge             : above 0; as good as nothing beside a few dozen verdicts, and what makes separated data finite
    returns           : `LengthAdjustedRate`, with a `Refusal` and no interval below 20 instances
    raises            : ShapeError; UnknownValue for a difference that is not finite, a ridge that is not above 0, or a level
                        outside (0, 1)
    source            : Dubois, Galambosi, Liang and Hashimoto 2024, Length-Controlled AlpacaEval, eq. 2 without its term for
                        the instance's difficulty; Pregibon 1981, Logistic Regression Diagnostics, for the step
    """
    known, difference, codes, scale = _columns(verdict, length_difference, instance)
    if not (ridge > 0 and 0 < level < 1):
        raise UnknownValue(f"a ridge is above 0 and a level lies in (0, 1), got {ridge} and {level}")
    clusters, cluster = np.unique(codes, return_inverse=True)
    wins, n = (1 + known) / 2, len(clusters)
    plain = float(wins.mean()) if n else np.nan
    refusal = too_few("instances", n, MIN_INSTANCES)
    beta, errors = np.full(2, np.nan), np.full(3, np.nan)
    if n and not np.isnan(scale):
        tanh = np.tanh(difference / scale) if scale else difference
        beta = _fit(tanh, wins, ridge)
        if not refusal and np.ptp(wins):  # where all verdicts are alike, the ridge alone says how far from 1 or 0
            errors = _standard_errors(tanh, wins, beta, ridge, cluster, n)
    errors[1:] = errors[1:] if scale else np.nan
    near, near_shorter, near_longer = _near(difference, scale)
    reach = errors if np.isnan(errors).all() else student_quantile((1 + level) / 2, n - 1) * errors
    (theta, gamma), change = beta, _at(beta[0]) - plain
    return LengthAdjustedRate(
        win_rate=_at(theta),
        low=_at(theta - reach[0]),
        high=_at(theta + reach[0]),
        level=level,
        plain=plain,
        length_effect=float(gamma),
        effect_low=float(gamma - reach[1]),
        effect_high=float(gamma + reach[1]),
        effect_p_value=2 * student_tail(abs(gamma) / errors[1], n - 1) if errors[1] > 0 else np.nan,
        change=change,
        change_low=float(change - reach[2]),
        change_high=float(change + reach[2]),
        scale=scale,
        near=near,
        near_shorter=near_shorter,
        near_longer=near_longer,
        n=len(wins),
        n_instances=n,
        refusal=refusal,
    )


def _near(difference: FloatArray, scale: float) -> tuple[float, float, float]:
    """Shares of differences near 0: all, those of at most 0, those of at least 0."""
    if not len(difference) or np.isnan(scale):
        return np.nan, np.nan, np.nan
    near = np.abs(difference) <= NEAR * scale
    shorter, longer = near & (difference <= 0), near & (difference >= 0)
    return float(near.mean()), float(shorter.mean()), float(longer.mean())


def _at(odds: float) -> float:
    return float(_shares(np.array(odds)))


def _columns(
    verdict: npt.ArrayLike, length_difference: npt.ArrayLike, instance: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, IntArray, float]:
    """Verdicts, length differences, instances, and the scale: NaN where the effect of length is unknowable."""
    given, difference = verdict_array(verdict), np.asarray(length_difference, dtype=np.float64)
    codes = code_array("instance", instance)
    if given.ndim != 1 or not given.shape == difference.shape == codes.shape:
        raise ShapeError(f"need columns of one length, got {given.shape}, {difference.shape} and {codes.shape}")
    if not np.isfinite(difference).all():
        raise UnknownValue(f"{(~np.isfinite(difference)).sum()} length differences are not finite")
    known = ~np.isnan(given)
    given, difference, codes = given[known], difference[known], codes[known]
    scale = float(difference.std()) if len(given) else 0.0
    # Texts of equal lengths throughout need no adjustment.
    return given, difference, codes, np.nan if not scale and difference.any() else scale


def _fit(tanh: FloatArray, wins: FloatArray, ridge: float) -> FloatArray:
    """Maximise the penalised likelihood by Newton's method; the penalty keeps its curvature away from 0."""
    beta, square = np.zeros(2), tanh**2
    for _ in range(ROUNDS):
        share = _shares(beta[0] + beta[1] * tanh)
        gap, weight = wins - share, share * (1 - share)
        score = np.array([gap.sum(), _dot(gap, tanh)]) - ridge * beta
        mixed = _dot(weight, tanh)
        curvature = np.array([[weight.sum() + ridge, mixed], [mixed, _dot(weight, square) + ridge]])
        step = np.linalg.solve(curvature, score)
        step *= min(1, LONGEST_STEP / max(np.abs(step).max(), TOLERANCE))
        beta += step
        if np.abs(step).max() < TOLERANCE * max(1, np.abs(beta).max()):
            break
    return beta


def _dot(first: FloatArray, second: FloatArray) -> float:
    """Scalar product in blocks: for longer ones BLAS wakes threads, which cost far more than they save."""
    starts = range(0, len(first), BLOCK)
    return float(sum(first[start : start + BLOCK] @ second[start : start + BLOCK] for start in starts))


def _standard_errors(
    tanh: FloatArray, wins: FloatArray, beta: FloatArray, ridge: float, cluster: IntArray, n: int
) -> FloatArray:
    """Jackknife standard errors of θ, γ and the change of the rate, over clusters, each left out by one Newton step."""
    share = _shares(beta[0] + beta[1] * tanh)
    gap, weight = wins - share, share * (1 - share)
    columns = (gap, gap * tanh, weight, weight * tanh, weight * tanh**2)
    first, second, own, mixed, square = (np.bincount(cluster, column, n) for column in columns)
    own, mixed, square = own.sum() - own + ridge, mixed.sum() - mixed, square.sum() - square + ridge
    moved = -np.stack([square * first - mixed * second, own * second - mixed * first]) / (own * square - mixed**2)
    won, played = np.bincount(cluster, wins, n), np.bincount(cluster, minlength=n)
    plain = (won.sum() - won) / (played.sum() - played)
    moved = np.vstack([moved, _shares(beta[0] + moved[0]) - plain])
    errors: FloatArray = np.sqrt((n - 1) / n * np.square(moved - moved.mean(axis=1, keepdims=True)).sum(axis=1))
    return errors


def _shares(odds: FloatArray) -> FloatArray:
    """1 / (1 + exp(-odds)), without overflow."""
    return 0.5 * (1 + np.tanh(odds / 2))
