"""Gwet's agreement coefficients, which stay high where nearly all votes are of one kind."""

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError, UnknownValue
from analysis.intervals.bootstrap import ratio
from analysis.types import FloatArray


def gwet_sums(counts: npt.ArrayLike) -> FloatArray:
    """Return what Gwet's coefficients need of each unit; they are functions of the sum over units.

    counts  : (n_units, q) numbers of votes for each of q ordered kinds; q is 2 or more
    returns : (n_units, 4 + q) agreement without and with ordinal weights, whether the unit has two votes, whether it has any,
              and the share of each kind
    raises  : ShapeError for another shape; UnknownValue for a negative number
    """
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2:
        raise ShapeError(f"need (n_units, q) numbers of votes of two kinds or more, got {table.shape}")
    if (table < 0).any():
        raise UnknownValue("numbers of votes are not negative")
    votes = table.sum(axis=1)
    agreements = [
        ratio(np.stack([(table * (table @ weights - 1)).sum(axis=1), votes * (votes - 1)], axis=1))
        for weights in (np.eye(table.shape[1]), ordinal_weights(table.shape[1]))
    ]
    shared, rated = votes > 1, votes > 0
    columns = [np.where(shared, agreement, 0.0) for agreement in agreements]
    shares = np.where(rated[:, np.newaxis], table / np.maximum(votes, 1)[:, np.newaxis], 0.0)
    return np.column_stack([*columns, shared, rated, shares])


def gwet_from_sums(sums: npt.ArrayLike, *, ordinal: bool = False) -> FloatArray:
    """Gwet's AC1, or AC2 with ordinal weights.

        AC = (p_a - p_e) / (1 - p_e),  p_e = T / (q (q - 1)) Σ π_k (1 - π_k)

    with p_a the mean agreement of units with two votes or more, π_k the mean share of kind k over units, and T the sum of all
    weights, which is q for AC1.

    sums    : (..., 4 + q) sums of `gwet_sums` over units
    returns : (...) at most 1; NaN where no unit has two votes
    source  : Gwet 2008, Computing inter-rater reliability and its variance in the presence of high agreement, British Journal of
              Mathematical and Statistical Psychology 61, eq. 5 to 7; Gwet 2014, Handbook of Inter-Rater Reliability, §3.5 and 4.7
    """
    table = np.asarray(sums, dtype=np.float64)
    q = table.shape[-1] - 4
    observed = ratio(np.stack([table[..., int(ordinal)], table[..., 2]], axis=-1))
    shares = ratio(np.stack([table[..., 4:], np.broadcast_to(table[..., 3:4], table[..., 4:].shape)], axis=-1))
    total = float(ordinal_weights(q).sum()) if ordinal else float(q)
    expected = total / (q * (q - 1)) * (shares * (1 - shares)).sum(axis=-1)
    coefficient: FloatArray = ratio(np.stack([observed - expected, 1 - expected], axis=-1))
    return coefficient


def ordinal_weights(q: int) -> FloatArray:
    """(q, q) 1 for equal kinds, less the further apart they are: 1 - C(|k - l| + 1, 2) / C(q, 2). Source: Gwet 2014, §3.5."""
    apart = np.abs(np.subtract.outer(np.arange(q), np.arange(q)))
    weights: FloatArray = 1 - apart * (apart + 1) / (q * (q - 1))
    return weights
