"""The alternative-annotator test: whether a judge may replace people.

What cannot be answered carries a `Refusal`, and its numbers are NaN.
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from analysis.agreement.leave_one_out import Votes, VoteShares, shares_by_instance
from analysis.errors import UnknownValue
from analysis.intervals.jackknife import student_quantile, student_tail
from analysis.intervals.multiple_testing import benjamini_yekutieli
from analysis.types import FloatArray, IntArray, Refusal, too_few

MIN_INSTANCES = 30  # of one person, for a t-test
MIN_PEOPLE = 3
FALSE_DISCOVERIES = 0.05
PASSING = 0.5
EPSILONS = np.linspace(0, 0.3, 31)
ROUNDING = 1e-9  # of mean shares, which have denominators far below a billion


@dataclass(frozen=True)
class PersonTest:
    """One person against the judge, each compared with the other people.

    person                  : column of the votes
    n_instances             : instances that the person rated with others, and the judge too
    judge_wins, person_wins : share of these where the judge (the person) is at least as close to the others; the first is
                              the advantage probability. They add up to more than 1 by the share of draws
    p_value                 : of H0: judge_wins <= person_wins - ε; NaN if the person was not tested
    adjusted                : the same by Benjamini and Yekutieli over all people tested
    """

    person: int
    n_instances: int
    judge_wins: float
    person_wins: float
    p_value: float
    adjusted: float

    @property
    def tested(self) -> bool:
        """Return whether the person has enough instances."""
        return not np.isnan(self.p_value)

    @property
    def rejected(self) -> bool:
        """Return whether the judge does better than the person less ε, beyond chance."""
        return self.adjusted <= FALSE_DISCOVERIES


@dataclass(frozen=True, eq=False)
class AlternativeAnnotatorTest:
    """Result of `alternative_annotator_test`.

    winning_rate  : ω, the share of the people tested for whom H0 is rejected
    passes        : whether ω is at least 1/2; None if refused
    advantage     : mean of the tested people's advantage probabilities, NaN without any
    people        : every person who shares an instance with others and the judge, tested or not
    epsilons      : (n,) and winning_rates : (n,) the curve of ω over ε; NaN throughout if refused
    without_judge : votes beside other people's on units where the judge has no verdict; they play no part
    """

    epsilon: float
    winning_rate: float
    passes: bool | None
    advantage: float
    people: tuple[PersonTest, ...]
    epsilons: FloatArray
    winning_rates: FloatArray
    without_judge: int
    refusal: Refusal | None


def alternative_annotator_test(
    judge: npt.ArrayLike,
    people: npt.ArrayLike | Votes,
    instance: npt.ArrayLike,
    *,
    epsilon: float = 0.1,
    epsilons: npt.ArrayLike = EPSILONS,
    min_instances: int = MIN_INSTANCES,
    min_people: int = MIN_PEOPLE,
) -> AlternativeAnnotatorTest:
    """Test whether a judge represents people's votes as well as one of them does, less ε for what a person costs.

    For each person and each instance: how often the other people gave the person's vote, and how often the judge's, as the
    mean over the instance's pairs of the share of the others. The closer one wins the instance; in a draw both do. A
    one-sided paired t-test over instances has H0: mean judge's wins <= mean person's wins - ε. Without any spread p is 0
    or 1. The winning rate ω is the share of people for whom H0 is rejected at a false discovery rate of 0.05.

    judge         : (n_units,) of -1, 0, +1, NaN for missing; people : as for `leave_one_out.votes_of`
    instance      : (n_units,) integer codes
    epsilon       : 0.1 for crowd workers, 0.15 for skilled raters, 0.2 for experts
    epsilons      : (n,) where the curve is computed
    min_instances : people with fewer are not tested
    min_people    : with fewer tested people there is no verdict
    returns       : `AlternativeAnnotatorTest`, with a `Refusal` below these numbers
    raises        : ShapeError, UnknownValue
    source        : Calderon, Reichart and Dror 2025, The Alternative Annotator Test for LLM-as-a-Judge, §3; Benjamini and
                    Yekutieli 2001 for several people; instances of several pairs by the mean over pairs
    """
    grid = np.asarray(epsilons, dtype=np.float64)
    if grid.ndim != 1 or not np.isfinite([*grid, epsilon]).all():
        raise UnknownValue(f"need finite values of ε in one column, got {epsilon} and shape {grid.shape}")
    shares, codes = shares_by_instance(judge, people, instance)
    wins = _wins(shares, codes)
    tested = np.flatnonzero(wins.n >= max(min_instances, 1))
    p_values = np.full(len(wins.n), np.nan)
    p_values[tested] = _tails(_t_values(wins.at(tested), epsilon), wins.n[tested] - 1)
    adjusted = benjamini_yekutieli(p_values)
    tests = tuple(
        PersonTest(
            int(h),
            int(wins.n[h]),
            float(wins.judge[h] / wins.n[h]),
            float(wins.person[h] / wins.n[h]),
            float(p_values[h]),
            float(adjusted[h]),
        )
        for h in np.flatnonzero(wins.n)
    )
    refusal = too_few("tested", len(tested), max(min_people, 1))
    rate = np.nan if refusal else _winning_rate(wins.at(tested), epsilon)
    return AlternativeAnnotatorTest(
        epsilon=epsilon,
        winning_rate=rate,
        passes=None if refusal else rate >= PASSING,
        advantage=float(np.mean([test.judge_wins for test in tests if test.tested])) if len(tested) else np.nan,
        people=tests,
        epsilons=grid,
        winning_rates=np.array([np.nan if refusal else _winning_rate(wins.at(tested), value) for value in grid]),
        without_judge=shares.without_judge,
        refusal=refusal,
    )


@dataclass(frozen=True, eq=False)
class _Wins:
    """Instances of each person, and on how many of them the judge, the person and both are at least as close."""

    n: IntArray
    judge: IntArray
    person: IntArray

    def at(self, people: IntArray) -> "_Wins":
        return _Wins(self.n[people], self.judge[people], self.person[people])


def _wins(shares: VoteShares, codes: IntArray) -> _Wins:
    votes = shares.at(shares.counted)
    width = int(votes.who.max(initial=0)) + 1
    dense = np.unique(codes, return_inverse=True)[1]
    cells, cell = np.unique(dense[votes.unit] * width + votes.who, return_inverse=True)
    # Sums stand for means: judge and person are compared on the same pairs.
    gap = np.bincount(cell, votes.judge - votes.person, len(cells))
    person = cells % width
    counted = (
        np.bincount(person[condition], minlength=width)
        for condition in (gap > -np.inf, gap >= -ROUNDING, gap <= ROUNDING)
    )
    return _Wins(*counted)


def _winning_rate(wins: _Wins, epsilon: float) -> float:
    t = _t_values(wins, epsilon)
    # No adjusted value is below m / k · (1 + … + 1 / m) ≥ 1 + … + 1 / m times the raw one, nor above m times that.
    harmonic = (1 / np.arange(1, len(t) + 1)).sum()
    never = NormalDist().inv_cdf(1 - FALSE_DISCOVERIES / harmonic)  # Student's tail is above the normal one
    always = student_quantile(1 - FALSE_DISCOVERIES / harmonic / len(t), max(wins.n.min() - 1, 1))
    p_values = np.where(t > always, 0.0, 1.0)
    between = (t >= never) & (t <= always)
    p_values[between] = _tails(t[between], wins.n[between] - 1)
    return float((benjamini_yekutieli(p_values) <= FALSE_DISCOVERIES).mean())


def _t_values(wins: _Wins, epsilon: float) -> FloatArray:
    """Student's t per person for H0: mean of (person's win - judge's win) >= ε.

    Without any spread it is infinite: above 0 where the mean is below ε. -inf for a single instance, which shows nothing.
    """
    n, gap, alone = wins.n, wins.person - wins.judge, 2 * wins.n - wins.person - wins.judge  # alone: no draw
    distance = epsilon - gap / n
    # Of the mean; from whole numbers, so that it is exactly 0 without spread.
    variance = (n * alone - gap**2) / (n * n * np.maximum(n - 1, 1))
    t = np.where((n > 1) & (distance > 0), np.inf, -np.inf)
    spread = (n > 1) & (variance > 0)
    t[spread] = distance[spread] / np.sqrt(variance[spread])
    return t


def _tails(t: FloatArray, df: IntArray) -> FloatArray:
    # Many people have the same numbers of instances and of wins.
    cases, case = np.unique(np.stack([t, df]), axis=1, return_inverse=True)
    return np.array([student_tail(*value) for value in cases.T.tolist()])[case.ravel()]
