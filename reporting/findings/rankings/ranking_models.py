"""Bradley-Terry and Elo rankings of one rater's comparisons, plain and weighted by separability."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.intervals.analytic import MIN_FOR_BOOTSTRAP, MIN_FOR_STATISTIC
from analysis.intervals.jackknife import student_quantile
from analysis.ranking import (
    Differences,
    Fits,
    differences,
    elo_of_rows,
    fit_win_matrices,
    jackknife_covariance,
    left_out_strengths,
    next_place,
    rating,
    sampled_rows,
    sep_elo_weight,
    win_matrix,
)
from analysis.ranking.bradley_terry import PRIOR
from analysis.ranking.graph import UNMET
from analysis.ranking.settling import CHANCE
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.reasons import Reason
from annotation.studies.rated_pairs import rows_of
from reporting.core.estimates import Estimate, IntervalSettings, number
from reporting.core.reasons import BEING_COMPUTED, TOO_FEW
from reporting.findings.data.inputs import Filters
from reporting.findings.rankings.comparisons import RankBasis, RaterComparisons, ranking
from reporting.findings.reasons import (
    ALIKE,
    ALL_SETTLED,
    ALONE,
    BY_PRIOR,
    EVERY_TIE,
    NEVER_COMPARED,
    NO_SEPARABILITY,
    NOT_TESTED,
    SEVERAL_GROUPS,
    TOO_ALIKE,
)

LEAST_ROUNDS = 100
UPDATES = 200_000  # of Elo: larger selections have fewer rounds, but never below the least
K = 4.0
WEIGHT = {"threshold": 0.4, "alpha": 2.0, "beta": 6.0}
TIES = {"half": "a tie is half a win", "davidson": "a tie is an outcome of its own (Davidson)"}
SEPARATED_NOTE = (
    "some systems won no point from others: each system of their group was given one tie with a system of strength 0, "
    "without which no finite strengths are the likeliest; how far apart they are cannot be told"
)
ELO_CAUTION = (
    "a matchup moves a rating by a few points at most: with few matchups ratings are still near their start, in the order "
    "of points won rather than of strength"
)
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


def fit_strengths(about: RaterComparisons, filters: Filters, *, weights: FloatArray | None = None) -> Strengths:
    """Fit strengths, and, for intervals, again without each instance, or groups of them where there are many."""
    n = len(about.names)
    if filters.estimates_only:
        won = about.matrix if weights is None else win_matrix(*about.columns, n_systems=n, weights=weights)
        fit = fit_win_matrices(won, ties=filters.ties)
        held, covariance = np.zeros(n, dtype=bool), np.full((n, n), np.nan)
    else:
        found = left_out_strengths(
            *about.columns, about.outcomes.instance, n_systems=n, weights=weights, ties=filters.ties
        )
        apart = found.together[:, np.newaxis] != found.together
        fit, held, covariance = found.fit, found.held, np.where(apart, np.nan, jackknife_covariance(found.moved))
    tests = differences(fit.strengths, covariance, about.instances, fit.component, least=MIN_FOR_STATISTIC)
    return Strengths(about, fit, held, covariance, tests, weights)


def bradley_terry_ranking(strengths: Strengths, filters: Filters) -> dict[str, Any]:
    """Return the ranking by strengths, shown on Elo's scale; intervals are Student's t on the jackknife."""
    about, fit, settings = strengths.comparisons, strengths.fit, filters.intervals
    reach, why = _reach(strengths, settings)
    limits = (rating(fit.strengths), rating(fit.strengths - reach), rating(fit.strengths + reach))
    rule = TIES[filters.ties]
    estimates = [
        {**one, "strength": number(strength), **({"prior": True} if prior else {})}
        for one, strength, prior in zip(
            _estimates(limits, why, about.compared, "verdicts", rule, about.excluded, settings.level),
            fit.strengths.tolist(),
            fit.by_prior.tolist(),
            strict=True,
        )
    ]
    standing = RankBasis(fit.strengths, fit.component, strengths.tests, MIN_FOR_STATISTIC)
    measure = "bradley_terry" if strengths.weights is None else "sep_bradley_terry"
    found = ranking(about, measure, rule, estimates, standing, settings)
    found["settings"] = {
        "ties": filters.ties,
        **_tie_parameter(float(fit.tie), filters.ties),
        "prior": PRIOR if fit.by_prior.any() else None,
        **({} if strengths.weights is None else WEIGHT),
    }
    if strengths.weights is None:
        found["next_place"] = _next_place(strengths, settings)
    if fit.by_prior.any():
        found["note"] = "; ".join([*([found["note"]] if "note" in found else []), SEPARATED_NOTE])
    return found


def _next_place(strengths: Strengths, settings: IntervalSettings) -> dict[str, Any]:
    """Return the first place that is not settled, and how many more comparisons, spread as those so far, would settle it."""
    about, fit = strengths.comparisons, strengths.fit
    if not settings.made:
        return {"place": None, "more": None, **BEING_COMPUTED.as_json()}
    if len(set(fit.component.tolist())) > 1 or UNMET in fit.component:
        return {"place": None, "more": None, **SEVERAL_GROUPS.as_json()}
    found = next_place(fit.strengths, strengths.tests, settings.level, chance=CHANCE)
    if found.place is None:
        return {"place": None, "more": 0, **ALL_SETTLED.as_json()}
    named = {"system": about.names[found.system], "others": [about.names[code] for code in found.others]}
    asked: dict[str, Any] = {"place": found.place, **named, "chance": CHANCE, "comparisons": len(about.outcomes)}
    if math.isfinite(found.factor):
        return {**asked, "more": math.ceil((found.factor - 1) * len(about.outcomes))}
    why = NOT_TESTED.with_values(least=MIN_FOR_STATISTIC) if math.isnan(found.factor) else TOO_ALIKE
    return {**asked, "more": None, **why.as_json()}


def _reach(strengths: Strengths, settings: IntervalSettings) -> tuple[FloatArray, list[Reason | None]]:
    """Half the width of each strength's interval; NaN for the reason beside it."""
    instances = strengths.comparisons.instances.tolist()
    whys: list[Reason | None] = []
    reach = np.full(len(instances), np.nan)
    for at, n in enumerate(instances):
        variance = strengths.covariance[at, at]
        reasons = {
            NEVER_COMPARED: n == 0,
            BEING_COMPUTED: not settings.made,
            TOO_FEW.with_values(of="instances", least=MIN_FOR_STATISTIC): n < MIN_FOR_STATISTIC,
            BY_PRIOR: bool(strengths.fit.by_prior[at]),
            ALONE: not strengths.held[at],
            ALIKE: not variance > 1e-18,
        }
        whys.append(next((why for why, holds in reasons.items() if holds), None))
        if not whys[-1]:
            reach[at] = math.sqrt(variance) * student_quantile((1 + settings.level) / 2, n - 1)
    return reach, whys


def _tie_parameter(tie: float, ties: str) -> dict[str, Any]:
    if ties == "half":
        return {}
    if math.isinf(tie):
        return {"tie_parameter": None, **EVERY_TIE.as_json()}
    return {"tie_parameter": number(tie)}


def elo_rankings(
    about: RaterComparisons, filters: Filters, weights: Sequence[FloatArray | None] = (None,)
) -> list[dict[str, Any]]:
    """Return the ranking by Elo for each of these weights: the mean of rounds that each take one comparison of every matchup, in random order.

    Intervals are percentiles of as many rounds that draw instances with replacement. A first pass has no rounds, and no ranking.
    """
    if filters.estimates_only:
        return []
    matchups, many = about.matchups, about.instances >= MIN_FOR_BOOTSTRAP
    rounds = max(LEAST_ROUNDS, min(filters.rounds, UPDATES // max(1, int(matchups.sum()) // 2)))
    level, n = filters.intervals.level, len(about.names)
    rows = sampled_rows(about.matchup, rng=np.random.default_rng([filters.seed, 0]), rounds=rounds)
    rng, clusters = np.random.default_rng([filters.seed, 1]), about.outcomes.instance
    resampled = sampled_rows(about.matchup, rng=rng, rounds=rounds, clusters=clusters)
    short = resampled.shape[1] - rows.shape[1]
    rows = np.concatenate([np.pad(rows, ((0, 0), (0, short)), constant_values=len(about.outcomes)), resampled])
    few = TOO_FEW.with_values(of="instances", least=MIN_FOR_BOOTSTRAP)
    why = [
        NEVER_COMPARED if not met else None if enough else few
        for met, enough in zip(about.instances.tolist(), many.tolist(), strict=True)
    ]
    found = []
    for one, ratings in zip(weights, elo_of_rows(*about.columns, rows, n_systems=n, k=K, weights=weights), strict=True):
        value = np.where(about.instances > 0, ratings[:rounds].mean(axis=0), np.nan)
        drawn = ratings[rounds:]
        limits = np.where(many, np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0), np.nan)
        estimates = _estimates((value, *limits), why, matchups, "matchups", TIES["half"], about.excluded, level)
        tests = differences(value, np.cov(drawn.T), about.instances, about.component, least=MIN_FOR_BOOTSTRAP)
        standing = RankBasis(value, about.component, tests, MIN_FOR_BOOTSTRAP, met=about.met_on)
        measure, factors = ("elo", {}) if one is None else ("sep_elo", WEIGHT)
        found.append(
            {
                **ranking(about, measure, TIES["half"], estimates, standing, filters.intervals),
                "caution": ELO_CAUTION,
                "settings": {"k": K, **factors, "seed": filters.seed, "rounds": rounds},
            }
        )
    return found


def elo_and_weighted_rankings(about: RaterComparisons, filters: Filters, why: Reason | None) -> list[dict[str, Any]]:
    """Return Elo, then SEP-Bradley-Terry and SEP-Elo over the instances with a separability; undefined for the reason `why`."""
    known = ~np.isnan(about.delta)
    if why or not known.any():
        refused = [_refused(about, measure, why or NO_SEPARABILITY, filters.intervals) for measure in WEIGHTED]
        return [*elo_rankings(about, filters), *refused]
    chosen = (
        about
        if known.all()
        else replace(
            about,
            outcomes=rows_of(about.outcomes, np.flatnonzero(known)),
            matchup=about.matchup[known],
            delta=about.delta[known],
            excluded=about.excluded + int((~known).sum()),
        )
    )
    left_out = {"comparisons": int((~known).sum()), "instances": len(np.unique(about.outcomes.instance[~known]))}
    weights = sep_elo_weight(chosen.delta, **WEIGHT)
    sep_bradley_terry = bradley_terry_ranking(fit_strengths(chosen, filters, weights=weights), filters)
    if known.all():  # the same rounds
        both = elo_rankings(about, filters, [None, weights])
        elo, sep_elo = both[:1], both[1:]
    else:
        elo, sep_elo = elo_rankings(about, filters), elo_rankings(chosen, filters, [weights])
    return [*elo, *({**one, "without_separability": left_out} for one in (sep_bradley_terry, *sep_elo))]


def _refused(about: RaterComparisons, measure: str, why: Reason, settings: IntervalSettings) -> dict[str, Any]:
    nothing, none = np.full(len(about.names), np.nan), np.zeros(len(about.names), dtype=np.int64)
    excluded = about.excluded + len(about.outcomes)
    estimates = _estimates(
        (nothing, nothing, nothing), [why] * len(none), none, "verdicts", TIES["half"], excluded, settings.level
    )
    tests = differences(nothing, np.diag(nothing), none, none, least=1)
    standing = RankBasis(nothing, none - 1, tests, 1)
    found = ranking(about, measure, TIES["half"], estimates, standing, settings)
    return {**found, "first": {"system": None, "by_more_than_chance": None, **why.as_json()}, **why.as_json()}


def _estimates(
    limits: tuple[FloatArray, FloatArray, FloatArray],
    whys: Sequence[Reason | None],
    n: IntArray,
    of: str,
    tie_rule: str,
    excluded: int,
    level: float,
) -> list[Estimate]:
    """Return scores in the form of estimates; `limits` are the values with low and high, NaN for the reason beside."""
    value, low, high = ([number(one) for one in column.tolist()] for column in limits)
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
