"""Mean consistency by separability over all configurations, on one study-wide scale."""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from analysis.agreement.coefficients import (
    agreement_sums_of_counts,
    alpha_from_coincidences,
    coincidences_of_counts,
    gwet_from_sums,
    gwet_sums,
)
from analysis.agreement.confusion import confusions, kappa_from_confusions
from analysis.agreement.consistency import distribution, possible_strengths
from analysis.errors import AnalysisError, NotEnough
from analysis.grouping import count_groups
from analysis.intervals.analytic import MIN_FOR_STATISTIC, statistic_interval
from analysis.intervals.bootstrap import cluster_sums, mean_rows, mean_sums, ratio
from analysis.planning.generalizability import NAMES, generalizability, generalizability_study, mean_error
from analysis.similarity.separability import normalise, separability
from analysis.types import FloatArray, IntArray
from annotation.core.reasons import Reason
from reporting.core.estimates import (
    Basis,
    Estimate,
    IntervalSettings,
    distribution_keys,
    estimate_with_bounds,
    mean_estimate,
    share_estimate,
    statistic_estimate,
)
from reporting.core.raters import PEOPLE, Positions, Rater, without_baselines
from reporting.findings.data.inputs import ConfigurationData, Filters, StudyData
from reporting.findings.data.separability_bins import Bins, bins_of
from reporting.findings.data.vote_table import VoteTable, raters_by_name
from reporting.findings.measures.agreement import LEVELS, TIE_EQUALS_TIE, TIE_IN_ALPHA, TIE_IN_GWET
from reporting.findings.measures.rater_findings import (
    TIE_IN_CONSISTENCY,
    TIE_IN_STRENGTH,
    fully_consistent,
    is_without_order,
    preferred_first,
    uninformative,
)
from reporting.findings.reasons import (
    IN_NO_BIN,
    NO_COMMON_VOTES,
    NO_CONFIGURATION,
    NO_RATING_SETS,
    NO_SCALE,
    NO_SHARED_MEASURE,
    NO_VARIATION,
    NONE_DEFINED,
    NOT_CROSSED,
    ONE_IN_NO_BIN,
)

POOLED_BINS = 5
MOST_PEOPLE = 10  # whose agreement with one another is shown pair by pair
MIN_SHARED = 20  # votes of two people on the same pairs, for their kappa
MEAN_OF_JUDGES = "judges (mean)"


@dataclass(frozen=True, eq=False)
class StudyScale:
    """The study-wide separability of each configuration's matchups, in the order of its selection.

    values    : one array per configuration, NaN where a matchup has none; empty without a scale, for the reason in `why`
    described : similarity, settings and normalisation, as the findings say them
    """

    values: tuple[FloatArray, ...] = ()
    described: dict[str, Any] = field(default_factory=dict)
    why: Reason | None = None


def study_scale(data: StudyData) -> StudyScale:
    """Return the scale of a study. It covers all configurations, so that no filter of batches moves it."""
    if not data.configurations:
        return StudyScale(why=NO_CONFIGURATION)
    if data.alignments is None:
        return StudyScale(why=NO_SHARED_MEASURE)
    try:
        group = normalise(*data.alignments.raw.T)
    except AnalysisError as undefined:  # a constant group, or no alignment at all
        return StudyScale(why=NO_SCALE.with_values(error=undefined))
    values = np.append(separability(group.self_a, group.self_b, group.cross), np.nan)  # the last one for rows of -1
    measured = replace(data.alignments.measured, group="study", low=group.low, high=group.high)
    return StudyScale(tuple(values[rows] for rows in data.alignments.rows), measured.as_json())


@dataclass(frozen=True, eq=False)
class PooledSets:
    """One rater's rating sets in all configurations.

    instance, matchup, rater : study-wide codes; configurations may share instances, never matchups
    sizes             : numbers of ratings that a set can hold
    left_out          : rating sets that are not in use
    """

    name: str
    kind: str
    consistency: FloatArray
    strength: FloatArray
    instance: IntArray
    matchup: IntArray
    rater: IntArray
    bin: IntArray
    sizes: tuple[int, ...]
    left_out: int

    @property
    def named(self) -> dict[str, str]:
        """The rater's name and kind."""
        return {"rater": self.name, "kind": self.kind}


def pooled_findings(
    everything: Sequence[ConfigurationData],
    votes: VoteTable,
    scale: StudyScale,
    filters: Filters,
    baselines: Collection[str] = (),
) -> dict[str, Any]:
    """Return five equal-width bins over all configurations, or `null` with the reason."""
    bins = pooled_bins(scale)
    starts = np.cumsum([0, *(len(data.instance_ids) for data in everything)])
    several = [len(data.pairs) > len(data.instance_ids) for data in everything]
    sets = []
    for name, every in raters_by_name(everything).items():
        # Sets of one rating are not comparable with others: they count where the study has no others.
        parts = [part for part in every if several[part[0]]] if any(several) else every
        if not parts:
            continue
        matchup = np.concatenate([starts[index] + rater.sets.instance for index, rater in parts])
        sets.append(
            PooledSets(
                name=name,
                kind=parts[0][1].kind,
                consistency=np.concatenate([rater.consistency for _, rater in parts]),
                strength=np.concatenate([rater.strength for _, rater in parts]),
                instance=np.concatenate([votes.instances[index][rater.sets.instance] for index, rater in parts]),
                matchup=matchup,
                rater=_persons([rater for _, rater in parts], [rater.sets.rater for _, rater in parts]),
                bin=np.full(len(matchup), -1) if bins is None else bins.of_instance[matchup],
                sizes=tuple(sorted({size for _, rater in parts for size in rater.sizes})),
                left_out=sum(rater.left_out for _, rater in parts),
            )
        )
    sets_of_study = {
        "fully_consistent": [
            {
                **own.named,
                **fully_consistent(own.consistency, own.instance, own.rater, filters.intervals, left_out=own.left_out),
            }
            for own in sets
        ],
        "uninformative": [{**own.named, **uninformative(own.consistency, own.instance)} for own in sets],
    }
    if bins is None:
        why = scale.why or NONE_DEFINED
        return {"mean_consistency_by_bin": None, "strength_by_bin": None, **sets_of_study, **why.as_json()}
    missing = int((bins.of_instance < 0).sum())
    counted = without_baselines((own.name for own in sets if own.kind == "judge"), baselines)
    averaged = [own for own in sets if own.name in counted]
    return {
        **scale.described,
        "edges": bins.edges.tolist(),
        "undefined": missing,
        **((ONE_IN_NO_BIN if missing == 1 else IN_NO_BIN).with_values(matchups=missing).as_json() if missing else {}),
        "mean_consistency_by_bin": _by_bin(
            bins,
            lambda index: [
                *(_consistency(rating_set, index, filters) for rating_set in sets),
                *_mean_of_judges(averaged, index, filters),
            ],
        ),
        "strength_by_bin": _by_bin(bins, lambda index: [_strength(rating_set, index, filters) for rating_set in sets]),
        **sets_of_study,
    }


def pooled_bins(scale: StudyScale) -> Bins | None:
    """Return five equal-width bins of all configurations' instances, one after another, or None without a separability."""
    together = np.concatenate([np.empty(0), *scale.values])
    return None if np.isnan(together).all() else bins_of(together, POOLED_BINS)


def _persons(raters: Sequence[Rater], rows: Sequence[IntArray]) -> IntArray:
    """Return one code for a person in all configurations, for each of their rows."""
    names = sorted({name for rater in raters for name in rater.rated.raters})
    return np.concatenate(
        [np.searchsorted(names, rater.rated.raters)[own] for rater, own in zip(raters, rows, strict=True)]
    )


def _by_bin(bins: Bins, listed: Callable[[int], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [{**bin_, "raters": listed(index)} for index, bin_ in enumerate(bins.listed())]


def _consistency(sets: PooledSets, index: int, filters: Filters) -> dict[str, Any]:
    is_selected = sets.bin == index
    n = int(is_selected.sum())
    mean: Estimate = mean_estimate(
        mean_rows(sets.consistency[is_selected]),
        sets.instance[is_selected],
        Basis(n, "rating sets", TIE_IN_CONSISTENCY, why=NO_RATING_SETS),
        filters.intervals,
        rater=sets.rater[is_selected],
    )
    return {**sets.named, "rating_sets": n, "mean_consistency": mean}


def _mean_of_judges(judges: Sequence[PooledSets], index: int, filters: Filters) -> list[dict[str, Any]]:
    """Return the mean over matchups of the mean over judges as one more series, where there are two judges or more."""
    if len(judges) < 2:
        return []
    consistency, matchup, instance, in_bin = (
        np.concatenate([getattr(judge, name) for judge in judges])
        for name in ("consistency", "matchup", "instance", "bin")
    )
    is_selected = in_bin == index
    matchups, first = np.unique(matchup[is_selected], return_index=True)
    mean = mean_estimate(
        mean_rows(ratio(mean_sums(consistency[is_selected], matchup[is_selected]))),
        instance[is_selected][first],
        Basis(len(matchups), "matchups", TIE_IN_CONSISTENCY, why=NO_RATING_SETS),
        filters.intervals,
    )
    return [
        {"rater": MEAN_OF_JUDGES, "kind": "judges", "rating_sets": int(is_selected.sum()), "mean_consistency": mean}
    ]


def _strength(sets: PooledSets, index: int, filters: Filters) -> dict[str, Any]:
    """Return the distribution of preference strength, and the mean of its absolute value: pairs have no side in common."""
    is_selected = sets.bin == index
    n, strength = int(is_selected.sum()), sets.strength[is_selected]
    return {
        **sets.named,
        "rating_sets": n,
        "mean_absolute_strength": mean_estimate(
            mean_rows(np.abs(strength)),
            sets.instance[is_selected],
            Basis(n, "rating sets", TIE_IN_STRENGTH, why=NO_RATING_SETS),
            filters.intervals,
            rater=sets.rater[is_selected],
        ),
        "preference_strength_distribution": distribution_keys(distribution(strength, possible_strengths(sets.sizes))),
    }


def people_agreement(votes: VoteTable, settings: IntervalSettings) -> dict[str, Any]:
    """Return raw agreement and Krippendorff's alpha over the pairs of all configurations."""
    return agreement_of_counts(votes, votes.class_counts.astype(np.float64), settings)


def agreement_of_counts(
    votes: VoteTable,
    counts: FloatArray,
    settings: IntervalSettings,
    *,
    of: str = "pairs of ratings",
    why: Reason = NO_COMMON_VOTES,
) -> dict[str, Any]:
    """Return raw agreement, Krippendorff's alpha and Gwet's coefficients.

    Where configurations compare different systems, alpha and Gwet's coefficients take each unit both ways, A and B exchanged, so
    that chance is votes at random and no number depends on which system is called A. A unit counts once.

    counts  : (n_units, 3) votes for -1, 0, +1 on the units of `votes`
    of, why : what raw agreement counts, and the reason where there is none
    """
    counts = votes.directed(counts)
    total, instance = counts.sum(axis=1), votes.instance
    shared, alone = total > 1, int((total == 1).sum())
    of_gwet = cluster_sums(sum(gwet_sums(way) for way in votes.both_ways(counts)), settings.cluster(instance))
    counts, instance = counts[shared], instance[shared]
    pairs = agreement_sums_of_counts(counts)
    sums = cluster_sums(sum(votes.both_ways(coincidences_of_counts(counts))), settings.cluster(instance))
    rated = Basis(int(pairs[:, 1].sum()), of, TIE_EQUALS_TIE, alone, why)
    return {
        "raw_agreement": share_estimate(pairs, instance, rated, settings),
        "krippendorff_alpha": {
            level: statistic_estimate(
                sums,
                partial(alpha_from_coincidences, level=level),
                Basis(len(counts), "pairs with two or more ratings", TIE_IN_ALPHA[level], alone, NO_VARIATION),
                settings,
                instances=count_groups(instance),
                ceiling=1.0,
            )
            for level in LEVELS
        },
        "gwet": {
            name: statistic_estimate(
                of_gwet,
                partial(gwet_from_sums, ordinal=name == "ac2"),
                Basis(len(counts), "pairs with two or more ratings", rule, alone, why),
                settings,
                instances=count_groups(instance),
                ceiling=1.0,
            )
            for name, rule in TIE_IN_GWET.items()
        },
    }


def rater_pairs(votes: VoteTable, settings: IntervalSettings) -> dict[str, Any]:
    """Return Cohen's kappa of every two of the people with the most votes, and its mean over these pairs.

    `people` are those with `MIN_SHARED` votes or more, of whom the first ten by their number are compared.
    """
    cast = np.bincount(votes.person, minlength=len(votes.people))
    compared = [int(person) for person in np.argsort(-cast, kind="stable")[:MOST_PEOPLE] if cast[person] >= MIN_SHARED]
    verdicts = np.full((len(compared), len(votes.instance)), np.nan)
    for row, person in enumerate(compared):
        own = votes.person == person
        verdicts[row, votes.unit[own]] = votes.verdict[own] * votes.direction[votes.unit[own]]
    pairs: list[dict[str, Any]] = []
    for first, second in combinations(range(len(compared)), 2):
        shared = ~np.isnan(verdicts[first]) & ~np.isnan(verdicts[second])
        n = int(shared.sum())
        if n < MIN_SHARED:
            continue
        cells = sum(votes.both_ways(confusions(verdicts[first, shared], verdicts[second, shared])))
        basis = Basis(n, "pairs rated by both", TIE_EQUALS_TIE, 0, NO_VARIATION)
        sums = cluster_sums(cells, votes.cluster[shared])
        instances = count_groups(votes.instance[shared])
        kappa = statistic_estimate(sums, kappa_from_confusions, basis, settings, instances=instances, ceiling=1.0)
        pairs.append({"raters": [votes.people[compared[first]], votes.people[compared[second]]], "kappa": kappa})
    values = [pair["kappa"]["value"] for pair in pairs if pair["kappa"]["value"] is not None]
    people = int((cast >= MIN_SHARED).sum())
    return {
        "people": people,
        "compared": len(compared),
        "mean": float(np.mean(values)) if values else None,
        "pairs": pairs,
    }


def pooled_positions(
    everything: Sequence[ConfigurationData],
    votes: VoteTable,
    settings: IntervalSettings,
    baselines: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Return each rater's share of verdicts for the text shown first, ties left out. An instance counts once.

    A judge is `biased` where the share's interval leaves out one half at a level adjusted by Bonferroni's method over judges with an interval.
    Baselines are not tested where there are other judges.
    """
    measures, results = {}, []
    for name, parts in raters_by_name(everything).items():
        raters = [rater for _, rater in parts]
        positions = Positions(
            np.concatenate([votes.instances[index][rater.positions.instance] for index, rater in parts]),
            np.concatenate([rater.positions.preferred for rater in raters]),
            _persons(raters, [rater.positions.rater for rater in raters if rater.positions.rater is not None])
            if name == PEOPLE
            else None,
        )
        measures[name] = partial(preferred_first, positions, without_order=any(map(is_without_order, raters)))
        results.append({"rater": name, "kind": raters[0].kind, **measures[name](settings)})
    judges = without_baselines((name for name in measures if name != PEOPLE), baselines)
    rows = [row for row in results if row["rater"] in judges]
    tests = sum(row["low"] is not None for row in rows)
    stricter = replace(settings, level=1 - (1 - settings.level) / max(tests, 1))
    for row in rows:
        test = measures[row["rater"]](stricter)
        row["biased"] = None if test["low"] is None else not test["low"] <= 0.5 <= test["high"]
    return results


RATERS = (1, 2, 3, 5, 10, 20)
INSTANCES = (25, 50, 100, 200, 400)


def generalizability_findings(votes: VoteTable, settings: IntervalSettings) -> dict[str, Any]:
    """Return variance components of win rates, coefficients and standard errors by number of raters, or the reason for none.

    pairs : of an instance, the median of those rated
    """
    unit, cluster = votes.unit, votes.cluster[votes.unit]
    codes = (votes.configuration[unit], votes.matchup[unit], unit, votes.person, cluster)
    try:
        study = generalizability_study((votes.verdict + 1) / 2, *codes)
    except NotEnough:
        return {"components": None, "curve": [], **NOT_CROSSED.as_json()}
    of_matchup = np.bincount(votes.matchup[votes.is_rated])
    pairs = int(np.median(of_matchup[of_matchup > 0]))
    curve = []
    for raters in RATERS:
        coefficients = zip(
            generalizability(study.components, raters=raters, pairs=pairs),
            generalizability(study.without, raters=raters, pairs=pairs),
            strict=True,
        )
        relative, absolute = (_estimate(float(value), without, len(unit), settings) for value, without in coefficients)
        errors = {
            str(n): float(mean_error(study.components, raters=raters, instances=n, pairs=pairs)) for n in INSTANCES
        }
        curve.append({"raters": raters, "relative": relative, "absolute": absolute, "standard_error": errors})
    components = dict(zip(NAMES, study.components.tolist(), strict=True))
    described = {"truncated": list(study.truncated), "merged": study.merged, "pairs": pairs}
    return {"components": components, **described, "curve": curve}


def _estimate(value: float, without: FloatArray, ratings: int, settings: IntervalSettings) -> Estimate:
    n, basis = len(without), Basis(ratings, "ratings", "a tie counts as half", why=NO_VARIATION)
    error = math.sqrt((n - 1) * float(without.var()))  # of the jackknife
    bounds = statistic_interval(value, error, n, floor=0.0, ceiling=1.0, level=settings.level)
    return estimate_with_bounds(value, (bounds.low, bounds.high), basis, settings, n, minimum=MIN_FOR_STATISTIC)
