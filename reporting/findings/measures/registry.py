"""The registry of measures: what a measure is given, and under which key and headings findings show it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from analysis.grouping import count_groups
from analysis.intervals.bootstrap import Statistic, cluster_sums
from analysis.types import FloatArray, IntArray
from annotation.core.tables import Column
from reporting.core.estimates import (
    Basis,
    Estimate,
    IntervalSettings,
    mean_estimate,
    share_estimate,
    statistic_estimate,
)
from reporting.core.raters import Rater, Units, verdicts_beside

PERSON, JUDGE = "person", "judge"  # kinds of raters


@dataclass(frozen=True, eq=False)
class MeasureInput:
    """One rater on one configuration.

    people_votes : the people's votes by pair, counted once for all raters
    """

    rater: Rater
    people: Rater
    people_votes: Units
    settings: IntervalSettings

    @cached_property
    def beside_people(self) -> FloatArray:
        """The rater's verdict on each pair of `people_votes`, or NaN where it has none."""
        return verdicts_beside(self.rater.rated.outcomes, self.people_votes)

    def share(self, rows: FloatArray, instance: IntArray, basis: Basis, *, rater: IntArray | None = None) -> Estimate:
        """Return a share of units that are 0 or 1, from (n, 2) numerators and denominators, with its interval.

        rater : (n,) codes, where each unit has one rater: two-way intervals need them
        """
        return share_estimate(rows, instance, basis, self.settings, rater=rater)

    def mean(
        self,
        rows: FloatArray,
        instance: IntArray,
        basis: Basis,
        *,
        floor: float = 0.0,
        ceiling: float = 1.0,
        rater: IntArray | None = None,
    ) -> Estimate:
        """Return a mean or a difference in a range, from (n, 2) sums and weights, with its interval."""
        return mean_estimate(rows, instance, basis, self.settings, floor=floor, ceiling=ceiling, rater=rater)

    def statistic(
        self, rows: FloatArray, instance: IntArray, statistic: Statistic, basis: Basis, *, ceiling: float = math.inf
    ) -> Estimate:
        """Return a statistic of the sum of (n, ...) rows that is no mean, such as alpha, with its interval."""
        counts = rows.any(axis=tuple(range(1, rows.ndim)))
        sums = cluster_sums(rows[counts], self.settings.cluster(instance[counts]))
        instances = count_groups(instance[counts])
        return statistic_estimate(sums, statistic, basis, self.settings, instances=instances, ceiling=ceiling)


@dataclass(frozen=True)
class Measure:
    """A measure of one rater.

    key     : its key in the JSON
    label   : its heading
    kinds   : kinds of raters that have it
    applies : whether a rater of these kinds has it; all by default
    levels  : variants of it with their headings; its value is then one estimate for each
    unit    : that of its columns
    """

    key: str
    label: str
    compute: Callable[[MeasureInput], Any]
    kinds: tuple[str, ...] = (PERSON, JUDGE)
    levels: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""
    applies: Callable[[MeasureInput], bool] | None = None

    def is_of(self, inputs: MeasureInput) -> bool:
        """Tell whether a rater has this measure."""
        return inputs.rater.kind in self.kinds and (self.applies is None or self.applies(inputs))

    def headings(self) -> list[Column]:
        """Return the headings of its columns."""
        return [Column(label, unit=self.unit) for label in self.levels.values() or [self.label]]

    def estimates(self, findings: Mapping[str, Any]) -> list[Estimate | None]:
        """Return a rater's estimates in the order of the headings, or `None` where it has none."""
        value = findings.get(self.key)
        return [value[level] if value else None for level in self.levels] or [value]


_MEASURES: dict[str, Measure] = {}


def measure(
    key: str, label: str, **options: Any
) -> Callable[[Callable[[MeasureInput], Any]], Callable[[MeasureInput], Any]]:
    """Register a function as a measure. `options` are the further fields of `Measure`."""

    def register(compute: Callable[[MeasureInput], Any]) -> Callable[[MeasureInput], Any]:
        if key in _MEASURES:
            raise ValueError(f"there are two measures with the key {key}")
        _MEASURES[key] = Measure(key, label, compute, **options)
        return compute

    return register


def measures() -> list[Measure]:
    """Return the measures in the order of registration."""
    return list(_MEASURES.values())


def compute_measures(inputs: MeasureInput) -> dict[str, Any]:
    """Compute every measure of a rater, by key."""
    return {row.key: row.compute(inputs) for row in measures() if row.is_of(inputs)}
