"""May a judge stand in for people: the alternative-annotator test.

Votes come as (n_units, n_people) with NaN where a person saw nothing, and a judge's verdicts as (n_units,); a unit is one
pair of one instance. What cannot be answered carries a `Refusal`, and its numbers are NaN.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from analysis.agreement import VALUES
from analysis.bootstrap import cluster_sums
from analysis.errors import ShapeError, UnknownValue
from analysis.jackknife import student_tail
from analysis.multiple_testing import benjamini_yekutieli
from analysis.types import BoolArray, FloatArray, IntArray, code_array, verdict_array

MIN_INSTANCES = 30  # of one person, for a t-test
MIN_PEOPLE = 3
FALSE_DISCOVERIES = 0.05
PASSING = 0.5
EPSILONS = np.linspace(0, 0.3, 31)
ROUNDING = 1e-9  # of mean shares, which have denominators far below a billion


@dataclass(frozen=True)
class Refusal:
    """Why there is no answer: how many there are of what, and how many it takes."""

    what: Literal["people"]
    found: int
    needed: int

    def __str__(self) -> str:
        return f"{self.found} {self.what}, {self.needed} needed"


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
        """Whether the person has enough instances."""
        return not np.isnan(self.p_value)

    @property
    def rejected(self) -> bool:
        """Whether the judge does better than the person less ε, beyond chance."""
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
    people: npt.ArrayLike,
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
    one-sided paired t-test over instances has H0: mean judge's wins <= mean person's wins - ε.

    judge         : (n_units,); people : (n_units, n_people); both of -1, 0, +1, NaN for missing
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
    shares = _shares(judge, people, instance)
    judge_wins, person_wins, shared = _wins(shares)
    counts = shared.sum(axis=0)
    present, tested = np.flatnonzero(counts), np.flatnonzero(counts >= min_instances)
    gaps = [(person_wins[shared[:, h], h] - judge_wins[shared[:, h], h]) for h in tested]
    p_values = np.full(len(counts), np.nan)
    p_values[tested] = [_p_value(gap, epsilon) for gap in gaps]
    adjusted = benjamini_yekutieli(p_values)
    tests = tuple(
        PersonTest(
            int(h),
            int(counts[h]),
            float(judge_wins[shared[:, h], h].mean()),
            float(person_wins[shared[:, h], h].mean()),
            float(p_values[h]),
            float(adjusted[h]),
        )
        for h in present
    )
    refusal = None if len(tested) >= max(min_people, 1) else Refusal("people", len(tested), max(min_people, 1))
    rate = np.nan if refusal else _winning_rate(gaps, epsilon)
    return AlternativeAnnotatorTest(
        epsilon=epsilon,
        winning_rate=rate,
        passes=None if refusal else rate >= PASSING,
        advantage=float(np.mean([test.judge_wins for test in tests if test.tested])) if len(tested) else np.nan,
        people=tests,
        epsilons=grid,
        winning_rates=np.array([np.nan if refusal else _winning_rate(gaps, one) for one in grid]),
        without_judge=shares.without_judge,
        refusal=refusal,
    )


@dataclass(frozen=True, eq=False)
class _Shares:
    """Per vote, the share of the other people who gave it, and who gave the judge's verdict.

    person, judge : (n_units, n_people), 0 where `counted` is false: without a vote, another person's or the judge's
    """

    person: FloatArray
    judge: FloatArray
    counted: BoolArray
    instance: IntArray
    without_judge: int


def _shares(judge: npt.ArrayLike, people: npt.ArrayLike, instance: npt.ArrayLike) -> _Shares:
    verdict, votes, codes = verdict_array(judge), verdict_array(people), code_array("instance", instance)
    if verdict.ndim != 1 or votes.ndim != 2 or len(verdict) != len(votes) or codes.shape != verdict.shape:
        raise ShapeError(
            f"need (n_units,), (n_units, n_people) and (n_units,), got {verdict.shape}, {votes.shape}, {codes.shape}"
        )
    voted = ~np.isnan(votes)
    others = voted.sum(axis=1, keepdims=True) - voted
    beside = voted & (others > 0)
    counted = beside & ~np.isnan(verdict)[:, np.newaxis]
    same, as_judge = np.zeros(votes.shape), np.zeros(votes.shape)
    for value in VALUES:
        given = votes == value
        number = given.sum(axis=1, keepdims=True)
        same += np.where(given, number - 1, 0)
        as_judge += np.where((verdict == value)[:, np.newaxis], number - given, 0)
    room = np.where(counted, others, 1)
    return _Shares(
        np.where(counted, same, 0) / room,
        np.where(counted, as_judge, 0) / room,
        counted,
        codes,
        int(beside.sum() - counted.sum()),
    )


def _wins(shares: _Shares) -> tuple[FloatArray, FloatArray, BoolArray]:
    """(n_instances, n_people) whether the judge, and the person, is at least as close, and whether they are compared."""
    # Sums stand for means: judge and person are compared on the same pairs.
    gap = cluster_sums(shares.judge - shares.person, shares.instance)
    shared = cluster_sums(shares.counted, shares.instance) > 0
    return (gap >= -ROUNDING).astype(np.float64), (gap <= ROUNDING).astype(np.float64), shared


def _winning_rate(gaps: list[FloatArray], epsilon: float) -> float:
    adjusted = benjamini_yekutieli([_p_value(gap, epsilon) for gap in gaps])
    return float((adjusted <= FALSE_DISCOVERIES).mean())


def _p_value(gap: FloatArray, epsilon: float) -> float:
    """One-sided p-value of H0: mean gap >= ε; without any spread it is 0 or 1, and 1 for a single instance."""
    n, distance = len(gap), epsilon - gap.mean()
    if n < 2:
        return 1.0
    error = gap.std(ddof=1) / np.sqrt(n)
    if error == 0:
        return float(distance <= 0)
    return student_tail(float(distance / error), n - 1)
