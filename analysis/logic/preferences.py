"""A rater's preferences among several items: the graph they make, and whether order and negation change them.

`p[i, j]` is the probability that item i is preferred when i is shown first and j second. A preference goes to the item shown
first at p of 1/2 or more. Items are never compared with themselves: the diagonal is left out. Leading axes may be instances.
"""

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError
from analysis.intervals.bootstrap import counted_rows, ratio
from analysis.types import BoolArray, FloatArray, share_array


def preference_graph(p: npt.ArrayLike, *, ties: npt.ArrayLike | None = None, both_orders: bool = False) -> BoolArray:
    """Graph of preferences between items, from one presentation of each pair.

    p           : (..., n, n) in [0, 1], NaN for a pair that was not judged
    ties        : (..., n, n) where the verdict was a tie, whatever p says there: no edge
    both_orders : whether p of a pair is the mean over its two orders, in place of the order with the lower item first;
                  a pair that was judged in one order only then has no edge
    returns     : (..., n, n) bool, [i, j] where i is preferred to j; a pair without a verdict has no edge
    raises      : ShapeError for what is not square; UnknownValue for a value outside [0, 1]
    source      : Liu et al. 2024, Aligning with Logic, algorithm 1. Both orders in one graph would make a cycle of each effect
                  of the order
    """
    values, tied = _probabilities(p), _ties(p, ties)
    if both_orders:
        values = (values + 1 - np.swapaxes(values, -1, -2)) / 2
        tied = tied | np.swapaxes(tied, -1, -2)
    upper = np.triu(np.ones(values.shape[-2:], dtype=bool), 1) & ~tied
    first: BoolArray = upper & (values >= 0.5)
    second: BoolArray = upper & (values < 0.5)
    return first | np.swapaxes(second, -1, -2)


def commutativity(p: npt.ArrayLike, *, ties: npt.ArrayLike | None = None) -> FloatArray:
    """Share of pairs whose preferred item is the same in both orders.

    p, ties : as for `preference_graph`; two ties are the same, a tie and a preference are not
    returns : (...,) in [0, 1]; NaN where no pair was judged in both orders. Such pairs are left out
    raises  : as `preference_graph`
    source  : Liu et al. 2024, Aligning with Logic, §2.2
    """
    return ratio(commutativity_sums(p, ties=ties))


def commutativity_sums(p: npt.ArrayLike, *, ties: npt.ArrayLike | None = None) -> FloatArray:
    """Pairs with the same preferred item in both orders, and pairs judged in both: (..., 2), for `ratio`."""
    values, tied = _probabilities(p), _ties(p, ties)
    verdict = np.where(tied, 0.0, np.where(values >= 0.5, 1.0, -1.0))  # 1 where the row's item is preferred
    upper = np.triu(np.ones(values.shape[-2:], dtype=bool), 1)
    judged = upper & _given(values, tied) & np.swapaxes(_given(values, tied), -1, -2)
    same = judged & (verdict == -np.swapaxes(verdict, -1, -2))
    return counted_rows(same.sum(axis=(-2, -1)), judged.sum(axis=(-2, -1)))


def negation_invariance(p: npt.ArrayLike, q: npt.ArrayLike) -> FloatArray:
    """Share of presentations in which the negated question names the item that the plain one does not prefer.

    p       : (..., n, n) as for `preference_graph`
    q       : (..., n, n) probability that item i, shown first, is named by the negated question (“which is worse”)
    returns : (...,) in [0, 1] over ordered pairs; NaN where none has both answers. Others are left out
    raises  : as `preference_graph`; ShapeError if the shapes differ
    source  : Liu et al. 2024, Aligning with Logic, §2.3
    """
    return ratio(negation_invariance_sums(p, q))


def negation_invariance_sums(p: npt.ArrayLike, q: npt.ArrayLike) -> FloatArray:
    """Presentations whose negated answer is the opposite, and presentations with both answers: (..., 2), for `ratio`."""
    plain, negated = _probabilities(p), _probabilities(q)
    if plain.shape != negated.shape:
        raise ShapeError(f"need two matrices of one shape, got {plain.shape} and {negated.shape}")
    both = ~np.isnan(plain) & ~np.isnan(negated) & ~np.eye(plain.shape[-1], dtype=bool)
    opposite = both & ((plain >= 0.5) != (negated >= 0.5))
    return counted_rows(opposite.sum(axis=(-2, -1)), both.sum(axis=(-2, -1)))


def _probabilities(p: npt.ArrayLike) -> FloatArray:
    values = share_array("probabilities", p)
    if values.ndim < 2 or values.shape[-1] != values.shape[-2]:
        raise ShapeError(f"need (..., n, n) probabilities, got shape {values.shape}")
    return values


def _ties(p: npt.ArrayLike, ties: npt.ArrayLike | None) -> BoolArray:
    shape = np.shape(p)
    tied: BoolArray = np.zeros(shape, dtype=bool) if ties is None else np.asarray(ties, dtype=bool)
    if tied.shape != shape:
        raise ShapeError(f"need a tie or none for each probability, got shapes {tied.shape} and {shape}")
    return tied


def _given(values: FloatArray, tied: BoolArray) -> BoolArray:
    answered: BoolArray = ~np.isnan(values) | tied
    return answered
