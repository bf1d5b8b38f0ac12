"""Test that a judge agrees with people nearly as well as people agree with one another."""

import math
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from analysis.agreement.leave_one_out import Votes, VoteShares, shares_by_instance, shares_elsewhere
from analysis.errors import ShapeError, UnknownValue
from analysis.intervals.analytic import Spread, mean_interval, ratio_spread
from analysis.intervals.bootstrap import cluster_sums, mean_rows, ratio
from analysis.intervals.jackknife import MIN_CLUSTERS, ROUNDING, Bounds, student_quantile, student_tail
from analysis.intervals.multiple_testing import level_of_look, p_value_of_look
from analysis.types import FloatArray, IntArray, Refusal, code_array, too_few

POWER = 0.8
MOST_INSTANCES = 100_000  # beyond it a plan is of no use


@dataclass(frozen=True)
class NonInferiority:
    """Result of `non_inferiority`.

    difference                       : judge_agreement - people_agreement; low, high its interval, NaN if there is none
    standard_error                   : of the difference, NaN for fewer than two instances
    skewness                         : of the instances' influences on it, 0 where they are alike
    p_value                          : one-sided, of H0: difference <= -margin, see `_p_value`; NaN where there is no interval
    judge_agreement, people_agreement: shares on the same votes: equal to the judge's verdict; among the other people, equal
                                       to the vote
    people_by_chance                 : `leave_one_out.shares_elsewhere`, averaged over the same votes
    people_above_chance              : their agreement less that by chance, where it is known; above_chance its interval
    n_votes, n_instances, n_people   : what they rest on
    without_judge                    : votes beside others' on units without a verdict of the judge; left out
    passes                           : whether low > -margin; None if refused
    """

    margin: float
    difference: float
    low: float
    high: float
    level: float
    standard_error: float
    skewness: float
    p_value: float
    judge_agreement: float
    people_agreement: float
    people_by_chance: float
    people_above_chance: float
    above_chance: Bounds
    n_votes: int
    n_instances: int
    n_people: int
    without_judge: int
    two_way: bool
    passes: bool | None
    refusal: Refusal | None


def non_inferiority(
    judge: npt.ArrayLike,
    people: npt.ArrayLike | Votes,
    instance: npt.ArrayLike,
    *,
    margin: float = 0.1,
    level: float = 0.95,
    two_way: bool = False,
    group: npt.ArrayLike | None = None,
    horizon: int | None = None,
) -> NonInferiority:
    """Test whether a judge agrees with people as well as they do with one another, but for a margin.

    Where people themselves agree by chance, any judge agrees as well: only a loss beyond the margin is a result there.

    Per vote: 1 if it is the judge's verdict, else 0, less the share of the other people on the unit who gave it. The
    mean over votes is the difference; its interval is Student's t on the jackknife over instances, with the lower limit at the
    difference that the test just rejects where that is lower. The p-value is the
    larger of Student's and that of Hall's transformation, which allows for a skewed difference:

        √n (W + γ W² / 3 + γ² W³ / 27 + γ / (6 n)) in place of √n W

    with W = (difference + margin) / s, and s and γ the spread and the skewness of the influences of n instances. It is at least
    ((1 - margin) / (1 + difference))ⁿ: the chance that n instances show none of those on which a judge fails wholly, if these
    are so many that its loss is the margin.

    judge    : (n_units,) of -1, 0, +1, NaN for missing; people : as for `leave_one_out.votes_of`
    instance : (n_units,) integer codes
    margin   : greatest loss of agreement to accept, as ε of `alternative_annotator_test`
    level    : of the two-sided interval
    two_way  : whether the interval is over instances and people, for few people who rated many instances each
    horizon  : planned instances where votes still come in: intervals and tests then hold at every look
    group    : (n_units,) integer codes of what A and B stand for, such as pairs of systems: chance is within groups
    returns  : `NonInferiority`, with a `Refusal` below five instances (two ways: or people), and unless the interval of
               people's agreement less chance lies above 0
    raises   : ShapeError, UnknownValue; AnalysisError for a level outside (0, 1)
    source   : Piaggio et al. 2012, Reporting of noninferiority and equivalence randomized trials (CONSORT), JAMA 308;
               `jackknife.two_way_variance` for two ways; Hall 1992, On the removal of skewness by transformation
    """
    shares, codes = shares_by_instance(judge, people, instance)
    return _test(shares, codes, _groups(group, codes), margin=margin, level=level, two_way=two_way, horizon=horizon)


def non_inferiority_by_bin(
    judge: npt.ArrayLike,
    people: npt.ArrayLike | Votes,
    instance: npt.ArrayLike,
    bins: npt.ArrayLike,
    n_bins: int,
    *,
    margin: float = 0.1,
    level: float = 0.95,
    two_way: bool = False,
    group: npt.ArrayLike | None = None,
    horizon: int | None = None,
) -> tuple[NonInferiority, ...]:
    """Test `non_inferiority` in each separability bin, from the most separable downward until one does not pass.

    In a fixed sequence each test keeps its level, without a correction. Bins after the first that does not pass keep their
    numbers and get a `Refusal`. A bin without votes has nothing to test: the sequence passes over it.

    bins    : (n_units,) of 0 to n_bins - 1, ascending by separability, as of `bins.assign`; -1 is in none
    returns : one `NonInferiority` for each bin, in the order of the bins
    raises  : as `non_inferiority`; UnknownValue for another bin
    source  : Maurer, Hothorn and Lehmacher 1995, Multiple comparisons in drug clinical trials: a-priori ordered hypotheses
    """
    shares, codes = shares_by_instance(judge, people, instance)
    index = code_array("bins", bins)
    if index.shape != codes.shape:
        raise ShapeError(f"need one bin for each of {len(codes)} units, got shape {index.shape}")
    if index.size and not -1 <= index.min() <= index.max() < n_bins:
        raise UnknownValue(f"bins are -1 to {n_bins - 1}, got {index.min()} to {index.max()}")
    bin_of_vote = index[shares.unit]
    test_of = partial(_test, margin=margin, level=level, two_way=two_way, horizon=horizon)
    groups, stopped = _groups(group, codes), False
    tests: list[NonInferiority] = []
    for number in reversed(range(n_bins)):
        test = test_of(shares.at(bin_of_vote == number), codes, groups)
        if stopped and test.n_votes:
            test = replace(test, passes=None, refusal=Refusal("sequence"))
        stopped = stopped or (test.n_votes > 0 and not test.passes)
        tests.append(test)
    return tuple(reversed(tests))


def instances_to_pass(test: NonInferiority, *, margin: float, level: float | None = None) -> int | None:
    """Number of instances that it takes to pass, with the difference and the spread of a test.

    The least n that passes in 80 % of studies: (t_{n-1} + z_.8) s / √n is at most difference + margin, where s² / n is the
    variance of the difference over n instances. It is at least as many as bring the limit of equal clusters above -margin.

    level   : of the interval; that of the test when left out
    returns : at least five; None where the difference is -margin or less (more instances do not help), where it takes more
              than `MOST_INSTANCES`, and where fewer than two instances tell of the spread
    source  : Julious 2004, Sample sizes for clinical trials with normal data, Statistics in Medicine 23, §4, by Student's t;
              `jackknife.mean_bounds` without spread
    """
    room, spread = test.difference + margin, test.standard_error * math.sqrt(test.n_instances)
    if not room > 0 or math.isnan(spread):
        return None
    upper = (1 + (level or test.level)) / 2
    # The share of all instances that the judge may fail on is room / (difference + 1).
    fewest = 0.0 if margin >= 1 else math.log(1 - upper) / math.log(1 - room / (test.difference + 1))
    power_quantile = NormalDist().inv_cdf(POWER)
    needed = max(fewest, ((NormalDist().inv_cdf(upper) + power_quantile) * spread / room) ** 2)
    if needed > MOST_INSTANCES:
        return None
    n = max(MIN_CLUSTERS, math.floor(fewest) + 1, math.ceil(needed))
    while spread > 0 and student_quantile(upper, n - 1) + power_quantile > _steadied(room / spread, test.skewness, n):
        n += 1
    return n


def _steadied(room: float, skewness: float, n: float) -> float:
    """Student's t of a mean that lies `room` standard deviations above the tested one, or less by Hall's transformation."""
    bent = room + skewness * room**2 / 3 + skewness**2 * room**3 / 27 + skewness / (6 * n)
    return math.sqrt(n) * min(room, bent)


def _p_value(gap: Spread, skewness: float, margin: float, horizon: int | None) -> float:
    """One-sided p-value of H0: the difference is -margin or less, by Student's t and, where that is less sure, by Hall's transformation of it.

    Few instances that a judge fails on, and fails clearly, make the difference skewed to the left: then Student's t alone
    claims too often that it is above. Where none of them is among the instances, no spread shows them: it is as of equal instances.

    returns : NaN below five clusters; at least that of the limit of equal instances in `jackknife.mean_bounds`
    source  : Hall 1992, On the removal of skewness by transformation, Journal of the Royal Statistical Society B 54, eq. 2.1
    """
    if gap.clusters < MIN_CLUSTERS or math.isnan(gap.value + gap.error):
        return math.nan
    room = gap.value + margin
    unseen = min(1.0, (max(1 - margin, 0.0) / (1 + gap.value)) ** gap.instances) if room > 0 else 1.0
    if gap.error == 0:
        p_value = unseen
    else:
        t = _steadied(room / (gap.error * math.sqrt(gap.clusters)), skewness, gap.clusters)
        p_value = student_tail(t, max(gap.effective - 1, 1))
    if horizon is not None and p_value < 0.5:
        p_value = p_value_of_look(2 * p_value, gap.clusters, horizon=horizon) / 2
    return max(p_value, unseen) if room > 0 else p_value


def _lowest(gap: Spread, skewness: float, level: float) -> float:
    """Return the least difference that the test does not reject, or infinity where Student's t has no limit to correct.

    A judge that is rarely worse than people has few instances below 0, and Student's limit is too high there.
    """
    if gap.clusters < MIN_CLUSTERS or math.isnan(gap.value + gap.error) or gap.error == 0:
        return math.inf
    accepted, rejected = -gap.value, 1.0
    if _p_value(gap, skewness, rejected, None) > (1 - level) / 2:
        return -1.0
    while rejected - accepted > ROUNDING:
        margin = (accepted + rejected) / 2
        is_rejected = _p_value(gap, skewness, margin, None) <= (1 - level) / 2
        accepted, rejected = (accepted, margin) if is_rejected else (margin, rejected)
    return -rejected


def _skewness(sums: FloatArray) -> float:
    """Skewness of each cluster's influence on a ratio of sums, (n_clusters, 2)."""
    influence = sums[:, 0] - ratio(sums.sum(axis=0)) * sums[:, 1]
    influence = influence[sums[:, 1] > 0]
    variance = float(np.mean(influence**2)) if len(influence) else 0.0
    return float(np.mean(influence**3)) / variance**1.5 if variance > ROUNDING else 0.0


def _groups(group: npt.ArrayLike | None, codes: IntArray) -> IntArray:
    """Return the group of each unit: by default one for all."""
    groups = np.zeros_like(codes) if group is None else code_array("group", group)
    if groups.shape != codes.shape:
        raise ShapeError(f"need one group for each of {len(codes)} units, got shape {groups.shape}")
    return groups


def _test(
    shares: VoteShares,
    codes: IntArray,
    groups: IntArray,
    *,
    margin: float,
    level: float,
    two_way: bool,
    horizon: int | None,
) -> NonInferiority:
    """Test some votes. `codes` and `groups` hold the instance and the group of every unit."""
    if not margin >= 0:
        raise UnknownValue(f"a margin is not negative, got {margin}")
    votes = shares.at(shares.counted)
    instance, person = codes[votes.unit], votes.who
    n_people = len(np.unique(person))
    clusters = person if two_way else None
    gaps = mean_rows(votes.equal - votes.person)
    gap, skewness = ratio_spread(gaps, instance, clusters), _skewness(cluster_sums(gaps, instance))
    expected = shares_elsewhere(votes.verdict, instance, groups[votes.unit])
    by_chance = float(ratio(mean_rows(expected).sum(axis=0)))
    # A vote enters chance twice, as one that meets others and as one that is met.
    beyond_chance = ratio_spread(mean_rows(votes.person - 2 * expected + by_chance), instance, clusters)
    own = level if horizon is None or not gap.clusters else level_of_look(gap.clusters, level=level, horizon=horizon)
    bounds, above_chance = (mean_interval(test, floor=-1, level=own) for test in (gap, beyond_chance))
    bounds = replace(bounds, low=min(bounds.low, _lowest(gap, skewness, own)))
    refusal = too_few("instances", gap.instances, MIN_CLUSTERS)
    if two_way and (refusal := refusal or too_few("people", n_people, MIN_CLUSTERS)):
        bounds, above_chance = (replace(test, low=np.nan, high=np.nan) for test in (bounds, above_chance))
    if refusal is None and not above_chance.low > 0 and bounds.high >= -margin:
        refusal = Refusal("chance")
    return NonInferiority(
        margin=margin,
        difference=gap.value,
        low=bounds.low,
        high=bounds.high,
        level=level,
        standard_error=gap.error,
        skewness=skewness,
        p_value=math.nan if math.isnan(bounds.low) else _p_value(gap, skewness, margin, horizon),
        judge_agreement=float(votes.equal.mean()) if len(instance) else np.nan,
        people_agreement=float(votes.person.mean()) if len(instance) else np.nan,
        people_by_chance=by_chance,
        people_above_chance=beyond_chance.value,
        above_chance=above_chance,
        n_votes=len(instance),
        n_instances=gap.instances,
        n_people=n_people,
        without_judge=shares.without_judge,
        two_way=two_way,
        passes=None if refusal else bounds.low > -margin,
        refusal=refusal,
    )
