"""Win rates adjusted for length: what a rater would prefer if both texts were equally long."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError, UnknownValue
from analysis.jackknife import student_quantile
from analysis.refusal import Refusal, too_few
from analysis.types import FloatArray, IntArray, code_array, verdict_array

RIDGE = 0.01  # of a verdict: what it takes for finite values where one system, or the longer text, wins throughout
MIN_INSTANCES = 20  # for a jackknife of what is no mean
ROUNDS = 100  # of Newton's method, which takes some six
TOLERANCE = 1e-12
BLOCK = 8192  # rows
LONGEST_STEP = 5.0  # in log-odds, so that a step from a flat place does not overshoot


@dataclass(frozen=True)
class LengthAdjustedRate:
    """Result of `length_adjusted_win_rate`; NaN without a verdict, or if lengths differ by one and the same throughout.

    win_rate, low, high : of B at equal lengths; no interval if refused, or if all verdicts are alike
    plain               : win rate of B on the same verdicts, as it is
    length_effect       : log-odds that a much longer text adds to a system's win; below 0 where raters prefer shorter ones
    effect_low, effect_high : its interval; none where the win rate has none, or if all texts of a pair are equally long
    scale               : standard deviation of the length differences
    """

    win_rate: float
    low: float
    high: float
    level: float
    plain: float
    length_effect: float
    effect_low: float
    effect_high: float
    scale: float
    n: int
    n_instances: int
    refusal: Refusal | None


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
    θ and γ maximise the likelihood less ridge (θ² + γ²) / 2. Intervals are Student's t on the log-odds, from leaving out
    one instance at a time by one Newton step from the full fit; s stays.

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
    known, tanh, codes, scale = _columns(verdict, length_difference, instance)
    if not (ridge > 0 and 0 < level < 1):
        raise UnknownValue(f"a ridge is above 0 and a level lies in (0, 1), got {ridge} and {level}")
    clusters, cluster = np.unique(codes, return_inverse=True)
    wins, n = (1 + known) / 2, len(clusters)
    plain = float(wins.mean()) if n else np.nan
    refusal = too_few("instances", n, MIN_INSTANCES)
    beta = reach = np.full(2, np.nan)
    if n and not np.isnan(scale):
        beta = _fit(tanh, wins, ridge)
        if not refusal and np.ptp(wins):  # where all verdicts are alike, the ridge alone says how far from 1 or 0
            reach = student_quantile((1 + level) / 2, n - 1) * _standard_errors(tanh, wins, beta, ridge, cluster, n)
    (theta, gamma), (low, effect_low), (high, effect_high) = beta, beta - reach, beta + reach
    return LengthAdjustedRate(
        win_rate=_at(theta),
        low=_at(low),
        high=_at(high),
        level=level,
        plain=plain,
        length_effect=float(gamma),
        effect_low=float(effect_low) if scale else np.nan,
        effect_high=float(effect_high) if scale else np.nan,
        scale=scale,
        n=len(wins),
        n_instances=n,
        refusal=refusal,
    )


def _at(odds: float) -> float:
    return float(_shares(np.array(odds)))


def _columns(
    verdict: npt.ArrayLike, length_difference: npt.ArrayLike, instance: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, IntArray, float]:
    """Verdicts, tanh of their scaled differences, instances, and the scale: NaN where the effect of length is unknowable."""
    given, difference = verdict_array(verdict), np.asarray(length_difference, dtype=np.float64)
    codes = code_array("instance", instance)
    if given.ndim != 1 or not given.shape == difference.shape == codes.shape:
        raise ShapeError(f"need columns of one length, got {given.shape}, {difference.shape} and {codes.shape}")
    if not np.isfinite(difference).all():
        raise UnknownValue(f"{(~np.isfinite(difference)).sum()} length differences are not finite")
    known = ~np.isnan(given)
    given, difference, codes = given[known], difference[known], codes[known]
    scale = float(difference.std()) if len(given) else 0.0
    if scale:
        return given, np.tanh(difference / scale), codes, scale
    # Texts of equal lengths throughout need no adjustment.
    return given, np.zeros(len(given)), codes, np.nan if difference.any() else 0.0


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
    """Jackknife standard errors of θ and γ over clusters, each left out by one Newton step."""
    share = _shares(beta[0] + beta[1] * tanh)
    gap, weight = wins - share, share * (1 - share)
    columns = (gap, gap * tanh, weight, weight * tanh, weight * tanh**2)
    first, second, own, mixed, square = (np.bincount(cluster, column, n) for column in columns)
    own, mixed, square = own.sum() - own + ridge, mixed.sum() - mixed, square.sum() - square + ridge
    moved = -np.stack([square * first - mixed * second, own * second - mixed * first]) / (own * square - mixed**2)
    errors: FloatArray = np.sqrt((n - 1) / n * np.square(moved - moved.mean(axis=1, keepdims=True)).sum(axis=1))
    return errors


def _shares(odds: FloatArray) -> FloatArray:
    """1 / (1 + exp(-odds)), without overflow."""
    return 0.5 * (1 + np.tanh(odds / 2))
