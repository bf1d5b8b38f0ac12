"""Number of comparisons that would settle the next place of a ranking."""

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from analysis.intervals.jackknife import student_tail
from analysis.intervals.multiple_testing import holm
from analysis.planning.designs import settled_places
from analysis.ranking.spread import Differences, ranks
from analysis.types import BoolArray

CHANCE = 0.8
MAX_FACTOR = 1000.0  # times the existing comparisons: beyond that, systems are as good as alike


@dataclass(frozen=True)
class NextPlace:
    """The first place of a ranking that is not settled.

    place  : from 1; None where all are settled
    system : the code of the system that stands there now; -1 where all are settled
    others : codes of the systems below it that it is not surely better than
    factor : times as many comparisons, spread over systems and instances as those so far, settle it with the chance asked for;
             NaN where a difference could not be tested, infinite where more than a thousand times as many would not
    """

    place: int | None
    system: int
    others: tuple[int, ...]
    factor: float


def next_place(value: npt.ArrayLike, tests: Differences, level: float, *, chance: float = CHANCE) -> NextPlace:
    """Plan how many more comparisons settle the next place: its system is then surely better than all below it.

    Takes the differences for the true ones and their standard errors to shrink with the square root of the number of
    comparisons; degrees of freedom grow with it. Other instances, not more raters on the same ones, keep that true.

    value   : (n_systems,) scores in one component, without NaN
    tests   : of their differences; p-values after so many more are adjusted by Holm's method as theirs
    level   : that adjusted p-values fall below 1 - level
    chance  : that a difference of this size is then found
    returns : `NextPlace`
    source  : the usual size of a sample for a t-test (Cohen 1988, Statistical Power Analysis, §2), under Holm's correction
    """
    score = np.asarray(value, dtype=np.float64)
    better = tests.better(len(score), level)
    rank, low, high = ranks(score, better, np.zeros(len(score), dtype=np.int64))
    settled = settled_places(low, high)
    if settled == len(score):
        return NextPlace(None, -1, (), 1.0)
    system = int(np.flatnonzero(rank == rank[rank > settled].min())[0])
    open_systems = [
        code for code in np.flatnonzero(rank > settled).tolist() if code != system and not better[system, code]
    ]
    rows = _rows(tests, system, open_systems)
    if np.isnan(tests.p_value[rows]).any() or len(np.flatnonzero(rows)) < len(open_systems):
        return NextPlace(settled + 1, system, tuple(open_systems), math.nan)
    return NextPlace(settled + 1, system, tuple(open_systems), _least_factor(tests, rows, level, chance))


def _rows(tests: Differences, system: int, opponents: list[int]) -> BoolArray:
    between: BoolArray = ((tests.first == system) & np.isin(tests.second, opponents)) | (
        (tests.second == system) & np.isin(tests.first, opponents)
    )
    return between


def _least_factor(tests: Differences, rows: BoolArray, level: float, chance: float) -> float:
    """Search by halving: more comparisons make every difference surer."""
    low, high = 1.0, 2.0
    while not _settles(tests, rows, level, chance, high):
        low, high = high, 2 * high
        if low >= MAX_FACTOR:
            return math.inf
    while high / low > 1.005:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _settles(tests, rows, level, chance, middle) else (middle, high)
    return high


def _settles(tests: Differences, rows: BoolArray, level: float, chance: float, factor: float) -> bool:
    tested = ~np.isnan(tests.p_value)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(tests.error > 0, np.abs(tests.value) / tests.error, 0.0) * math.sqrt(factor)
    t = np.where(rows, np.maximum(t - NormalDist().inv_cdf(chance), 0), t)
    p_value = np.full(len(t), np.nan)
    for row in np.flatnonzero(tested):
        df = max(1, int((tests.df[row] + 1) * factor) - 1)
        p_value[row] = min(1.0, 2 * student_tail(float(t[row]), df))
    after = replace(tests, p_value=p_value, adjusted=holm(p_value))
    return bool((after.adjusted[rows] < 1 - level).all())
