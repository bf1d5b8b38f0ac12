"""Populations for `bench.coverage` whose intervals need more than sums of instances: two samples, two ways, statistics, judges."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from statistics import NormalDist

import numpy as np
from scipy.special import ndtr

from analysis.agreement.coefficients import alpha_from_coincidences, coincidences
from analysis.agreement.confusion import confusions, kappa_from_confusions
from analysis.intervals.analytic import mean_interval, ratio_spread, share_interval, statistic_error, statistic_interval
from analysis.intervals.bootstrap import Statistic, cluster_sums, mean_rows, ratio
from analysis.intervals.jackknife import Bounds, mean_bounds, student_quantile
from analysis.judges.non_inferiority import non_inferiority
from analysis.judges.prediction_powered import prediction_powered_win_rate
from analysis.ranking.spread import jackknife_covariance, left_out_strengths
from analysis.types import FloatArray
from bench._coverage_populations import TIES, Population, Simulated, chances, columns, drawn_shares, unequal
from bench.answers import configuration
from reporting.core.estimates import IntervalSettings
from reporting.findings.data.vote_table import vote_table
from reporting.findings.pooled.pooled import people_agreement

LARGE = (20, 50)
CROSSED = (5, 8, 13, 20)  # raters
INSTANCES_CROSSED = 50
SPREAD_CROSSED = 0.3  # variance of instances and of raters, where that of a cell is 1
STRENGTHS = np.array([-0.75, -0.25, 0.25, 0.75])
PAIRS, PEOPLE = 5, 3
JUDGED = 200
ICC = 0.3  # of votes pooled over pairs of systems
ONE_SIDED = "four of five votes are for one side"
UNSEEN = "its lower limit allows for failures that no instance shows"
Study = Callable[[np.random.Generator, int], tuple[float, Bounds]]


def of_studies(study: Study) -> Callable[[np.random.Generator, int, int], Simulated]:
    """Simulate studies one by one."""
    return lambda rng, n, studies: columns(study(rng, n) for _ in range(studies))


def unpaired() -> Iterator[Population]:
    """Differences between n instances and twice as many others."""
    for p, other in ((0.5, 0.5), (0.1, 0.3), (0.9, 0.6)):
        for icc in (0.0, 0.3):
            study = partial(two_samples, p=p, other=other, icc=icc)
            yield Population(f"unpaired difference {p} - {other}, ICC {icc}", p - other, of_studies(study))


def two_samples(rng: np.random.Generator, n: int, *, p: float, other: float, icc: float) -> tuple[float, Bounds]:
    """The difference of two shares, its jackknife over all instances, and the number of the smaller sample."""
    sums = np.zeros((3 * n, 2, 2))
    sums[:n, 0] = drawn_shares(rng, 1, n, p=p, icc=icc, size=unequal)[0]
    sums[n:, 1] = drawn_shares(rng, 1, 2 * n, p=other, icc=icc, size=unequal)[0]
    value, error = float(_gap(sums.sum(axis=0))), statistic_error(sums, _gap)
    return value, mean_bounds(value, error, n, floor=-1, ceiling=1)


def _gap(sums: FloatArray) -> FloatArray:
    both = ratio(sums)
    return both[..., 0] - both[..., 1]


def two_ways() -> Iterator[Population]:
    """Every rater rates every one of 50 instances; both have effects of their own."""
    for p in (0.1, 0.3, 0.5, 0.9):
        for name, rule in (("share", share_interval), ("mean", mean_interval)):
            yield Population(f"two ways, {name} {p}", p, of_studies(partial(crossed, p=p, rule=rule)), CROSSED)


def crossed(rng: np.random.Generator, raters: int, *, p: float, rule: Callable[..., Bounds]) -> tuple[float, Bounds]:
    """A probit model with effects of instances and raters, whose mean over both is p."""
    scale = np.sqrt(SPREAD_CROSSED)
    effects = scale * rng.standard_normal((INSTANCES_CROSSED, 1)) + scale * rng.standard_normal((1, raters))
    centre = NormalDist().inv_cdf(p) * np.sqrt(1 + 2 * SPREAD_CROSSED)
    votes = (rng.random(effects.shape) < ndtr(centre + effects)).astype(np.float64)
    instance, rater = (axis.ravel() for axis in np.indices(votes.shape))
    spread = ratio_spread(mean_rows(votes.ravel()), instance, rater)
    return spread.value, rule(spread)


def statistics() -> Iterator[Population]:
    """Krippendorff's alpha and Cohen's kappa, which are the correlation within instances here, and strengths."""
    for p, beyond in ((0.5, ""), (0.8, ONE_SIDED)):
        for icc in (0.1, 0.3, 0.6):
            for name, study in (("alpha", alpha), ("kappa", kappa)):
                simulate = of_studies(partial(study, p=p, icc=icc))
                yield Population(f"{name} {icc}, share {p}", icc, simulate, LARGE, beyond)
    for shares in ((0.5, 0.5, 0.5), (0.8, 0.3, 0.6)):
        for name, truth in _pooled_truths(shares).items():
            simulate = of_studies(partial(pooled_agreement, shares=shares, name=name))
            yield Population(f"pooled {name}, three systems, shares {shares}", truth, simulate, LARGE)
    for copied in (0.0, 0.5):
        simulate = of_studies(partial(strength, copied=copied))
        yield Population(f"Bradley-Terry strength, {copied} of votes copied", float(STRENGTHS[0]), simulate, LARGE)


def _votes(rng: np.random.Generator, n: int, p: float, icc: float, raters: int) -> tuple[FloatArray, FloatArray]:
    chance = chances(rng, p, icc, (n,)).repeat(PAIRS)
    votes = np.where(rng.random((n * PAIRS, raters)) < chance[:, np.newaxis], 1.0, -1.0)
    return votes, np.arange(n).repeat(PAIRS)


def alpha(rng: np.random.Generator, n: int, *, p: float, icc: float) -> tuple[float, Bounds]:
    """Three raters of five pairs an instance."""
    votes, instance = _votes(rng, n, p, icc, 3)
    return _of_statistic(cluster_sums(coincidences(votes), instance), alpha_from_coincidences)


def kappa(rng: np.random.Generator, n: int, *, p: float, icc: float) -> tuple[float, Bounds]:
    """Two raters of five pairs an instance."""
    votes, instance = _votes(rng, n, p, icc, 2)
    return _of_statistic(cluster_sums(confusions(*votes.T), instance), kappa_from_confusions)


def pooled_agreement(rng: np.random.Generator, n: int, *, shares: Sequence[float], name: str) -> tuple[float, Bounds]:
    """Agreement over three pairs of systems on the same instances, each pair of systems with its share for A."""
    datas = []
    for systems, share in zip(combinations(("one", "two", "three"), 2), shares, strict=True):
        chance = chances(rng, share, ICC, (n, 1, 1))
        votes = np.where(rng.random((n, PAIRS, PEOPLE)) < chance, -1.0, 1.0)
        datas.append(configuration("data", systems, np.where(rng.random(votes.shape) < TIES, 0.0, votes)))
    found = people_agreement(vote_table(datas), IntervalSettings())
    estimate = found["krippendorff_alpha"]["ordinal"] if name == "alpha" else found["gwet"][name]
    return estimate["value"], Bounds(estimate["low"], estimate["high"], 0.95, n)


def _pooled_truths(shares: Sequence[float]) -> dict[str, float]:
    """Coefficients of `pooled_agreement`: A and B are equally likely by chance, as units count both ways."""
    p = np.array(shares)
    differ = (1 - TIES) ** 2 * float(np.mean(2 * p * (1 - p) * (1 - ICC)))  # A and B
    half = 2 * TIES * (1 - TIES)  # a tie and a preference
    equal, spread = 1 - differ - half, TIES * (1 - TIES) + (1 - TIES) * (1 + TIES) / 2
    by_chance = {"ac1": spread / 2, "ac2": 17 / 18 * spread}
    gwet = {
        name: (seen - by_chance[name]) / (1 - by_chance[name])
        for name, seen in (("ac1", equal), ("ac2", equal + 2 / 3 * half))
    }
    return {"alpha": 1 - (half + 4 * differ) / (half + 2 * (1 - TIES) ** 2), **gwet}


def _of_statistic(sums: FloatArray, statistic: Statistic) -> tuple[float, Bounds]:
    value = float(statistic(sums.sum(axis=0)))
    return value, statistic_interval(value, statistic_error(sums, statistic), len(sums), ceiling=1.0)


def strength(rng: np.random.Generator, n: int, *, copied: float) -> tuple[float, Bounds]:
    """The weakest of four systems, all compared by three raters on each instance; some copy the first rater's vote."""
    first, second = np.triu_indices(len(STRENGTHS), 1)
    shape = (n, len(first), 3)
    chance = 1 / (1 + np.exp(STRENGTHS[second] - STRENGTHS[first]))
    won = rng.random(shape) < chance[:, np.newaxis]
    copies = (rng.random(shape[:2]) < copied)[..., np.newaxis]
    won = np.where(copies, won[..., :1], won)
    instance, pair, _ = (axis.ravel() for axis in np.indices(shape))
    columns = (first[pair], second[pair], won.ravel().astype(np.float64), instance)
    found = left_out_strengths(*columns, n_systems=len(STRENGTHS))
    value, error = float(found.fit.strengths[0]), float(np.sqrt(jackknife_covariance(found.moved)[0, 0]))
    reach = student_quantile(0.975, n - 1) * error
    return value, Bounds(value - reach, value + reach, 0.95, n)


def judges() -> Iterator[Population]:
    """Non-inferiority of a judge to people, and win rates with a judge's help."""
    for clear in (0.2, 0.6):
        for skill in (0.5, 0.8, 1.0):
            # A clear pair has nine of ten people on one side, an open one half; so has the judge in `skill` of the clear ones.
            truth = clear * (skill * 0.9 + (1 - skill) * 0.1 - 0.82)
            study = partial(standing, clear=clear, skill=skill)
            name = f"non-inferiority, {clear} clear, judge's skill {skill}"
            yield Population(name, truth, of_studies(study), beyond=UNSEEN)
    for p in (0.2, 0.5):
        for noise in (0.1, 0.5):
            study = partial(powered, p=p, noise=noise)
            yield Population(f"prediction-powered {p}, judge's noise {noise}", p, of_studies(study), LARGE)


def standing(rng: np.random.Generator, n: int, *, clear: float, skill: float) -> tuple[float, Bounds]:
    """Three people and a judge on five pairs an instance, all clear or all open."""
    instance = np.arange(n).repeat(PAIRS)
    is_clear = (rng.random(n) < clear)[instance]
    side = rng.choice([-1.0, 1.0], size=n * PAIRS)
    to_side = rng.random((n * PAIRS, PEOPLE)) < np.where(is_clear, 0.9, 0.5)[:, np.newaxis]
    people = np.where(to_side, side[:, np.newaxis], -side[:, np.newaxis])
    judge = np.where(rng.random(n * PAIRS) < np.where(is_clear, skill, 0.5), side, -side)
    found = non_inferiority(judge, people, instance)
    return found.difference, Bounds(found.low, found.high, found.level, n)


def powered(rng: np.random.Generator, n: int, *, p: float, noise: float) -> tuple[float, Bounds]:
    """People rated n instances, the judge these and 200 more; with the chance `noise` it guesses."""
    truth = (rng.random(n + JUDGED) < p).astype(np.float64)
    judge = np.where(rng.random(n + JUDGED) < noise, rng.random(n + JUDGED) < 0.5, truth).astype(np.float64)
    found = prediction_powered_win_rate(np.where(np.arange(n + JUDGED) < n, truth, np.nan), judge)
    return found.estimate, Bounds(found.low, found.high, found.level, n)
