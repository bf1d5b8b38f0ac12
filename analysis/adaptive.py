"""Several systems compared step by step: which pairs on which instances next, until places are settled or a budget is used."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from analysis.designs import balanced_design, checked_pairs, neighbour_design, settled_places, widest_pair
from analysis.errors import UnknownValue
from analysis.intervals import MIN_FOR_STATISTIC
from analysis.ranking import differences, jackknife_covariance, left_out_strengths, ranks
from analysis.ranking.graph import UNMET
from analysis.types import BoolArray, FloatArray, IntArray

DesignName = Literal["all", "balanced", "swiss", "adaptive"]
Cell = tuple[int, int]  # an instance, and a row of the pairs of systems
STEP = 20  # comparisons between two looks at the ranking; of a Swiss round instances
AT_FIRST = MIN_FOR_STATISTIC + 4  # instances of each system before an adaptive design looks: some have no verdict


class Replies(NamedTuple):
    """Scores of the first system of each cell's pair: 1, ½, 0 or NaN for none; and whether more may be asked."""

    scores: Sequence[float]
    proceed: bool = True


Ask = Callable[[list[Cell]], Replies]


@dataclass(frozen=True, eq=False)
class Standing:
    """A ranking so far.

    strengths, rank, low, high : (n_systems,) Bradley-Terry strengths, ranks and their ranges; ranks of 0 where systems are in
                                 several components, or one was never compared
    better      : (n, n) whether the row's system is surely better than the column's
    error       : (n_pairs,) standard error of each difference; NaN where it was not tested
    settled     : places settled, from the first on
    comparisons : with a score
    """

    strengths: FloatArray
    rank: IntArray
    low: IntArray
    high: IntArray
    better: BoolArray
    error: FloatArray
    settled: int
    comparisons: int


@dataclass(frozen=True, eq=False)
class Ranked:
    """How it ended: `settled`, `budget`, `exhausted` (nothing is left to ask) or `ended` (by the one that answers)."""

    standing: Standing
    asked: int
    stopped: str


class _Asked:
    """The cells asked so far with their scores."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.score = np.full(shape, np.nan)
        self.done = np.zeros(shape, dtype=bool)

    def note(self, cells: list[Cell], scores: Sequence[float]) -> None:
        rows, columns = np.array(cells).T
        self.score[rows, columns], self.done[rows, columns] = scores, True


def rank_systems(
    ask: Ask,
    available: npt.ArrayLike,
    pairs: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    design: DesignName = "adaptive",
    per_instance: int = 1,
    settle: int = 1,
    budget: int | None = None,
    step: int = STEP,
    level: float = 0.95,
) -> Ranked:
    """Compare systems by a design, and look at the ranking after each step.

    Instances come in a random order. `all` asks every pair of systems on one instance after the other, `balanced` those of
    `balanced_design`; `swiss` lets neighbours of the ranking so far meet on the next instances, in a random order at first. `adaptive`
    begins with a balanced design until each system has 24 instances, then asks `widest_pair` on its next instances, of the
    pairs of the system that stands at the next place to be settled.

    ask          : answers cells of (instance, row of `pairs`)
    available    : (n_instances, n_pairs) whether an instance has texts of a pair's systems
    pairs        : (n_pairs, 2) codes of systems, from 0
    per_instance : of `balanced`
    settle       : stop when so many places, from the first on, are settled; 0 asks whatever the budget allows
    budget       : cells asked at most
    returns      : `Ranked`. With the same generator and the same replies it asks the same again
    raises       : ShapeError, UnknownValue; UnknownValue for a step below 1 or a negative number
    source       : the adaptive step is ours; looking after each step makes errors more frequent than 1 - level
    """
    has, ends = checked_pairs(available, pairs)
    if step < 1 or settle < 0 or (budget is not None and budget < 0):
        raise UnknownValue(f"need a step of 1 or more, and no negative number, got {step}, {settle} and {budget}")
    asked, most = _Asked(has.shape), math.inf if budget is None else budget
    standing = _standing(asked, ends, level)
    steps = _steps(design, has, ends, asked, rng, step, per_instance, lambda: standing)
    for wanted in steps:
        if settle and standing.settled >= min(settle, len(standing.rank)):
            return Ranked(standing, int(asked.done.sum()), "settled")
        cells = wanted[: int(min(most - asked.done.sum(), len(wanted)))]
        if not cells:
            return Ranked(standing, int(asked.done.sum()), "budget")
        replies = ask(cells)
        asked.note(cells, replies.scores)
        standing = _standing(asked, ends, level)
        if not replies.proceed:
            return Ranked(standing, int(asked.done.sum()), "ended")
    is_settled = bool(settle) and standing.settled >= min(settle, len(standing.rank))
    return Ranked(standing, int(asked.done.sum()), "settled" if is_settled else "exhausted")


def _standing(asked: _Asked, ends: IntArray, level: float) -> Standing:
    rows, columns = np.nonzero(~np.isnan(asked.score))
    a, b, n = ends[columns, 0], ends[columns, 1], int(ends.max(initial=-1)) + 1
    found = left_out_strengths(a, b, asked.score[rows, columns], rows, n_systems=n)
    fit, nothing = found.fit, np.zeros(n, dtype=np.int64)
    met = [np.unique(rows[(a == system) | (b == system)]) for system in range(n)]
    apart = found.together[:, np.newaxis] != found.together
    covariance = np.where(apart, np.nan, jackknife_covariance(found.moved))
    instances = np.array([len(one) for one in met])
    tests = differences(fit.strengths, covariance, instances, fit.component, least=MIN_FOR_STATISTIC)
    better = tests.better(n, level)
    rank, low, high = ranks(fit.strengths, better, fit.component)
    if UNMET in fit.component or len(set(fit.component.tolist())) > 1:
        rank, low, high, better = nothing, nothing, nothing, np.zeros_like(better)
    known = {
        (one, other): error
        for one, other, error, p in zip(tests.first, tests.second, tests.error, tests.p_value, strict=True)
        if not np.isnan(p)
    }
    error = np.array([known.get((min(pair), max(pair)), np.nan) for pair in ends.tolist()], dtype=np.float64)
    return Standing(fit.strengths, rank, low, high, better, error, settled_places(low, high), len(rows))


def _steps(
    design: DesignName,
    has: BoolArray,
    ends: IntArray,
    asked: _Asked,
    rng: np.random.Generator,
    step: int,
    per_instance: int,
    standing: Callable[[], Standing],
) -> Iterator[list[Cell]]:
    """Yield the cells of each step; never one that was asked, and never none."""
    order = rng.permutation(len(has))
    if design in ("all", "balanced"):
        chosen = has if design == "all" else balanced_design(has, ends, per_instance, rng)
        yield from _in_parts(_cells(chosen, order), step)
    elif design == "swiss":
        yield from _swiss(has, ends, asked, order, rng, step, standing)
    elif design == "adaptive":
        systems, pairs = len(np.unique(ends)), max(1, len(ends))
        wanted = math.ceil(AT_FIRST * systems / 2)
        begun = order[:wanted]
        each = min(pairs, math.ceil(wanted / max(1, len(begun))))
        first = np.zeros_like(has)
        first[begun] = balanced_design(has[begun], ends, each, rng)
        yield from _in_parts(_cells(first, order), len(has) * pairs)
        while (cells := _widest(has & ~asked.done, ends, order, step, standing())) is not None:
            yield cells
    else:
        raise UnknownValue(f"there is no design {design!r}")


def _cells(chosen: BoolArray, order: IntArray) -> list[Cell]:
    return [(row, int(pair)) for row in order.tolist() for pair in np.flatnonzero(chosen[row])]


def _in_parts(cells: list[Cell], step: int) -> Iterator[list[Cell]]:
    yield from (cells[start : start + step] for start in range(0, len(cells), max(1, step)))


def _swiss(
    has: BoolArray,
    ends: IntArray,
    asked: _Asked,
    order: IntArray,
    rng: np.random.Generator,
    step: int,
    standing: Callable[[], Standing],
) -> Iterator[list[Cell]]:
    """Yield rounds on the next instances, from the first again when all were used, until a whole turn has nothing new."""
    systems, drawn = np.unique(ends), rng.permutation(int(ends.max(initial=-1)) + 1)
    start = idle = 0
    while len(order) and idle * step < len(order) + step:
        block = np.unique(np.take(order, range(start, start + min(step, len(order))), mode="wrap"))
        ranked = drawn[np.argsort(-standing().strengths[drawn].round(9), kind="stable")]
        chosen = np.zeros_like(has)
        chosen[block] = neighbour_design(has[block], ends, ranked[np.isin(ranked, systems)])
        cells = _cells(chosen & ~asked.done, order)
        start, idle = start + step, 0 if cells else idle + 1
        if cells:
            yield cells


def _widest(left: BoolArray, ends: IntArray, order: IntArray, step: int, standing: Standing) -> list[Cell] | None:
    """Return the next instances of the widest pair that has any left: of those that decide the next place, else of any."""
    usable = left.any(axis=0)
    if not usable.any():
        return None
    decides = (standing.rank[ends] == _next_rank(standing)).any(axis=1)
    for among in (np.flatnonzero(usable & decides), np.flatnonzero(usable)):
        found = widest_pair(standing.better, ends[among], standing.error[among])
        if found >= 0:
            break
    else:  # all that is left is sure; the least sure difference serves the others too
        found = int(np.argmax(np.nan_to_num(standing.error[among], nan=np.inf)))
    pair = int(among[found])
    return [(row, pair) for row in order.tolist() if left[row, pair]][:step]


def _next_rank(standing: Standing) -> int:
    """The rank of the system that stands at the first place which is not settled; 0 where there are no ranks."""
    return int(min(standing.rank[standing.rank > standing.settled].tolist(), default=0))
