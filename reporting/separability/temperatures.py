"""Separability of the same two models at several temperatures, where Tandem sampled their texts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.agreement.rank_correlation import rank_correlation
from analysis.grouping import count_groups
from analysis.intervals.bootstrap import mean_rows
from analysis.similarity.separability import has_spread
from analysis.types import FloatArray
from judging.generation.sampled_systems import SampledAt
from reporting.core.estimates import Basis, Estimate, IntervalSettings, build_estimate, mean_estimate
from reporting.separability.arrays import ConfigurationAlignments, RunAlignments, SeparabilityFilters
from reporting.separability.reasons import NO_RANKS, NO_VALUE

Part = tuple[ConfigurationAlignments, RunAlignments, tuple[SampledAt, SampledAt]]


def by_temperature(
    sampled: Mapping[str, SampledAt], parts: Sequence[ConfigurationAlignments], filters: SeparabilityFilters
) -> list[dict[str, Any]]:
    """Group configurations that differ in the temperatures only, each group on one scale.

    A group has two or more configurations whose separability comes from one measure. Systems and temperatures are in the
    order of the models. The rank correlation is with the row of the lowest temperatures.

    sampled : how the texts of systems were made, by their names
    """
    groups: dict[tuple[Any, ...], list[Part]] = {}
    for part in parts:
        main, named = part.by_similarity(filters.similarity), part.configuration
        a, b = (sampled.get(system.name) for system in (named.system_a, named.system_b))
        if main is not None and a is not None and b is not None and a.like != b.like:
            first, second = sorted((a, b), key=lambda system: system.like)  # separability is symmetric
            key = (named.dataset, first.like, second.like, main.label)
            groups.setdefault(key, []).append((part, main, (first, second)))
    return [_group(key[0], key[-1], rows, filters) for key, rows in groups.items() if len(rows) > 1]


def _group(dataset: str, label: str, parts: list[Part], filters: SeparabilityFilters) -> dict[str, Any]:
    ordered = sorted(
        parts, key=lambda part: [(model.temperature is not None, model.temperature or 0.0) for model in part[2]]
    )
    raw = np.concatenate([main.raw.ravel() for _, main, _ in ordered])
    low, high, is_spread = _bounds(raw)
    scaled = [_by_instance(item, main, high - low if is_spread else 0.0) for item, main, _ in ordered]
    settings = [replace(filters, clusters=item.clusters) for item, _, _ in ordered]
    return {
        "dataset": dataset,
        "models": [item.model for item in ordered[0][2]],
        "similarity": label,
        "normalisation": {"group": "these rows", "min": low, "max": high},
        "rows": [
            {
                "systems": [sampled.name for sampled in pair],
                "temperatures": [sampled.temperature for sampled in pair],
                "mean": _mean(values, settings[index].intervals),
                "rank_correlation": None
                if index == 0
                else correlation_estimate(
                    list(scaled[0].values()),
                    [values.get(name, np.nan) for name in scaled[0]],
                    settings[0].intervals_for(len(values)),
                ),
            }
            for index, ((item, _, pair), values) in enumerate(zip(ordered, scaled, strict=True))
        ],
    }


def _bounds(raw: FloatArray) -> tuple[float, float, bool]:
    """Return the least and the greatest alignment, and whether they differ by more than rounding."""
    values = raw[~np.isnan(raw)]
    if not values.size:
        return 0.0, 0.0, False
    low, high = float(values.min()), float(values.max())
    return low, high, has_spread(low, high)


def _by_instance(alignments: ConfigurationAlignments, main: RunAlignments, scale: float) -> dict[str, float]:
    """Return separability by instance on the group's scale, NaN where undefined or without a spread."""
    delta = main.delta * main.scale / scale if scale > 0 else np.full(len(main.delta), np.nan)
    return dict(zip(alignments.instance_ids, delta.tolist(), strict=True))


def _mean(values: dict[str, float], settings: IntervalSettings) -> Estimate:
    delta = np.array(list(values.values()), dtype=np.float64)
    count = int((~np.isnan(delta)).sum())
    basis = Basis(count, "instances", "no votes enter", len(delta) - count, NO_VALUE)
    return mean_estimate(mean_rows(delta), np.arange(len(delta)), basis, settings, floor=-1.0)


def correlation_estimate(x: npt.ArrayLike, y: npt.ArrayLike, settings: IntervalSettings) -> Estimate:
    """Return the rank correlation of two columns, a row per instance."""
    correlation = rank_correlation(
        x, y, rng=settings.rng(), rounds=settings.rounds, level=settings.level, clusters=settings.clusters
    )
    basis = Basis(
        correlation.n,
        "instances with both",
        "equal values share the mean of their ranks",
        correlation.missing,
        NO_RANKS,
    )
    both = np.flatnonzero(~np.isnan(np.asarray(x) + np.asarray(y)))
    clusters = count_groups(settings.cluster(both))
    estimate = build_estimate(correlation.value, correlation.interval, basis, settings, clusters)
    return {**estimate, "n_instances": correlation.n}
