"""Alignment of two systems' generations, its normalisation, and separability."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analysis.errors import AnalysisError, ConstantGroup, NotEnough, ShapeError
from analysis.types import FloatArray

ROUNDING = 1e-6  # of the largest alignment: a smaller spread is that of rounding, with vectors in single precision too


class Alignments(NamedTuple):
    """Mean similarities, one per matchup (scalars for a single one). Self is NaN for a single generation."""

    self_a: FloatArray
    self_b: FloatArray
    cross: FloatArray


def alignments(
    similarities: npt.ArrayLike,
    k_a: int,
    *,
    cross_pairs: int | None = None,
    rng: np.random.Generator | None = None,
) -> Alignments:
    """Self- and cross-alignment from the similarities of all generations of a matchup, those of A first.

    similarities : (K, K) or (n, K, K) with K = k_a + k_b; each self mean leaves the diagonal out, the cross
                   mean is over rows of A and columns of B only: the block below mirrors it, s being symmetric
    k_a          : generations of A, from 1 to K - 1
    cross_pairs  : how many of the k_a * k_b combinations to average, drawn for each matchup without
                   replacement; all of them when left out
    returns      : `Alignments` of scalars or of (n,) arrays
    raises       : ShapeError for other shapes or k_a; NotEnough for too many cross_pairs; AnalysisError if
                   cross_pairs is given without rng
    source       : Ghosh et al. 2024, Compare without Despair, eqs. 1 and 2 and note 2
    """
    stack = np.asarray(similarities, dtype=np.float64)
    if stack.ndim not in (2, 3) or stack.shape[-1] != stack.shape[-2] or not 1 <= k_a < stack.shape[-1]:
        raise ShapeError(f"need (K, K) or (n, K, K) with 1 <= k_a < K, got {stack.shape} with k_a = {k_a}")
    cross = stack[..., :k_a, k_a:].reshape(*stack.shape[:-2], k_a * (stack.shape[-1] - k_a))
    if cross_pairs is not None:
        cross = _sampled(cross, cross_pairs, rng)
    return Alignments(
        _self_alignment(stack[..., :k_a, :k_a]),
        _self_alignment(stack[..., k_a:, k_a:]),
        np.asarray(cross.mean(axis=-1))[()],
    )


def separability(self_a: npt.ArrayLike, self_b: npt.ArrayLike, cross: npt.ArrayLike) -> FloatArray:
    """Gap between the better within-system similarity and the between-system similarity of a matchup.

        δ = max(mean of self_a, mean of self_b) - mean of cross

    self_a, self_b : (n, k_a, k_a), (n, k_b, k_b)  a system's own generations; the diagonal is ignored
    cross          : (n, k_a, k_b)  A's j-th generation against B's l-th; every combination counts
                     or all three 2-D, for one matchup; or all three alignment means, 0-D or (n,)
    returns        : (n,) or a scalar, in the units given, [-1, 1] for normalised alignments; larger is easier
                     to tell apart; NaN where an alignment is NaN (a system with a single generation)
    raises         : ShapeError if the shapes do not fit or k < 2 in a similarity array
    source         : Ghosh et al. 2024, Compare without Despair, eqs. 2 and 3
    """
    own_a, own_b, between = (np.asarray(part, dtype=np.float64) for part in (self_a, self_b, cross))
    if own_a.ndim < 2 and own_a.shape == own_b.shape == between.shape:
        gap: FloatArray = np.maximum(own_a, own_b) - between
        return gap
    lead, k_a, k_b = between.shape[:-2], own_a.shape[-1:], own_b.shape[-1:]
    fits = (own_a.shape, own_b.shape, between.shape) == (lead + k_a * 2, lead + k_b * 2, lead + k_a + k_b)
    if not fits or len(lead) > 1 or min(between.shape[-2:]) < 2:
        raise ShapeError(
            "need (n, k_a, k_a), (n, k_b, k_b) and (n, k_a, k_b) with k >= 2, or three arrays of means, "
            f"got {own_a.shape}, {own_b.shape}, {between.shape}"
        )
    self_alignment = np.maximum(_self_alignment(own_a), _self_alignment(own_b))
    value: FloatArray = self_alignment - between.mean(axis=(-2, -1))
    return value


@dataclass(frozen=True, eq=False)
class Normalised:
    """Alignments of one normalisation group after min-max, with the constants that were used."""

    self_a: FloatArray
    self_b: FloatArray
    cross: FloatArray
    low: float
    high: float


def normalise(
    self_a: npt.ArrayLike,
    self_b: npt.ArrayLike,
    cross: npt.ArrayLike,
    *,
    low: float | None = None,
    high: float | None = None,
) -> Normalised:
    """Min-max over every alignment of a normalisation group, the three kinds together, into [0, 1].

        x' = (x - low) / (high - low)

    self_a, self_b, cross : alignment means of all matchups of the group; NaN is ignored and stays NaN
    low, high             : constants that stand in for the group's minimum and maximum; a value outside them
                            is not clipped: it lands outside [0, 1], and later instances stay comparable
    raises                : ConstantGroup if low equals high, for a group's own also if they differ by rounding alone;
                            AnalysisError if low exceeds high, a value is infinite, or there is neither a value nor a
                            constant
    source                : Ghosh et al. 2024, Compare without Despair, note 4
    """
    parts = [np.asarray(part, dtype=np.float64) for part in (self_a, self_b, cross)]
    values = np.concatenate([part[~np.isnan(part)] for part in parts])
    if np.isinf(values).any():
        raise AnalysisError(f"{np.isinf(values).sum()} of {values.size} alignments are infinite")
    if not values.size and (low is None or high is None):
        raise AnalysisError("the normalisation group holds no alignment and not both constants are given")
    lowest = float(values.min()) if low is None else float(low)
    highest = float(values.max()) if high is None else float(high)
    is_given = low is not None and high is not None
    if highest == lowest if is_given else not has_spread(lowest, highest):
        raise ConstantGroup(f"every alignment of the normalisation group is {lowest}: min-max is undefined")
    if not lowest < highest:
        raise AnalysisError(f"the low constant {lowest} is not below the high one {highest}")
    own_a, own_b, between = ((part - lowest) / (highest - lowest) for part in parts)
    return Normalised(own_a, own_b, between, lowest, highest)


def has_spread(low: float, high: float) -> bool:
    """Tell whether a group's least and greatest alignment differ by more than rounding, in either order."""
    return abs(high - low) > ROUNDING * max(abs(low), abs(high))


def _self_alignment(block: FloatArray) -> FloatArray:
    k = block.shape[-1]
    means = block[..., ~np.eye(k, dtype=bool)].mean(axis=-1) if k > 1 else np.full(block.shape[:-2], np.nan)
    value: FloatArray = np.asarray(means)[()]
    return value


def _sampled(cross: FloatArray, count: int, rng: np.random.Generator | None) -> FloatArray:
    if rng is None:
        raise AnalysisError(f"sampling {count} cross pairs needs a random generator")
    if not 1 <= count <= cross.shape[-1]:
        raise NotEnough(f"asked for {count} of {cross.shape[-1]} cross pairs")
    order = rng.permuted(np.broadcast_to(np.arange(cross.shape[-1]), cross.shape), axis=-1)
    return np.take_along_axis(cross, order[..., :count], axis=-1)
