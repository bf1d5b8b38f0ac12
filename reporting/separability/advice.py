"""Advice from the ratings so far: how consistency depends on separability, and what a threshold would save."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.errors import AnalysisError
from analysis.grouping import assign, count_groups, equal_width_edges
from analysis.intervals.bootstrap import Interval, cluster_sums, mean_rows
from analysis.planning.advice import (
    NoCrossing,
    Pilot,
    Relation,
    aggregate_sets,
    cut_statistic,
    cut_sums,
    fit_relation,
    savings,
)
from analysis.similarity.separability import normalise
from analysis.types import FloatArray, IntArray
from reporting.core.estimates import (
    Basis,
    Estimate,
    IntervalSettings,
    bounded_estimate,
    build_estimate,
    mean_estimate,
    number,
    share_estimate,
)
from reporting.core.raters import PEOPLE, Rater
from reporting.findings.measures.rater_findings import TIE_IN_CONSISTENCY
from reporting.findings.reasons import NOT_COMPUTED
from reporting.separability.arrays import (
    ConfigurationAlignments,
    ConfigurationRatings,
    SeparabilityData,
    SeparabilityFilters,
)
from reporting.separability.reasons import (
    ALL_ALIKE,
    NO_CROSSING,
    NO_RATINGS,
    NO_SET,
    NO_SET_ON_SIDE,
    NO_SHARED_SIMILARITY,
    NO_SLOPE,
    SEPARATED,
)

CUT_SHARES = (0.1, 0.25, 0.5)  # of the matchups: cuts that are computed besides the one at a consistency of a half
QUARTER_CUT = "lowest 25%"  # the cut to report where the curve does not cross a half
BINS = 5
MIN_RATED = 10  # rating sets, and instances, that a curve needs to be interpreted


@dataclass(frozen=True, eq=False)
class _Sets:
    """Rating sets of one rater with the separability of each, and the separability of all matchups."""

    name: str
    kind: str
    delta: FloatArray
    consistency: FloatArray
    instance: IntArray
    everything: FloatArray
    ratings_per_matchup: int


def configuration_advice(
    part: ConfigurationAlignments, rated: ConfigurationRatings, data: SeparabilityData, filters: SeparabilityFilters
) -> dict[str, Any]:
    """Compute the advice for one configuration, for people and for each judge."""
    main = part.by_similarity(filters.similarity)
    if main is None:
        return {"similarity": None, "raters": [], **NOT_COMPUTED.as_json()}
    sets = [_sets(part, main.delta, rater, rated, data) for rater in rated.raters]
    return {**_advice(sets, main.label, replace(filters, clusters=part.clusters)), "chosen": rated.chosen}


def pooled_advice(data: SeparabilityData, filters: SeparabilityFilters) -> dict[str, Any]:
    """Compute the advice over all configurations, with all their alignments normalised together."""
    label = _shared_label(data.parts, filters)
    if label is None:
        return {"similarity": None, "raters": [], **NO_SHARED_SIMILARITY.as_json()}
    main_runs = [next(part for part in alignments.by_run if part.label == label) for alignments in data.parts]
    try:
        group = normalise(*np.concatenate([part.raw for part in main_runs]).T)
    except AnalysisError:
        return {"similarity": label, "raters": [], **ALL_ALIKE.as_json()}
    scale = group.high - group.low
    by_name: dict[str, list[_Sets]] = {}
    codes: dict[str, int] = {}
    clusters: dict[str, int] = {}
    for alignments, rated, main in zip(data.parts, data.rated, main_runs, strict=True):
        numbers = np.array([codes.setdefault(name, len(codes)) for name in alignments.instance_ids], dtype=np.int64)
        if alignments.clusters is not None:
            clusters |= dict(zip(alignments.instance_ids, alignments.clusters.tolist(), strict=True))
        delta = main.delta * main.scale / scale
        for rater in rated.raters:
            pooled = _sets(alignments, delta, rater, rated, data, numbers)
            by_name.setdefault(rater.name, []).append(pooled)
    of_code = np.array([clusters[name] for name in codes], dtype=np.int64) if clusters else None
    filters = replace(filters, clusters=of_code)
    advice = _advice([_pooled_sets(sets) for sets in by_name.values()], label, filters)
    chosen_rows = [row for rated in data.rated for row in rated.chosen]
    return {**advice, "chosen": chosen_rows, "normalisation": {"group": "study", "min": group.low, "max": group.high}}


def _shared_label(everything: Sequence[ConfigurationAlignments], filters: SeparabilityFilters) -> str | None:
    """Return the label of a measure that all configurations share: the selected one, else the latest."""
    for part in everything[0].by_run:
        if filters.similarity not in ("", part.label, part.run.measure.similarity):
            continue
        # By the whole measure, since two models may have one name.
        if all(
            any(another.run.measure == part.run.measure for another in alignments.by_run) for alignments in everything
        ):
            return part.label
    return None


def _sets(
    alignments: ConfigurationAlignments,
    delta: FloatArray,
    rater: Rater,
    rated: ConfigurationRatings,
    data: SeparabilityData,
    codes: IntArray | None = None,
) -> _Sets:
    index_of = {instance_id: number for number, instance_id in enumerate(alignments.instance_ids)}
    rows = np.array([index_of[rated.instance_ids[code]] for code in rater.sets.instance.tolist()], dtype=np.int64)
    return _Sets(
        rater.name,
        rater.kind,
        delta[rows],
        rater.consistency,
        rows if codes is None else codes[rows],
        delta,
        data.study.pairs_per_hit * (data.study.raters_per_hit if rater.name == PEOPLE else 1),
    )


def _pooled_sets(sets: Sequence[_Sets]) -> _Sets:
    def joined(name: str) -> Any:
        return np.concatenate([getattr(rater_sets, name) for rater_sets in sets])

    return replace(
        sets[0],
        delta=joined("delta"),
        consistency=joined("consistency"),
        instance=joined("instance"),
        everything=joined("everything"),
    )


def _advice(sets: Sequence[_Sets], label: str, filters: SeparabilityFilters) -> dict[str, Any]:
    return {"similarity": label, "raters": [_rater_advice(rater_sets, filters) for rater_sets in sets]}


def _rater_advice(sets: _Sets, filters: SeparabilityFilters) -> dict[str, Any]:
    pilot = aggregate_sets(sets.delta, sets.consistency, sets.instance)
    row: dict[str, Any] = {
        "rater": sets.name,
        "kind": sets.kind,
        "rating_sets": int(pilot.sets.sum()),
        "instances": len(np.unique(pilot.instance)),
        "excluded": pilot.excluded,
        "ratings_per_matchup": sets.ratings_per_matchup,
    }
    if not len(pilot):
        return {**row, **NO_RATINGS.as_json(), "reading": "nothing"}
    settings = filters.intervals_for(len(pilot))
    clustered = replace(pilot, instance=settings.cluster(pilot.instance))
    relation = fit_relation(clustered, rng=settings.rng(), rounds=settings.rounds, level=settings.level)
    threshold = _threshold(relation, pilot, settings)
    cuts = _cuts(sets, pilot, relation, settings)
    why = NO_CROSSING[relation.why] if relation.why else NO_SLOPE
    if relation.separated:
        why = SEPARATED
    basis = Basis(int(pilot.sets.sum()), "rating sets", TIE_IN_CONSISTENCY, pilot.excluded, why)
    value = relation.slope if math.isfinite(relation.slope) else math.nan
    estimate = _resampled(value, _finite(relation.slope_interval), basis, settings, pilot)
    columns = zip(relation.grid, relation.curve, *relation.band, strict=True)
    return {
        **row,
        "reading": _reading(relation, clustered),
        "separated": relation.separated,
        "support": list(relation.support),
        "slope": {**estimate, "unit": "log-odds of consistency per unit of separability"},
        "threshold": threshold,
        "curve": [
            {"separability": float(x), "mean_consistency": number(y), "low": number(low), "high": number(high)}
            for x, y, low, high in columns
        ],
        "points": _points(sets, settings),
        "cuts": cuts,
        "lowest_quarter": next(cut for cut in cuts if cut["cut"] == QUARTER_CUT),
        "rounds": settings.rounds,
    }


def _reading(relation: Relation, pilot: Pilot) -> str:
    """Return the code of what the ratings show. Pages have a sentence for each."""
    if min(pilot.sets.sum(), len(np.unique(pilot.instance))) < MIN_RATED:
        return "too few"
    if relation.why in (NoCrossing.ONE_VALUE, NoCrossing.ALL_INCONSISTENT, NoCrossing.ALL_CONSISTENT):
        return relation.why
    if relation.slope_interval.high < 0:
        return "falling"
    if not relation.slope_interval.low > 0 or relation.why is NoCrossing.NOT_RISING:
        return "unsure"
    return relation.why or "threshold"


def _resampled(value: float, interval: Interval, basis: Basis, settings: IntervalSettings, pilot: Pilot) -> Estimate:
    clusters, instances = count_groups(settings.cluster(pilot.instance)), count_groups(pilot.instance)
    return {**build_estimate(value, interval, basis, settings, clusters), "n_instances": instances}


def _finite(interval: Interval) -> Interval:
    """Replace infinite bounds, which JSON cannot hold, by NaN."""
    low, high = (end if math.isfinite(end) else math.nan for end in (interval.low, interval.high))
    return Interval(low, high, interval.level, interval.rounds, interval.undefined)


def _threshold(relation: Relation, pilot: Pilot, settings: IntervalSettings) -> Estimate:
    basis = Basis(
        int(pilot.sets.sum()),
        "rating sets",
        TIE_IN_CONSISTENCY,
        pilot.excluded,
        NO_CROSSING[relation.why] if relation.why else NO_RATINGS,
    )
    estimate = _resampled(relation.crossing, relation.crossing_interval, basis, settings, pilot)
    return {
        **estimate,
        "rounds_outside_support": relation.outside_support,
        "rounds_inside_support": settings.rounds - relation.outside_support - relation.crossing_interval.undefined,
        "undefined_rounds": relation.crossing_interval.undefined,
    }


def _points(sets: _Sets, settings: IntervalSettings) -> list[dict[str, Any]]:
    """Return the mean consistency in equal-width bins, to compare with the curve."""
    is_known = ~np.isnan(sets.delta) & ~np.isnan(sets.consistency)
    delta, consistency, instance = sets.delta[is_known], sets.consistency[is_known], sets.instance[is_known]
    edges = equal_width_edges(delta, BINS)
    index = assign(delta, edges)
    points = []
    for number_, (low, high) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        is_in_bin = index == number_
        basis = Basis(int(is_in_bin.sum()), "rating sets", TIE_IN_CONSISTENCY, why=NO_SET)
        mean = mean_estimate(mean_rows(consistency[is_in_bin]), instance[is_in_bin], basis, settings)
        points.append({"low": low, "high": high, "mean_consistency": mean})
    return points


def _cuts(sets: _Sets, pilot: Pilot, relation: Relation, settings: IntervalSettings) -> list[dict[str, Any]]:
    """Return cost and gain of leaving instances out: below the crossing, and the lowest tenth, quarter and half."""
    values = sets.everything[~np.isnan(sets.everything)]
    cuts = [] if math.isnan(relation.crossing) else [("mean consistency of a half", relation.crossing)]
    cuts += [(f"lowest {share:.0%}", float(np.quantile(values, share))) for share in CUT_SHARES]
    return [{"cut": name, **_cut(sets, pilot, value, settings)} for name, value in cuts]


def _cut(sets: _Sets, pilot: Pilot, threshold: float, settings: IntervalSettings) -> dict[str, Any]:
    saved = savings(sets.everything, threshold, sets.ratings_per_matchup)
    rows = cut_sums(pilot, threshold)
    totals = rows.sum(axis=0)

    def basis(index: int) -> Basis:
        n = int(totals[index, 1])
        return Basis(n, "rating sets", TIE_IN_CONSISTENCY, pilot.excluded, NO_SET_ON_SIDE)

    estimates = {
        name: mean_estimate(rows[:, index], pilot.instance, basis(index), settings)
        for index, name in enumerate(("all", "kept", "left_out"))
    }
    estimates["gain"] = bounded_estimate(
        cluster_sums(rows, settings.cluster(pilot.instance)),
        lambda sums: cut_statistic(sums)[..., 3],
        basis(0),
        settings,
        floor=-1.0,
        clusters=estimates["kept"].get("n_clusters", estimates["kept"]["n_instances"]),
    ) | {"n_instances": estimates["kept"]["n_instances"]}
    estimates["steady_left_out"] = share_estimate(rows[:, 3], pilot.instance, basis(2), settings)
    return {
        "threshold": threshold,
        "matchups_below": saved.below,
        "matchups_known": saved.known,
        "matchups_without_separability": saved.missing,
        "ratings_saved": saved.saved,
        "ratings_planned": saved.planned,
        **estimates,
    }
