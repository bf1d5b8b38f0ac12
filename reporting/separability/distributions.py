"""Separability of a study's systems as one JSON object: distributions, scenarios, correlations."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from analysis.grouping import assign, stepped_edges
from analysis.intervals.bootstrap import mean_rows
from analysis.similarity.scenarios import Scenario
from annotation.core.version import VERSION
from reporting.core.estimates import Basis, mean_estimate
from reporting.core.text import SCRIPTED
from reporting.findings.reasons import not_computed_with
from reporting.separability.advice import configuration_advice, pooled_advice
from reporting.separability.arrays import ConfigurationAlignments, RunAlignments, SeparabilityData, SeparabilityFilters
from reporting.separability.reasons import NONE_OF_TWO
from reporting.separability.temperatures import by_temperature, correlation_estimate

BAR_WIDTH = 0.05  # of a histogram, in units of separability
MAX_BARS = 200  # beyond this, bars get wider; the normalised scale has 40
SCENARIOS = {
    "apart": Scenario.APART,
    "scattered": Scenario.SCATTERED,
    "one_steady": Scenario.ONE_STEADY,
    "alike": Scenario.ALIKE,
    "other": Scenario.OTHER,
    "missing": Scenario.MISSING,
}
NO_TIE = "no votes enter"


def separability_numbers(
    data: SeparabilityData, filters: SeparabilityFilters, *, each: bool = True, pooled: bool = True
) -> dict[str, Any]:
    """Compute the numbers of all configurations. `each` and `pooled` add advice from the ratings."""
    numbers: dict[str, Any] = {
        "study": data.study.slug,
        "version": VERSION,
        "filters": filters.as_json(),
        "similarities": sorted(set(data.labels.values())),
        "configurations": [describe(part, filters) for part in data.parts],
        "temperatures": by_temperature(data.sampled, data.parts, filters),
        "pooled_advice": None,
    }
    if not data.rated:
        return numbers
    if each:
        for described, part, ratings in zip(numbers["configurations"], data.parts, data.rated, strict=True):
            described["advice"] = configuration_advice(part, ratings, data, filters)
    if pooled and len(data.parts) > 1:
        numbers["pooled_advice"] = pooled_advice(data, filters)
    if any(data.scripted.intersection(ratings.raters[0].rated.raters) for ratings in data.rated):
        numbers["note"] = SCRIPTED
    return numbers


def describe(alignments: ConfigurationAlignments, filters: SeparabilityFilters) -> dict[str, Any]:
    """Describe one configuration without its ratings."""
    named, main = alignments.configuration, alignments.by_similarity(filters.similarity)
    filters = replace(filters, clusters=alignments.clusters)
    description: dict[str, Any] = {
        "dataset": named.dataset,
        "system_a": named.system_a.name,
        "system_b": named.system_b.name,
        "matchups": len(alignments.matchup_ids),
        "similarity": None if main is None else main.label,
        "similarities": [_similarity(part, filters) for part in alignments.by_run],
        "correlations": [_correlation(x, y, filters) for x, y in combinations(alignments.by_run, 2)],
        "not_shown": alignments.not_shown,
    }
    if main is None:
        description |= not_computed_with(filters.similarity).as_json()
    return description


def _similarity(part: RunAlignments, filters: SeparabilityFilters) -> dict[str, Any]:
    values = part.delta[~np.isnan(part.delta)]
    thresholds = part.thresholds(filters.threshold)
    sorted_into = part.codes(filters.threshold)
    count = int((~np.isnan(part.delta)).sum())
    basis = Basis(count, "instances", NO_TIE, len(part.delta) - count, NONE_OF_TWO)
    rows, instance = mean_rows(part.delta), np.arange(len(part.delta))
    description: dict[str, Any] = {
        "label": part.label,
        "similarity": part.run.measure.similarity,
        "normalisation": {"group": part.run.group, "min": part.run.low, "max": part.run.high},
        "computed_at": part.run.computed_at.isoformat(),
        "known": len(values),
        "single_generation": part.single,
        "not_computed": part.not_computed,
        "mean": mean_estimate(rows, instance, basis, filters.intervals, floor=-1.0),
        **_spread(values),
        "scenarios": {
            "thresholds": {"kind": filters.threshold, "self": thresholds.own, "cross": thresholds.cross},
            "counts": {name: int((sorted_into == code).sum()) for name, code in SCENARIOS.items()},
        },
    }
    return description


def _spread(values: Any) -> dict[str, Any]:
    if not len(values):
        return {"least": None, "quartiles": None, "greatest": None, "histogram": None}
    wider = np.ceil(np.ptp(values) / (BAR_WIDTH * MAX_BARS))
    edges = stepped_edges(values, BAR_WIDTH * max(1.0, float(wider)))
    counts = np.bincount(assign(values, edges), minlength=len(edges) - 1)
    return {
        "least": float(values.min()),
        "quartiles": np.quantile(values, [0.25, 0.5, 0.75]).tolist(),
        "greatest": float(values.max()),
        "histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
    }


def _correlation(x: RunAlignments, y: RunAlignments, filters: SeparabilityFilters) -> dict[str, Any]:
    settings = filters.intervals_for(len(x.delta))
    value = correlation_estimate(x.delta, y.delta, settings)
    return {"between": [x.label, y.label], **value, "rounds": settings.rounds}
