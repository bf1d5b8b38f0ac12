"""Distribution of a selection of instances over a scale, and its ratings, time and pay."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError, UnknownValue
from analysis.grouping import assign, equal_width_edges
from analysis.types import FloatArray, IntArray

CENT = Decimal("0.01")


class SelectionByBin(NamedTuple):
    """Counts of selected and other items by bin. Undefined values are in no bin."""

    edges: FloatArray
    chosen: IntArray
    left: IntArray
    chosen_undefined: int
    left_undefined: int


def selection_by_bin(values: npt.ArrayLike, chosen: npt.ArrayLike, bins: int) -> SelectionByBin:
    """Count chosen and other items in equal-width bins over all the values.

    values  : (n_items,); NaN is undefined and counted apart
    chosen  : positions of the chosen items, each once
    bins    : how many; one is made when all values are equal, none when there is no value
    raises  : ShapeError unless `values` is 1-D; UnknownValue for a position that is not there; as `equal_width_edges`
    """
    scores = np.asarray(values, dtype=np.float64)
    positions = np.asarray(chosen, dtype=np.int64)
    if scores.ndim != 1:
        raise ShapeError(f"need one value per item, got shape {scores.shape}")
    if positions.size and not (positions.min() >= 0 and positions.max() < len(scores)):
        raise UnknownValue(f"positions must be from 0 to {len(scores) - 1}")
    is_chosen = np.zeros(len(scores), dtype=bool)
    is_chosen[positions] = True
    undefined = np.isnan(scores)
    defined = scores[~undefined]
    edges = np.empty(0)
    in_bin = np.full(len(scores), -1)
    if defined.size:
        edges = equal_width_edges(scores, 1 if defined.min() == defined.max() else bins)
        in_bin = assign(scores, edges)
    n_bins = max(len(edges) - 1, 0)
    return SelectionByBin(
        edges,
        np.bincount(in_bin[is_chosen & ~undefined], minlength=n_bins).astype(np.int64),
        np.bincount(in_bin[~is_chosen & ~undefined], minlength=n_bins).astype(np.int64),
        int((is_chosen & undefined).sum()),
        int((~is_chosen & undefined).sum()),
    )


@dataclass(frozen=True)
class Workload:
    """The work that HITs take, over all their raters.

    ratings     : votes that count: hits × pairs per HIT × raters per HIT
    assignments : submitted HITs, `checks` of them hidden checks
    raters      : the least number of people: each gets a HIT once, within the limits per rater
    hours, pay, fee : None where the time or the pay of a HIT is unknown
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
    def hits_of_each(self) -> int:
        """HITs that each of so few raters has, rounded up."""
        return -(-self.assignments // self.raters) if self.raters else 0

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
    """Compute the work of a number of HITs.

    most_hits_per_rater, most_in_study : limits on these HITs; on all HITs of a rater, hidden checks included
    check_share : share of a rater's HITs that are hidden checks, which are added and paid as any HIT
    fee_percent : the channel's fee, relative to the pay
    raises      : UnknownValue for a share outside [0, 1), a limit below 1, or a negative number
    """
    if min(hits, pairs_per_hit, raters_per_hit) < 0 or not 0 <= check_share < 1 or fee_percent < 0:
        raise UnknownValue(f"{hits} HITs, {raters_per_hit} raters, {check_share} checks, fee of {fee_percent} %")
    for limit in (most_hits_per_rater, most_in_study):
        if limit is not None and limit < 1:
            raise UnknownValue(f"at most {limit} HITs a rater")
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


def combined(works: Sequence[Workload], *, most_in_study: int | None = None) -> Workload:
    """Add the works of several batches, in all of which a rater may take HITs.

    most_in_study : as for `workload`
    """
    assignments = sum(work.assignments for work in works)
    raters_needed = math.ceil(assignments / most_in_study) if most_in_study else 0
    hours, pay, fee = ([getattr(work, name) for work in works] for name in ("hours", "pay", "fee"))
    return Workload(
        **{name: sum(getattr(work, name) for work in works) for name in ("hits", "pairs", "ratings", "checks")},
        assignments=assignments,
        raters=max([raters_needed, *(work.raters for work in works)]),
        hours=None if None in hours else sum(hours),
        pay=None if None in pay else sum(pay, Decimal(0)),
        fee=None if None in fee else sum(fee, Decimal(0)),
    )
