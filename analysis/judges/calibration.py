"""Probabilities of a judge against the distribution of people's votes: Brier score, its parts, and calibration."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError
from analysis.types import FloatArray, IntArray, share_array

BINS = 5  # from one half to 1


@dataclass(frozen=True, eq=False)
class Calibration:
    """A judge's probabilities beside votes, of units that have both.

    used   : (n_units,) whether a unit has both; the other columns are of these
    bin    : (n,) of the probability of the preferred side; stated : (n,) that probability, from 1/2
    scores : (n, 2) sum over votes of (probability - vote)², and votes
    votes  : (n, 2) votes for the preferred side, a tie as half, and votes
    least  : (n, 2) votes · unbiased variance of the votes, and votes; 0 of units with one vote
    reliability, resolution, uncertainty : score = reliability - resolution + uncertainty; NaN without a vote
    """

    used: npt.NDArray[np.bool_]
    bin: IntArray
    stated: FloatArray
    scores: FloatArray
    votes: FloatArray
    least: FloatArray
    reliability: float
    resolution: float
    uncertainty: float


def calibration(probability: npt.ArrayLike, counts: npt.ArrayLike) -> Calibration:
    """Compare probabilities of B with votes of 0, 1/2 (a tie) and 1 for it.

    Which system is B tells nothing, so all is counted from the side that the judge prefers. With q its probability and y the votes
    for it, by bins k with shares w_k of the votes:

        reliability = Σ w_k (q_k - y_k)²,  uncertainty = mean (y - 1/2)²,
        resolution  = Σ w_k (y_k - 1/2)² - variance of q within bins + 2 · covariance of q and y within bins

    A coin has reliability and resolution 0. A probability of 1/2 prefers both sides, each by half of the votes. Bins have equal
    widths, [low, high), the last one with 1.

    probability : (n_units,) in [0, 1]; NaN where there is none, which counts nowhere
    counts      : (n_units, 3) people's votes for A, for a tie and for B
    raises      : ShapeError for other shapes; UnknownValue for a probability outside [0, 1]
    source      : Brier 1950, Monthly Weather Review 78; Murphy 1973, Journal of Applied Meteorology 12; Stephenson, Coelho and
                  Jolliffe 2008, Weather and Forecasting 23, for the parts within bins
    """
    p, table = share_array("probabilities", probability), np.asarray(counts, dtype=np.float64)
    if p.ndim != 1 or table.shape != (len(p), 3):
        raise ShapeError(f"need (n,) probabilities and (n, 3) votes, got {p.shape} and {table.shape}")
    used = ~np.isnan(p) & (table.sum(axis=1) > 0)
    (a, tie, b), beyond = table[used].T, p[used] - 0.5
    n, q, y, square = a + tie + b, np.abs(beyond), np.sign(beyond) * (b - a) / 2, (a + b) / 4  # q and y less one half
    bins = np.minimum((2 * BINS * q + 1e-9).astype(np.int64), BINS - 1)
    sums = [np.bincount(bins, column, minlength=BINS) for column in (n, n * q, y, n * q**2, q * y)]
    w, of_q, of_y, of_squares, of_products = np.stack(sums)[:, sums[0] > 0] / (n.sum() or 1.0)
    inside = of_squares - of_q**2 / w - 2 * (of_products - of_q * of_y / w)
    parts = (of_q - of_y) ** 2 / w, of_y**2 / w - inside, square / (n.sum() or 1.0)
    several, spread = np.where(n > 1, n, 0.0), square - ((b - a) / 2) ** 2 / n
    return Calibration(
        used,
        bins,
        q + 0.5,
        np.stack([n * q**2 - 2 * q * y + square, n], axis=1),
        np.stack([y + n / 2, n], axis=1),
        np.stack([spread * several / np.maximum(n - 1, 1), several], axis=1),
        *(float(part.sum()) if len(n) else np.nan for part in parts),
    )
