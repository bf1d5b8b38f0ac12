"""Mean consistency by separability over all configurations, on one study-wide scale."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.bootstrap import mean_rows
from analysis.types import FloatArray, IntArray
from annotation.core.aggregates import grouped
from reporting.core.estimates import Basis, Estimate, mean_estimate, number
from reporting.core.raters import Rater
from reporting.findings.inputs import ConfigurationData, Filters
from reporting.findings.rater_findings import NO_RATING_SETS, TIE_IN_CONSISTENCY
from reporting.findings.separability_bins import Bins, bins_of
from reporting.findings.study_scale import StudyScale

POOLED_BINS = 5


@dataclass(frozen=True, eq=False)
class PooledSets:
    """One rater's rating sets in all configurations: consistency, instance code and bin of each."""

    name: str
    kind: str
    consistency: FloatArray
    instance: IntArray
    bin: IntArray


def pooled_findings(everything: Sequence[ConfigurationData], scale: StudyScale, filters: Filters) -> dict[str, Any]:
    """Return five equal-width bins over all configurations, or `null` with the reason."""
    if scale.why:
        return _undefined(scale.why)
    bins = pooled_bins(scale)
    if bins is None:
        return _undefined("no selected instance has a separability")
    missing = int((bins.of_instance < 0).sum())
    return {
        **scale.described,
        "edges": bins.edges.tolist(),
        "undefined": missing,
        **({"why": f"{missing} matchups have no separability and are in no bin"} if missing else {}),
        "mean_consistency_by_bin": _by_bin(everything, bins, filters),
    }


def pooled_bins(scale: StudyScale) -> Bins | None:
    """Return five equal-width bins of all configurations' instances, one after another; None without a separability."""
    together = np.concatenate([np.empty(0), *scale.values])
    return None if np.isnan(together).all() else bins_of(together, POOLED_BINS)


def instance_codes(everything: Sequence[ConfigurationData]) -> list[IntArray]:
    """Return codes of the study's instances, for each configuration in the order of its selection.

    They ascend by (data set, instance's id), so that draws don't depend on the order in which a database has them.
    """
    named = [[(data.dataset, name) for name in data.selection.instance_ids] for data in everything]
    codes = {instance: code for code, instance in enumerate(sorted({one for names in named for one in names}))}
    return [np.array([codes[one] for one in names], dtype=np.int64) for names in named]


def raters_by_name(everything: Sequence[ConfigurationData]) -> dict[str, list[tuple[int, Rater]]]:
    """Return (index of the configuration, the rater there) by the rater's name, people first."""
    return grouped((rater.name, (place, rater)) for place, data in enumerate(everything) for rater in data.raters)


def _undefined(why: str) -> dict[str, Any]:
    return {"mean_consistency_by_bin": None, "why": why}


def _by_bin(everything: Sequence[ConfigurationData], bins: Bins, filters: Filters) -> list[dict[str, Any]]:
    starts = np.cumsum([0, *(len(data.selection.instance_ids) for data in everything)])
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
    mean: Estimate = mean_estimate(
        mean_rows(sets.consistency[chosen]),
        sets.instance[chosen],
        Basis(n, "rating sets", TIE_IN_CONSISTENCY, why=NO_RATING_SETS),
        filters.intervals,
    )
    return {"rater": sets.name, "kind": sets.kind, "rating_sets": n, "mean_consistency": mean}
