"""Bradley-Terry and Elo rankings of one rater's comparisons, plain and weighted by separability."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.intervals.analytic import MIN_FOR_BOOTSTRAP, MIN_FOR_STATISTIC
from analysis.intervals.jackknife import student_quantile
from analysis.ranking.bradley_terry import PRIOR, Fits, fit_win_matrices, rating
from analysis.ranking.comparisons import UNMET, win_matrix
from analysis.ranking.elo import elo_of_rows, sampled_rows, sep_elo_weight
from analysis.ranking.settling import CHANCE, next_place
from analysis.ranking.spread import Differences, differences, jackknife_covariance, left_out_strengths
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.reasons import Reason
from annotation.studies.votes import rows_of
from reporting.core.estimates import Estimate, IntervalSettings, number
from reporting.core.reasons import BEING_COMPUTED, TOO_FEW
from reporting.findings.data.inputs import Filters
from reporting.findings.rankings.comparisons import RankBasis, RaterComparisons, ranking
from reporting.findings.reasons import (
    ALIKE,
    ALL_SETTLED,
    ALONE,
    BY_PRIOR,
    COLLECTING,
    EVERY_TIE,
    NEVER_COMPARED,
    NO_SEPARABILITY,
    SEVERAL_GROUPS,
    TOO_ALIKE,
    not_tested,
)

LEAST_ROUNDS = 100
UPDATES = 200_000  # of Elo: larger selections have fewer rounds, but never below the least
K = 4.0
WEIGHT = {"threshold": 0.4, "alpha": 2.0, "beta": 6.0}
TIES = {"half": "a tie is half a win", "davidson": "a tie is an outcome of its own (Davidson)"}
SEPARATED_NOTE = (
    "some systems won nothing from others: one tie with a system of strength 0 was added for each system of their "
    "group, to keep strengths finite; differences between them are not estimated"
)
ELO_CAUTION = "a matchup changes a rating by a few points at most, so with few matchups ratings stay near their start"
WEIGHTED = ("sep_bradley_terry", "sep_elo")


@dataclass(frozen=True, eq=False)
class Strengths:
    """A Bradley-Terry fit of comparisons, and the tests between their systems.

    held       : (n,) whether no instance alone connects a system's component
    covariance : of the strengths, over instances; weights : of the comparisons, None for equal ones
    """

    comparisons: RaterComparisons
    fit: Fits
    held: BoolArray
    covariance: FloatArray
    tests: Differences
    weights: FloatArray | None


def fit_strengths(comparisons: RaterComparisons, filters: Filters, *, weights: FloatArray | None = None) -> Strengths:
    """Fit strengths, and for intervals again without each instance or group of instances."""
    n = len(comparisons.names)
    if filters.estimates_only:
        won = comparisons.matrix if weights is None else win_matrix(*comparisons.columns, n_systems=n, weights=weights)
        fit = fit_win_matrices(won, ties=filters.ties)
        is_held, covariance = np.zeros(n, dtype=bool), np.full((n, n), np.nan)
    else:
        left_out = left_out_strengths(
            *comparisons.columns, comparisons.cluster, n_systems=n, weights=weights, ties=filters.ties
        )
        is_apart = left_out.together[:, np.newaxis] != left_out.together
        fit, is_held, covariance = (
            left_out.fit,
            left_out.held,
            np.where(is_apart, np.nan, jackknife_covariance(left_out.moved)),
        )
    clusters, horizon = comparisons.clusters, filters.horizon
    tests = differences(fit.strengths, covariance, clusters, fit.component, least=MIN_FOR_STATISTIC, horizon=horizon)
    return Strengths(comparisons, fit, is_held, covariance, tests, weights)


def bradley_terry_ranking(strengths: Strengths, filters: Filters) -> dict[str, Any]:
    """Return the ranking by strengths, shown on Elo's scale. Intervals are Student's t on the jackknife."""
    comparisons, fit, settings = strengths.comparisons, strengths.fit, filters.intervals
    reach, why = _reach(strengths, settings)
    limits = (rating(fit.strengths), rating(fit.strengths - reach), rating(fit.strengths + reach))
    rule = TIES[filters.ties]
    estimates = [
        {**estimate, "strength": number(strength), **({"prior": True} if prior else {})}
        for estimate, strength, prior in zip(
            _estimates(limits, why, comparisons.compared, "verdicts", rule, comparisons.excluded, settings.level),
            fit.strengths.tolist(),
            fit.by_prior.tolist(),
            strict=True,
        )
    ]
    standing = RankBasis(fit.strengths, fit.component, strengths.tests, MIN_FOR_STATISTIC)
    measure = "bradley_terry" if strengths.weights is None else "sep_bradley_terry"
    ranked = ranking(comparisons, measure, rule, estimates, standing, settings)
    ranked["settings"] = {
        "ties": filters.ties,
        **_tie_parameter(float(fit.tie), filters.ties),
        "prior": PRIOR if fit.by_prior.any() else None,
        **({} if strengths.weights is None else WEIGHT),
    }
    if strengths.weights is None:
        ranked["next_place"] = _next_place(strengths, settings)
    if fit.by_prior.any():
        ranked["note"] = "; ".join([*([ranked["note"]] if "note" in ranked else []), SEPARATED_NOTE])
    return ranked


def _next_place(strengths: Strengths, settings: IntervalSettings) -> dict[str, Any]:
    """Return the first place that is not settled, and how many more comparisons, spread as those so far, would settle it."""
    comparisons, fit = strengths.comparisons, strengths.fit
    if not settings.made:
        return {"place": None, "more": None, **BEING_COMPUTED.as_json()}
    if len(set(fit.component.tolist())) > 1 or UNMET in fit.component:
        return {"place": None, "more": None, **SEVERAL_GROUPS.as_json()}
    place = next_place(fit.strengths, strengths.tests, settings.level, chance=CHANCE)
    if place.place is None:
        return {"place": None, "more": 0, **ALL_SETTLED.as_json()}
    named = {"system": comparisons.names[place.system], "others": [comparisons.names[code] for code in place.others]}
    next_row: dict[str, Any] = {
        "place": place.place,
        **named,
        "chance": CHANCE,
        "comparisons": len(comparisons.outcomes),
    }
    if math.isfinite(place.factor):
        return {**next_row, "more": math.ceil((place.factor - 1) * len(comparisons.outcomes))}
    clusters = comparisons.clusters.tolist()
    why = not_tested(clusters, MIN_FOR_STATISTIC) if math.isnan(place.factor) else TOO_ALIKE
    return {**next_row, "more": None, **why.as_json()}


def _reach(strengths: Strengths, settings: IntervalSettings) -> tuple[FloatArray, list[Reason | None]]:
    """Half the width of each strength's interval, or NaN for the reason beside it."""
    clusters = strengths.comparisons.clusters.tolist()
    whys: list[Reason | None] = []
    reach = np.full(len(clusters), np.nan)
    for at, n in enumerate(clusters):
        variance = strengths.covariance[at, at]
        reasons = {
            NEVER_COMPARED: n == 0,
            BEING_COMPUTED: not settings.made,
            TOO_FEW.with_values(of=settings.unit, least=MIN_FOR_STATISTIC): n < MIN_FOR_STATISTIC,
            BY_PRIOR: bool(strengths.fit.by_prior[at]),
            ALONE: not strengths.held[at],
            ALIKE: not variance > 1e-18,
        }
        whys.append(next((why for why, holds in reasons.items() if holds), None))
        if not whys[-1]:
            reach[at] = math.sqrt(variance) * student_quantile((1 + settings.level_of(n)) / 2, n - 1)
    return reach, whys


def _tie_parameter(tie: float, ties: str) -> dict[str, Any]:
    if ties == "half":
        return {}
    if math.isinf(tie):
        return {"tie_parameter": None, **EVERY_TIE.as_json()}
    return {"tie_parameter": number(tie)}


def elo_rankings(
    comparisons: RaterComparisons, filters: Filters, weights: Sequence[FloatArray | None] = (None,)
) -> list[dict[str, Any]]:
    """Return the ranking by Elo for each of these weights: the mean of rounds that each take one comparison of every matchup, in random order.

    Intervals are percentiles of as many rounds that draw instances with replacement; there are none while votes come in. A first
    pass has no rounds, and no ranking.
    """
    if filters.estimates_only:
        return []
    matchups, is_enough = comparisons.matchups, comparisons.clusters >= MIN_FOR_BOOTSTRAP
    is_shown = is_enough & (filters.horizon is None)  # percentiles hold at one look only
    rounds = max(LEAST_ROUNDS, min(filters.rounds, UPDATES // max(1, int(matchups.sum()) // 2)))
    level, n = filters.intervals.level, len(comparisons.names)
    rows = sampled_rows(comparisons.matchup, rng=np.random.default_rng([filters.seed, 0]), rounds=rounds)
    rng, clusters = np.random.default_rng([filters.seed, 1]), comparisons.cluster
    resampled = sampled_rows(comparisons.matchup, rng=rng, rounds=rounds, clusters=clusters)
    short = resampled.shape[1] - rows.shape[1]
    rows = np.concatenate([np.pad(rows, ((0, 0), (0, short)), constant_values=len(comparisons.outcomes)), resampled])
    too_few = TOO_FEW.with_values(of=filters.intervals.unit, least=MIN_FOR_BOOTSTRAP)
    why = [
        NEVER_COMPARED if not met else too_few if not enough else None if filters.horizon is None else COLLECTING
        for met, enough in zip(comparisons.clusters.tolist(), is_enough.tolist(), strict=True)
    ]
    results = []
    for weight, ratings in zip(
        weights, elo_of_rows(*comparisons.columns, rows, n_systems=n, k=K, weights=weights), strict=True
    ):
        value = np.where(comparisons.instances > 0, ratings[:rounds].mean(axis=0), np.nan)
        drawn = ratings[rounds:]
        limits = np.where(is_shown, np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0), np.nan)
        estimates = _estimates((value, *limits), why, matchups, "matchups", TIES["half"], comparisons.excluded, level)
        tests = differences(
            value,
            np.cov(drawn.T),
            comparisons.clusters,
            comparisons.component,
            least=MIN_FOR_BOOTSTRAP,
            horizon=filters.horizon,
        )
        standing = RankBasis(value, comparisons.component, tests, MIN_FOR_BOOTSTRAP, met=comparisons.met_on)
        measure, factors = ("elo", {}) if weight is None else ("sep_elo", WEIGHT)
        results.append(
            {
                **ranking(comparisons, measure, TIES["half"], estimates, standing, filters.intervals),
                "caution": ELO_CAUTION,
                "settings": {"k": K, **factors, "seed": filters.seed, "rounds": rounds},
            }
        )
    return results


def elo_and_weighted_rankings(
    comparisons: RaterComparisons, filters: Filters, why: Reason | None
) -> list[dict[str, Any]]:
    """Return Elo, then SEP-Bradley-Terry and SEP-Elo over the instances with a separability. Undefined for the reason `why`."""
    is_known = ~np.isnan(comparisons.delta)
    if why or not is_known.any():
        refused = [_refused(comparisons, measure, why or NO_SEPARABILITY, filters.intervals) for measure in WEIGHTED]
        return [*elo_rankings(comparisons, filters), *refused]
    weightings = (
        comparisons
        if is_known.all()
        else replace(
            comparisons,
            outcomes=rows_of(comparisons.outcomes, np.flatnonzero(is_known)),
            cluster=comparisons.cluster[is_known],
            matchup=comparisons.matchup[is_known],
            delta=comparisons.delta[is_known],
            excluded=comparisons.excluded + int((~is_known).sum()),
        )
    )
    left_out = {
        "comparisons": int((~is_known).sum()),
        "instances": len(np.unique(comparisons.outcomes.instance[~is_known])),
    }
    weights = sep_elo_weight(weightings.delta, **WEIGHT)
    sep_bradley_terry = bradley_terry_ranking(fit_strengths(weightings, filters, weights=weights), filters)
    if is_known.all():  # the same rounds
        both = elo_rankings(comparisons, filters, [None, weights])
        elo, sep_elo = both[:1], both[1:]
    else:
        elo, sep_elo = elo_rankings(comparisons, filters), elo_rankings(weightings, filters, [weights])
    return [*elo, *({**item, "without_separability": left_out} for item in (sep_bradley_terry, *sep_elo))]


def _refused(comparisons: RaterComparisons, measure: str, why: Reason, settings: IntervalSettings) -> dict[str, Any]:
    nothing, none = np.full(len(comparisons.names), np.nan), np.zeros(len(comparisons.names), dtype=np.int64)
    excluded = comparisons.excluded + len(comparisons.outcomes)
    estimates = _estimates(
        (nothing, nothing, nothing), [why] * len(none), none, "verdicts", TIES["half"], excluded, settings.level
    )
    tests = differences(nothing, np.diag(nothing), none, none, least=1)
    standing = RankBasis(nothing, none - 1, tests, 1)
    ranked = ranking(comparisons, measure, TIES["half"], estimates, standing, settings)
    return {**ranked, "first": {"system": None, "by_more_than_chance": None, **why.as_json()}, **why.as_json()}


def _estimates(
    limits: tuple[FloatArray, FloatArray, FloatArray],
    whys: Sequence[Reason | None],
    n: IntArray,
    of: str,
    tie_rule: str,
    excluded: int,
    level: float,
) -> list[Estimate]:
    """Return scores in the form of estimates. `limits` are the values with low and high, NaN for the reason beside."""
    value, low, high = ([number(item) for item in column.tolist()] for column in limits)
    return [
        {
            "value": value[at],
            "low": low[at],
            "high": high[at],
            "n": units,
            "of": of,
            "level": level,
            "tie_rule": tie_rule,
            "excluded": excluded,
            **(why.as_json() if (why := whys[at]) else {}),
        }
        for at, units in enumerate(n.tolist())
    ]
