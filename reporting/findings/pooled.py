"""Mean consistency by separability over all configurations, on one study-wide scale."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.errors import AnalysisError
from analysis.separability import normalise, separability
from analysis.types import FloatArray, IntArray
from annotation.core.aggregates import grouped
from annotation.models import Alignment, Matchup, SeparabilityRun
from annotation.studies.configurations import configurations, without_checks
from annotation.studies.separability_runs import find_run
from reporting.core.estimates import Basis, Estimate, number
from reporting.core.raters import Rater
from reporting.findings.inputs import ConfigurationData, Filters, Runs
from reporting.findings.rater_findings import NO_RATING_SETS, TIE_IN_CONSISTENCY, mean_over_sets
from reporting.findings.separability_bins import Bins, bins_of, run_settings

POOLED_BINS = 5


@dataclass(frozen=True, eq=False)
class PooledSets:
    """One rater's rating sets in all configurations: consistency, instance code and bin of each."""

    name: str
    kind: str
    consistency: FloatArray
    instance: IntArray
    bin: IntArray


def pooled_findings(everything: Sequence[ConfigurationData], runs: Runs, filters: Filters) -> dict[str, Any]:
    """Return five equal-width bins over all configurations, or `null` with the reason."""
    if not everything:
        return _undefined("the study has no configuration yet")
    # The scale covers the whole study: a filter must not move it.
    study = everything[0].configuration.study
    compared = configurations(study, checks=False)
    chosen = _runs_by_shared_measure([runs.of(configuration) for configuration in compared], filters.similarity)
    if chosen is None:
        return _undefined(
            "not every configuration has its separability computed with one and the same similarity, model and draws"
        )
    try:
        low, high, by_matchup = _study_wide(chosen)
    except AnalysisError as undefined:  # a constant group, or no alignment at all
        return _undefined(str(undefined))
    values = [
        np.array([by_matchup.get(key, np.nan) for key in data.selection.matchup_ids], dtype=np.float64)
        for data in everything
    ]
    together = np.concatenate(values)
    if np.isnan(together).all():
        return _undefined("no selected instance has a separability")
    bins = bins_of(together, POOLED_BINS)
    missing = int(np.isnan(together).sum())
    return {
        "similarity": chosen[0].similarity,
        **run_settings(chosen[0]),
        "normalisation": {"group": "study", "min": low, "max": high},
        "edges": bins.edges.tolist(),
        "undefined": missing,
        **({"why": f"{missing} matchups have no separability and are in no bin"} if missing else {}),
        "mean_consistency_by_bin": _by_bin(everything, bins, filters),
    }


def instance_codes(everything: Sequence[ConfigurationData]) -> list[IntArray]:
    """Return codes of the study's instances, for each configuration in the order of its selection."""
    codes: dict[str, int] = {}
    return [
        np.array([codes.setdefault(name, len(codes)) for name in data.selection.instance_ids], dtype=np.int64)
        for data in everything
    ]


def raters_by_name(everything: Sequence[ConfigurationData]) -> dict[str, list[tuple[int, Rater]]]:
    """Return (index of the configuration, the rater there) by the rater's name, people first."""
    return grouped((rater.name, (place, rater)) for place, data in enumerate(everything) for rater in data.raters)


def _undefined(why: str) -> dict[str, Any]:
    return {"mean_consistency_by_bin": None, "why": why}


def _runs_by_shared_measure(runs: list[list[SeparabilityRun]], similarity: str | None) -> list[SeparabilityRun] | None:
    """Pick one run per configuration, all by one measure that every configuration has (see `find_run`)."""
    by_measure = [{run.measure: run for run in reversed(listed)} for listed in runs]
    shared = [
        run
        for run in sorted((run for listed in runs for run in listed), key=lambda run: run.computed_at, reverse=True)
        if all(run.measure in known for known in by_measure)
    ]
    found = find_run(shared, similarity)
    return [known[found.measure] for known in by_measure] if found is not None else None


def _study_wide(runs: list[SeparabilityRun]) -> tuple[float, float, dict[int, float]]:
    """Normalise the raw alignments of all runs as one group; return its bounds and δ by matchup."""
    compared = without_checks(Matchup.objects.order_by())
    rows = Alignment.objects.filter(run__in=runs, matchup__in=compared).order_by("matchup_id")
    columns = list(rows.values_list("matchup_id", "self_a", "self_b", "cross"))
    matchups = [column[0] for column in columns]
    raw = np.array([column[1:] for column in columns], dtype=np.float64).reshape(-1, 3)
    group = normalise(raw[:, 0], raw[:, 1], raw[:, 2])
    values = separability(group.self_a, group.self_b, group.cross)
    return group.low, group.high, dict(zip(matchups, values.tolist(), strict=True))


def _by_bin(everything: Sequence[ConfigurationData], bins: Bins, filters: Filters) -> list[dict[str, Any]]:
    starts = np.cumsum([0, *(len(data.selection.matchup_ids) for data in everything)])
    codes = instance_codes(everything)
    sets = [
        PooledSets(
            name=name,
            kind=found[0][1].kind,
            consistency=np.concatenate([rater.consistency for _, rater in found]),
            instance=np.concatenate([codes[place][rater.sets.instance] for place, rater in found]),
            bin=np.concatenate([bins.of_instance[starts[place] + rater.sets.instance] for place, rater in found]),
        )
        for name, found in raters_by_name(everything).items()
    ]
    return [
        {
            "low": number(low),
            "high": number(high),
            "instances": instances,
            "raters": [_in_bin(one, index, filters) for one in sets],
        }
        for index, (low, high, instances) in enumerate(bins.listed())
    ]


def _in_bin(sets: PooledSets, index: int, filters: Filters) -> dict[str, Any]:
    chosen = sets.bin == index
    n = int(chosen.sum())
    mean: Estimate = mean_over_sets(
        sets.consistency[chosen],
        sets.instance[chosen],
        Basis(n, "rating sets", TIE_IN_CONSISTENCY, why=NO_RATING_SETS),
        filters.resampler,
        ("pooled", sets.name, f"bin {index}"),
    )
    return {"rater": sets.name, "kind": sets.kind, "rating_sets": n, "mean_consistency": mean}
