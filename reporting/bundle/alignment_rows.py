"""Alignments in a bundle, by the rules of `findings.data.reading` and `reporting.separability.reading`. No models."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from analysis.types import FloatArray, IntArray
from annotation.core.database.aggregates import grouped
from annotation.core.database.columns import places
from annotation.core.measured import Measure, find_run, labels_of
from judging.generation.sampled_at import SampledAt
from reporting.bundle.opening import Bundle
from reporting.bundle.structure import Key, SelectedRows, Structure, integers
from reporting.findings.data.inputs import Compared, StudyAlignments, StudyData
from reporting.findings.data.separability_bins import (
    Separability,
    SeparabilityMeasure,
    separability_of,
    why_not_computed,
)
from reporting.separability.arrays import (
    ConfigurationAlignments,
    ConfigurationRatings,
    MeasuredRun,
    RunAlignments,
    SeparabilityData,
    shown_runs,
)

SAYS = ("group", "low", "high", "computed_at")  # of a run, beside its measure


class AlignmentRows:
    """A study's separability runs, and the alignments of its matchups."""

    def __init__(self, bundle: Bundle, structure: Structure) -> None:
        self.bundle = bundle
        self.structure = structure

    @cached_property
    def runs(self) -> dict[Key, list[MeasuredRun]]:
        """The runs of each configuration, the latest first."""
        stored = self.bundle.rows("records/separabilityrun")
        rows = sorted(stored, key=lambda row: (row["computed_at"], row["id"]), reverse=True)
        return grouped(
            (
                (row["dataset"], row["system_a"], row["system_b"]),
                MeasuredRun(
                    row["id"], Measure(*(row[name] for name in Measure._fields)), *(row[name] for name in SAYS)
                ),
            )
            for row in rows
        )

    @cached_property
    def _aligned(self) -> FloatArray:
        """(6, n) run, place of the matchup, the raw alignments, and separability."""
        found = self.bundle.numbers_in("separability", "run", "matchup", "self_a", "self_b", "cross", "separability")
        found[1] = places(self.structure.matchup, found[1])
        return found

    def _by(self, runs: Sequence[MeasuredRun]) -> tuple[IntArray, FloatArray]:
        """Return (n,) places of the matchups that have alignments by these runs, ascending, and (n, 4) their values."""
        aligned = self._aligned[:, np.isin(self._aligned[0], [run.key for run in runs]) & (self._aligned[1] >= 0)]
        aligned = aligned[:, np.argsort(aligned[1], kind="stable")]
        return integers(aligned[1]), aligned[2:].T

    def separability(self, one: SelectedRows, bins: int) -> Separability:
        """Return the separability of a selection, binned."""
        run = find_run(self.runs.get(one.key, []))
        if run is None:
            why = why_not_computed(self.structure.index[one.of_here])
            return Separability(None, np.full(len(one.matchup), np.nan), None, why)
        known, values = self._by([run])
        row = places(known, one.matchup)
        delta = np.append(values[:, 3], np.nan)[row]
        return separability_of(delta, _measured(run), not_computed=int((row < 0).sum()), bins=bins)

    def by_shared_measure(self) -> StudyAlignments | None:
        """Return the alignments of all configurations by one measure that every one has, if there is one."""
        structure = self.structure
        listed = [self.runs.get(key, []) for key in structure.covered]
        by_measure = [{run.measure: run for run in reversed(runs)} for runs in listed]
        latest = sorted((run for runs in listed for run in runs), key=lambda run: run.computed_at, reverse=True)
        found = find_run([run for run in latest if all(run.measure in known for known in by_measure)])
        if found is None:
            return None
        chosen = [known[found.measure] for known in by_measure]
        known, values = self._by(chosen)
        free = structure.is_free[known]
        rows = tuple(places(known[free], one.matchup) for one in structure.selections)
        return StudyAlignments(_measured(chosen[0]), np.ascontiguousarray(values[free, :3]), rows)

    def of_page(self, data: StudyData) -> SeparabilityData:
        """Return what the page on separability shows when it is opened; data : with the ratings that it uses."""
        labels = labels_of(run for runs in self.runs.values() for run in runs)
        settings = self.bundle.study["settings"]
        return SeparabilityData(
            slug=data.slug,
            labels=labels,
            parts=tuple(
                self._part(key, one.configuration, labels)
                for key, one in zip(self.structure.covered, data.configurations, strict=True)
            ),
            sampled={row["name"]: SampledAt.of(row) for row in self.bundle.rows("records/generationrun")},
            rated=tuple(ConfigurationRatings.of(one) for one in data.configurations),
            scripted=data.scripted,
            pairs_per_hit=settings["pairs_per_hit"],
            raters_per_hit=settings["raters_per_hit"],
        )

    def _part(self, key: Key, compared: Compared, labels: Mapping[Measure, str]) -> ConfigurationAlignments:
        runs, matchups = self.runs.get(key, []), self.structure.free_of(key)
        shown = shown_runs(runs)
        instances = self.structure.instance[matchups].tolist()
        return ConfigurationAlignments(
            compared,
            tuple(matchups.tolist()),
            tuple(self.structure.instance_ids[place] for place in instances),
            tuple(RunAlignments.of(run, labels[run.measure], self._values(run, matchups)) for run in shown),
            not_shown=len(runs) - len(shown),
        )

    def _values(self, run: MeasuredRun, matchups: IntArray) -> FloatArray:
        known, values = self._by([run])
        found: FloatArray = np.append(values, np.full((1, 4), np.nan), axis=0)[places(known, matchups)]
        return found


def _measured(run: MeasuredRun) -> SeparabilityMeasure:
    return SeparabilityMeasure.of(run.measure, run.group, run.low, run.high)
