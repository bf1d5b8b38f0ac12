"""How distinguishable the systems of a study are, as one JSON object: distributions, scenarios, similarities compared."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from analysis.bins import assign, stepped_edges
from analysis.bootstrap import mean_sums, ratio
from analysis.rank_correlation import rank_correlation
from analysis.scenarios import Scenario
from annotation.configurations import Configuration
from annotation.models import Study
from annotation.separability_runs import labels_of
from annotation.version import VERSION
from judging.tables import judges_of
from reporting.estimates import Basis, Estimate, described, estimate
from reporting.findings import SCRIPTED, scripted_codes
from reporting.separability import NOT_COMPUTED, runs_by_configuration
from reporting.separability_advice import advice_on, pooled_advice, rated_on
from reporting.separability_rows import (
    Aligned,
    Compared,
    Look,
    chosen_configurations,
    compared,
    similarity_chosen,
)
from reporting.separability_temperatures import by_temperature

STEP = 0.05  # of separability, one bar of a histogram
MOST_BARS = 200  # on a scale that does not fit, bars get wider: the normalised one has 40
SCENARIOS = {
    "apart": Scenario.APART,
    "scattered": Scenario.SCATTERED,
    "one_steady": Scenario.ONE_STEADY,
    "alike": Scenario.ALIKE,
    "other": Scenario.OTHER,
    "missing": Scenario.MISSING,
}
NO_TIE = "no votes enter"
NO_VALUE = "no instance has a separability: it needs two generations or more of each system"
NO_RANKS = "undefined: fewer than two instances have both, or one is the same for all"


def distinguishable(study: Study, look: Look | None = None) -> dict[str, Any]:
    """Compute everything for all configurations that are looked at, the advice for each and for all together.

    Raises: UnknownName for a data set, a system or a similarity that isn't there.
    """
    look = look or Look()
    return distinguishable_on(study, look, chosen_configurations(study, look))


def distinguishable_on(
    study: Study, look: Look, chosen: Sequence[Configuration], *, each: bool = True, pooled: bool = True
) -> dict[str, Any]:
    """Compute the same for some configurations: with the advice for `each` of them, and that for all together."""
    runs = runs_by_configuration(study)
    similarity_chosen(runs, look)
    parts = [compared(configuration, runs, look.similarity) for configuration in chosen]
    found: dict[str, Any] = {
        "study": study.slug,
        "version": VERSION,
        "filters": look.described(),
        "similarities": sorted(set(labels_of(run for listed in runs.values() for run in listed).values())),
        "configurations": [describe(one, look) for one in parts],
        "temperatures": by_temperature(study, parts, look),
        "pooled_advice": None,
    }
    if not each and not pooled:
        return found
    judge_runs = tuple(judges_of(study, None))
    rated = [rated_on(one, judge_runs) for one in parts]
    scripted = scripted_codes(study)
    if each:
        for described_one, one, ratings in zip(found["configurations"], parts, rated, strict=True):
            described_one["advice"] = advice_on(one, ratings, look)
    if pooled and len(parts) > 1:
        found["pooled_advice"] = pooled_advice(list(zip(parts, rated, strict=True)), look)
    if any(scripted.intersection(ratings.raters[0].rated.raters) for ratings in rated):
        found["note"] = SCRIPTED
    return found


def describe(one: Compared, look: Look) -> dict[str, Any]:
    """Describe one configuration without its ratings."""
    named, main = one.configuration, one.by(look.similarity)
    found: dict[str, Any] = {
        "dataset": named.dataset,
        "system_a": named.system_a.name,
        "system_b": named.system_b.name,
        "matchups": len(one.matchup_ids),
        "similarity": None if main is None else main.label,
        "similarities": [_similarity(part, one, look) for part in one.aligned],
        "correlations": [_correlation(x, y, one, look) for x, y in combinations(one.aligned, 2)],
        "not_shown": one.not_shown,
    }
    if main is None:
        found["why"] = f"{NOT_COMPUTED} with {look.similarity}" if look.similarity else NOT_COMPUTED
    return found


def _similarity(part: Aligned, one: Compared, look: Look) -> dict[str, Any]:
    known = part.delta[~np.isnan(part.delta)]
    thresholds = part.thresholds(look.threshold)
    sorted_into = part.codes(look.threshold)
    found: dict[str, Any] = {
        "label": part.label,
        "similarity": part.run.similarity,
        "normalisation": {"group": part.run.group, "min": part.run.low, "max": part.run.high},
        "computed_at": part.run.computed_at.isoformat(),
        "known": len(known),
        "single_generation": part.single,
        "not_computed": part.not_computed,
        "mean": _mean(part, one, look),
        **_spread(known),
        "scenarios": {
            "thresholds": {"kind": look.threshold, "self": thresholds.own, "cross": thresholds.cross},
            "counts": {name: int((sorted_into == code).sum()) for name, code in SCENARIOS.items()},
        },
    }
    return found


def _mean(part: Aligned, one: Compared, look: Look) -> Estimate:
    known = int((~np.isnan(part.delta)).sum())
    basis = Basis(known, "instances", NO_TIE, len(part.delta) - known, NO_VALUE)
    sums = mean_sums(part.delta, np.arange(len(part.delta)))
    counted = sums[sums[:, 1] > 0]
    sampler = look.sampler_for(known)
    labels = ("separability", one.seed_label, part.label)
    return {**estimate(counted, ratio, basis, sampler=sampler, labels=labels), "rounds": sampler.rounds}


def _spread(known: Any) -> dict[str, Any]:
    if not len(known):
        return {"least": None, "quartiles": None, "greatest": None, "histogram": None}
    wider = np.ceil(np.ptp(known) / (STEP * MOST_BARS))
    edges = stepped_edges(known, STEP * max(1.0, float(wider)))
    counts = np.bincount(assign(known, edges), minlength=len(edges) - 1)
    return {
        "least": float(known.min()),
        "quartiles": np.quantile(known, [0.25, 0.5, 0.75]).tolist(),
        "greatest": float(known.max()),
        "histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
    }


def _correlation(x: Aligned, y: Aligned, one: Compared, look: Look) -> dict[str, Any]:
    sampler = look.sampler_for(len(x.delta))
    labels = sorted((x.label, y.label))  # the same resamples whichever was computed last
    rng = sampler.rng("rank correlation", one.seed_label, *labels)
    found = rank_correlation(x.delta, y.delta, rng=rng, rounds=sampler.rounds, level=sampler.level)
    basis = Basis(found.n, "instances with both", "equal values share the mean of their ranks", found.missing, NO_RANKS)
    value = described(found.value, found.interval, basis, sampler, found.n)
    return {"between": [x.label, y.label], **value, "rounds": sampler.rounds}
