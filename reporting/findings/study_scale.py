"""Separability of all configurations on one scale: alignments normalised over the whole study, as pooled numbers need."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from analysis.errors import AnalysisError
from analysis.separability import normalise, separability
from analysis.types import FloatArray
from annotation.models import Alignment, Matchup, SeparabilityRun
from annotation.studies.configurations import configurations, without_checks
from annotation.studies.separability_runs import find_run
from reporting.findings.inputs import ConfigurationData, Filters, Runs
from reporting.findings.separability_bins import run_settings

NO_CONFIGURATION = "the study has no configuration yet"
NO_SHARED_MEASURE = (
    "not every configuration has its separability computed with one and the same similarity, model and draws"
)


@dataclass(frozen=True, eq=False)
class StudyScale:
    """The study-wide separability of each configuration's matchups, in the order of its selection.

    values    : one array per configuration, NaN where a matchup has none; empty without a scale, for the reason in `why`
    described : similarity, settings and normalisation, as the findings say them
    """

    values: tuple[FloatArray, ...] = ()
    described: dict[str, Any] = field(default_factory=dict)
    why: str = ""


def study_scale(everything: Sequence[ConfigurationData], runs: Runs, filters: Filters) -> StudyScale:
    """Read the scale of a study; it covers all configurations, so that no filter of batches moves it."""
    if not everything:
        return StudyScale(why=NO_CONFIGURATION)
    compared = configurations(everything[0].configuration.study, checks=False)
    chosen = _runs_by_shared_measure([runs.of(configuration) for configuration in compared], filters.similarity)
    if chosen is None:
        return StudyScale(why=NO_SHARED_MEASURE)
    try:
        low, high, by_matchup = _study_wide(chosen)
    except AnalysisError as undefined:  # a constant group, or no alignment at all
        return StudyScale(why=str(undefined))
    normalisation = {"group": "study", "min": low, "max": high}
    return StudyScale(
        values=tuple(
            np.array([by_matchup.get(key, np.nan) for key in data.selection.matchup_ids], dtype=np.float64)
            for data in everything
        ),
        described={
            "similarity": chosen[0].similarity,
            **run_settings(chosen[0]),
            "normalisation": normalisation,
        },
    )


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
