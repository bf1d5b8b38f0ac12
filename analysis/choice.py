"""What a choice of instances comes to: how it lies over a scale, and how much rating, time and pay it is."""

import math
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analysis.bins import assign, equal_width_edges
from analysis.errors import ShapeError, UnknownValue
from analysis.types import FloatArray, IntArray

CENT = Decimal("0.01")


class Split(NamedTuple):
    """Counts of what was chosen and what was left, bin by bin; values that are undefined are in no bin."""

    edges: FloatArray
    chosen: IntArray
    left: IntArray
    chosen_undefined: int
    left_undefined: int


def split(values: npt.ArrayLike, chosen: npt.ArrayLike, bins: int) -> Split:
    """Count chosen and other items in equal-width bins over all the values.

    values  : (n_items,); NaN is undefined and counted apart
    chosen  : positions of the chosen items, each once
    bins    : how many; one is made when all values are equal, none when there is no value
    raises  : ShapeError unless `values` is 1-D; UnknownValue for a position that is not there; as `equal_width_edges`
    """
    scores = np.asarray(values, dtype=np.float64)
    places = np.asarray(chosen, dtype=np.int64)
    if scores.ndim != 1:
        raise ShapeError(f"need one value per item, got shape {scores.shape}")
    if places.size and not (places.min() >= 0 and places.max() < len(scores)):
        raise UnknownValue(f"positions must be from 0 to {len(scores) - 1}")
    is_chosen = np.zeros(len(scores), dtype=bool)
    is_chosen[places] = True
    undefined = np.isnan(scores)
    known = scores[~undefined]
    edges = np.empty(0)
    in_bin = np.full(len(scores), -1)
    if known.size:
        edges = equal_width_edges(scores, 1 if known.min() == known.max() else bins)
        in_bin = assign(scores, edges)
    n_bins = max(len(edges) - 1, 0)
    return Split(
        edges,
        np.bincount(in_bin[is_chosen & ~undefined], minlength=n_bins).astype(np.int64),
        np.bincount(in_bin[~is_chosen & ~undefined], minlength=n_bins).astype(np.int64),
        int((is_chosen & undefined).sum()),
        int((~is_chosen & undefined).sum()),
    )


@dataclass(frozen=True)
class Workload:
    """How much work HITs are, all their raters together.

    ratings     : votes on pairs that count: hits × pairs a HIT × raters a HIT
    assignments : HITs handed in, `checks` of them hidden checks
    raters      : so many people at least: each gets a HIT once, and no more HITs than one may have
    hours, pay, fee : None where it is not known how long a HIT takes or what it pays
    """

    hits: int
    pairs: int
    ratings: int
    assignments: int
    checks: int
    raters: int
    hours: float | None
    pay: Decimal | None
    fee: Decimal | None

    @property
    def cost(self) -> Decimal | None:
        """Pay and fee together."""
        return None if self.pay is None else self.pay + (self.fee or Decimal(0))


def workload(
    *,
    hits: int,
    pairs_per_hit: int,
    raters_per_hit: int,
    most_hits_per_rater: int | None = None,
    most_in_study: int | None = None,
    check_share: float = 0.0,
    minutes_per_hit: float | None = None,
    pay_per_hit: Decimal | None = None,
    fee_percent: Decimal = Decimal(0),
) -> Workload:
    """Work out what so many HITs come to.

    most_hits_per_rater, most_in_study : of these HITs; and of all a rater is given, hidden checks included
    check_share : share of a rater's HITs that are hidden checks, which come on top and are paid as any HIT
    fee_percent : what a channel takes on top of the pay
    raises      : UnknownValue for a share outside [0, 1), a limit below 1, or a negative number
    """
    if min(hits, pairs_per_hit, raters_per_hit) < 0 or not 0 <= check_share < 1 or fee_percent < 0:
        raise UnknownValue(f"{hits} HITs, {raters_per_hit} raters, {check_share} checks, fee of {fee_percent} %")
    for most in (most_hits_per_rater, most_in_study):
        if most is not None and most < 1:
            raise UnknownValue(f"at most {most} HITs a rater")
    rated = hits * raters_per_hit
    checks = round(rated / (1 - check_share)) - rated
    pay = None if pay_per_hit is None else pay_per_hit * (rated + checks)
    return Workload(
        hits=hits,
        pairs=hits * pairs_per_hit,
        ratings=rated * pairs_per_hit,
        assignments=rated + checks,
        checks=checks,
        raters=max(
            raters_per_hit if hits else 0,
            math.ceil(rated / most_hits_per_rater) if most_hits_per_rater else 0,
            math.ceil((rated + checks) / most_in_study) if most_in_study else 0,
        ),
        hours=None if minutes_per_hit is None else (rated + checks) * minutes_per_hit / 60,
        pay=pay,
        fee=None if pay is None else (pay * fee_percent / 100).quantize(CENT, ROUND_HALF_UP),
    )
