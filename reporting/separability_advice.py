"""From the ratings so far: how consistency goes with separability, and what leaving instances out would save."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.advice import Pilot, Relation, cut_statistic, cut_sums, gather, relate, saving
from analysis.bins import assign, equal_width_edges
from analysis.bootstrap import Interval, cluster_intervals, cluster_sums, mean_sums, ratio
from analysis.errors import AnalysisError
from analysis.separability import normalise
from analysis.types import FloatArray, IntArray
from annotation.study_templates import batch_plan
from annotation.tables import Selection, select
from judging.models import JudgeRun
from reporting.estimates import Basis, Estimate, Sampler, described, estimate, number
from reporting.judge_raters import judges_on
from reporting.rater_findings import TIE_IN_CONSISTENCY
from reporting.raters import PEOPLE, Rater, people_on
from reporting.separability import NOT_COMPUTED
from reporting.separability_rows import Aligned, Compared, Look

SHARES = (0.1, 0.25, 0.5)  # of the matchups: cuts that are worked out beside the one at a half
BINS = 5
NO_RATINGS = "no rating set yet with a consistency and a separability"
ONE_SCALE = "not every configuration has its separability computed with one and the same similarity"
TOO_FEW = 10  # rating sets, or instances, below which nothing is read out of a curve: intervals resample instances
WHY = {
    "one value": "all rated instances have the same separability",
    "all inconsistent": "every rating set is inconsistent, whatever its separability",
    "all consistent": "every rating set is fully consistent, whatever its separability",
    "not rising": "in these ratings consistency does not rise with separability",
    "below support": "the mean consistency is above a half at every separability that was rated",
    "above support": "the mean consistency is below a half at every separability that was rated",
}


@dataclass(frozen=True, eq=False)
class RatedOn:
    """The ratings on one configuration, by rater kind, people first."""

    selection: Selection
    raters: tuple[Rater, ...]


@dataclass(frozen=True, eq=False)
class _Sets:
    """Rating sets of one rater with the separability of each, and the separability of all that could be rated."""

    name: str
    kind: str
    delta: FloatArray
    consistency: FloatArray
    instance: IntArray
    everything: FloatArray
    ratings_per_matchup: int


def rated_on(one: Compared, judge_runs: Sequence[JudgeRun]) -> RatedOn:
    """Read people's and judges' rating sets on a configuration."""
    selection = select(one.configuration)
    people = people_on(selection, None)
    judges = judges_on(selection, judge_runs, drop_incomplete=False)
    return RatedOn(selection, (people, *(judge.rater for judge in judges)))


def advice_on(one: Compared, rated: RatedOn, look: Look) -> dict[str, Any]:
    """Work the advice out for one configuration, for people and for each judge; or say why there is none."""
    main = one.by(look.similarity)
    if main is None:
        return {"similarity": None, "raters": [], "why": NOT_COMPUTED}
    sets = [_sets(one, main, main.delta, rater, rated.selection) for rater in rated.raters]
    return _advice(sets, main.label, look, one.seed_label)


def pooled_advice(parts: Sequence[tuple[Compared, RatedOn]], look: Look) -> dict[str, Any]:
    """Work the advice out over several configurations, on one scale: all their alignments normalised together."""
    label = _shared_label([one for one, _ in parts], look)
    if label is None:
        return {"similarity": None, "raters": [], "why": ONE_SCALE}
    chosen = [next(part for part in one.aligned if part.label == label) for one, _ in parts]
    try:
        group = normalise(*np.concatenate([part.raw for part in chosen]).T)
    except AnalysisError:
        return {"similarity": label, "raters": [], "why": "every alignment of the study is the same, or missing"}
    scale = group.high - group.low
    by_name: dict[str, list[_Sets]] = {}
    codes: dict[str, int] = {}
    for (one, rated), main in zip(parts, chosen, strict=True):
        numbers = np.array([codes.setdefault(name, len(codes)) for name in one.instance_ids], dtype=np.int64)
        delta = main.delta * main.scale / scale
        for rater in rated.raters:
            found = _sets(one, main, delta, rater, rated.selection, numbers)
            by_name.setdefault(rater.name, []).append(found)
    advice = _advice([_together(sets) for sets in by_name.values()], label, look, "pooled")
    return {**advice, "normalisation": {"group": "study", "min": group.low, "max": group.high}}


def _shared_label(everything: Sequence[Compared], look: Look) -> str | None:
    """Return the label of the measure that all configurations have: the one looked at, else the latest of the first."""
    for part in everything[0].aligned:
        if look.similarity not in ("", part.label, part.run.similarity):
            continue
        # By all that a measure is: two models may have one name.
        if all(any(other.run.measure == part.run.measure for other in one.aligned) for one in everything):
            return part.label
    return None


def _sets(
    one: Compared, main: Aligned, delta: FloatArray, rater: Rater, selection: Selection, codes: IntArray | None = None
) -> _Sets:
    place = {matchup_id: number for number, matchup_id in enumerate(one.matchup_ids)}
    rows = np.array([place[selection.matchup_ids[code]] for code in rater.sets.instance.tolist()], dtype=np.int64)
    plan = batch_plan(one.configuration.study)
    return _Sets(
        rater.name,
        rater.kind,
        delta[rows],
        rater.consistency,
        rows if codes is None else codes[rows],
        delta,
        plan.pairs * (plan.raters if rater.name == PEOPLE else 1),
    )


def _together(sets: Sequence[_Sets]) -> _Sets:
    def joined(name: str) -> Any:
        return np.concatenate([getattr(one, name) for one in sets])

    return replace(
        sets[0],
        delta=joined("delta"),
        consistency=joined("consistency"),
        instance=joined("instance"),
        everything=joined("everything"),
    )


def _advice(sets: Sequence[_Sets], label: str, look: Look, seed_label: str) -> dict[str, Any]:
    return {"similarity": label, "raters": [_on_rater(one, look, (seed_label, label)) for one in sets]}


def _on_rater(sets: _Sets, look: Look, labels: tuple[str, ...]) -> dict[str, Any]:
    pilot = gather(sets.delta, sets.consistency, sets.instance)
    found: dict[str, Any] = {
        "rater": sets.name,
        "kind": sets.kind,
        "rating_sets": int(pilot.sets.sum()),
        "instances": len(np.unique(pilot.instance)),
        "excluded": pilot.excluded,
        "ratings_per_matchup": sets.ratings_per_matchup,
    }
    if not len(pilot):
        return {**found, "why": NO_RATINGS, "reading": "nothing"}
    sampler = look.sampler_for(len(pilot))
    labels = ("advice", *labels, sets.name)
    rng = sampler.rng(*labels)
    relation = relate(pilot, rng=rng, rounds=sampler.rounds, level=sampler.level)
    threshold = _threshold(relation, pilot, sampler)
    return {
        **found,
        "reading": _reading(relation, pilot),
        "separated": relation.separated,
        "support": list(relation.support),
        "slope": _slope(relation, pilot, sampler),
        "threshold": threshold,
        "curve": _curve(relation),
        "points": _points(sets, sampler, labels),
        "cuts": _cuts(sets, pilot, relation, sampler, labels),
        "rounds": sampler.rounds,
    }


def _reading(relation: Relation, pilot: Pilot) -> str:
    """Say in a word what may be read out of a pilot; pages have a sentence for each."""
    if min(pilot.sets.sum(), len(np.unique(pilot.instance))) < TOO_FEW:
        return "too few"
    if relation.why in ("one value", "all inconsistent", "all consistent", "not rising"):
        return relation.why
    if not relation.slope_interval.low > 0:
        return "unsure"
    return relation.why or "threshold"


def _slope(relation: Relation, pilot: Pilot, sampler: Sampler) -> Estimate:
    why = WHY.get(relation.why, "no finite slope")
    if relation.separated:
        why = "no finite slope: one separability parts all that is consistent from all that is not"
    basis = Basis(int(pilot.sets.sum()), "rating sets", TIE_IN_CONSISTENCY, pilot.excluded, why)
    value = relation.slope if math.isfinite(relation.slope) else math.nan
    shown = described(value, _finite(relation.slope_interval), basis, sampler, len(np.unique(pilot.instance)))
    return {**shown, "unit": "log-odds of consistency per unit of separability"}


def _finite(interval: Interval) -> Interval:
    """JSON has no infinity: an open end has no bound."""
    low, high = (end if math.isfinite(end) else math.nan for end in (interval.low, interval.high))
    return Interval(low, high, interval.level, interval.rounds, interval.undefined)


def _threshold(relation: Relation, pilot: Pilot, sampler: Sampler) -> Estimate:
    basis = Basis(
        int(pilot.sets.sum()), "rating sets", TIE_IN_CONSISTENCY, pilot.excluded, WHY.get(relation.why, NO_RATINGS)
    )
    shown = described(relation.crossing, relation.crossing_interval, basis, sampler, len(np.unique(pilot.instance)))
    return {
        **shown,
        "rounds_outside_support": relation.open_ends,
        "undefined_rounds": relation.crossing_interval.undefined,
    }


def _curve(relation: Relation) -> list[dict[str, float | None]]:
    columns = zip(relation.grid, relation.curve, *relation.band, strict=True)
    return [
        {"separability": float(x), "mean_consistency": number(y), "low": number(low), "high": number(high)}
        for x, y, low, high in columns
    ]


def _points(sets: _Sets, sampler: Sampler, labels: tuple[str, ...]) -> list[dict[str, Any]]:
    """Mean consistency in bins of one width, to be held against the curve."""
    known = ~np.isnan(sets.delta) & ~np.isnan(sets.consistency)
    delta, consistency, instance = sets.delta[known], sets.consistency[known], sets.instance[known]
    edges = equal_width_edges(delta, BINS)
    index = assign(delta, edges)
    points = []
    for number_, (low, high) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        chosen = index == number_
        basis = Basis(int(chosen.sum()), "rating sets", TIE_IN_CONSISTENCY, why="no rating set")
        sums = mean_sums(consistency[chosen], instance[chosen])
        mean = estimate(sums, ratio, basis, sampler=sampler, labels=(*labels, f"bin {number_}"))
        points.append({"low": low, "high": high, "mean_consistency": mean})
    return points


def _cuts(
    sets: _Sets, pilot: Pilot, relation: Relation, sampler: Sampler, labels: tuple[str, ...]
) -> list[dict[str, Any]]:
    """What it takes and gives to leave instances out: below the crossing, and the lowest tenth, quarter and half."""
    known = sets.everything[~np.isnan(sets.everything)]
    wanted = [] if math.isnan(relation.crossing) else [("mean consistency of a half", relation.crossing)]
    wanted += [(f"lowest {share:.0%}", float(np.quantile(known, share))) for share in SHARES]
    return [{"cut": name, **_cut(sets, pilot, value, sampler, labels)} for name, value in wanted]


def _cut(sets: _Sets, pilot: Pilot, threshold: float, sampler: Sampler, labels: tuple[str, ...]) -> dict[str, Any]:
    saved = saving(sets.everything, threshold, sets.ratings_per_matchup)
    sums = cluster_sums(cut_sums(pilot, threshold), pilot.instance)
    rng = sampler.rng(*labels, "cuts")  # the same resamples for every cut, so that "all" is one number
    intervals = cluster_intervals(sums, cut_statistic, 5, rng=rng, rounds=sampler.rounds, level=sampler.level)
    totals = sums.sum(axis=0)
    values = cut_statistic(totals).tolist()
    names = ("all", "kept", "left_out", "gain", "steady_left_out")
    counts = [int(totals[place, 1]) for place in (0, 1, 2, 0, 2)]
    estimates = {
        name: described(
            value,
            interval,
            Basis(n, "rating sets", TIE_IN_CONSISTENCY, pilot.excluded, "no rating set on that side"),
            sampler,
            len(sums),
        )
        for name, value, interval, n in zip(names, values, intervals, counts, strict=True)
    }
    return {
        "threshold": threshold,
        "matchups_below": saved.below,
        "matchups_known": saved.known,
        "matchups_without_separability": saved.missing,
        "ratings_saved": saved.saved,
        "ratings_planned": saved.planned,
        **estimates,
    }
