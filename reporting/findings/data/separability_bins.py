"""The separability that findings on a configuration use, and its bins."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from analysis.grouping import assign, equal_width_edges
from analysis.types import FloatArray, IntArray
from annotation.core.reasons import Reason
from annotation.models.separability import Measure
from reporting.core.estimates import numbers
from reporting.findings.reasons import (
    ALL_UNDEFINED,
    CAME_LATER,
    NONE_SELECTED,
    NOT_COMPUTED,
    OF_ONE_GENERATION,
    ONE_CAME_LATER,
    ONE_OF_ONE_GENERATION,
    ONE_TEXT,
    not_computed_with,
)


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of separability, and the bin of each selected instance (-1 without a separability)."""

    edges: FloatArray
    of_instance: IntArray

    def listed(self) -> list[dict[str, Any]]:
        """Return the edges and the number of instances of each bin, empty ones too."""
        inside = self.of_instance[self.of_instance >= 0]
        counts = np.bincount(inside, minlength=len(self.edges) - 1).tolist()
        edges = numbers(self.edges)
        return [
            {"low": low, "high": high, "instances": n} for low, high, n in zip(edges, edges[1:], counts, strict=False)
        ]


@dataclass(frozen=True)
class SeparabilityMeasure:
    """The measure of a separability run.

    settings       : those that are set beyond the similarity: model, model_fingerprint, samples, cross_pairs, seed
    group, low, high : normalisation group, with its smallest and largest alignment
    """

    similarity: str
    settings: dict[str, Any] = field(default_factory=dict)
    group: str = ""
    low: float = 0.0
    high: float = 1.0

    @classmethod
    def of(cls, measure: Measure, group: str, low: float, high: float) -> "SeparabilityMeasure":
        """Return the measure of a run."""
        settings = {name: value for name, value in asdict(measure).items() if value not in (None, "")}
        return cls(settings.pop("similarity"), settings, group, low, high)

    def as_json(self) -> dict[str, Any]:
        """Return similarity, settings and normalisation."""
        normalisation = {"group": self.group, "min": self.low, "max": self.high}
        return {"similarity": self.similarity, **self.settings, "normalisation": normalisation}


@dataclass(frozen=True, eq=False)
class Separability:
    """Separability of a selection. `measured` or `bins` are missing for the reason in `why`."""

    measured: SeparabilityMeasure | None
    values: FloatArray
    bins: Bins | None
    why: Reason | None = None
    not_computed: int = 0


def separability_of(
    values: FloatArray, measured: SeparabilityMeasure | None, *, not_computed: int, bins: int
) -> Separability:
    """Bin the selection's instances.

    values       : of each instance, NaN where undefined
    measured     : how they were measured; None where they weren't
    not_computed : instances that came after the values were computed
    """
    if measured is None:
        return Separability(None, values, None, NOT_COMPUTED)
    if np.isnan(values).all():
        why = ALL_UNDEFINED if len(values) else NONE_SELECTED
        undefined = why if not not_computed else _why_undefined(len(values), not_computed)
        return Separability(measured, values, None, undefined)
    return Separability(measured, values, bins_of(values, bins), not_computed=not_computed)


def why_not_computed(index: IntArray, similarity: str | None) -> Reason:
    """Return why a configuration has no separability. `index` has the places of all its pairs within their matchups."""
    return not_computed_with(similarity) if index.any() or not len(index) else ONE_TEXT


def lacks_separability(configuration: Mapping[str, Any]) -> bool:
    """Tell whether a configuration in findings has no separability though it can be computed."""
    return configuration["separability"] is None and configuration.get("why_code") != ONE_TEXT.code


def _why_undefined(undefined: int, added_later: int) -> Reason:
    """Return why instances have no separability. Of two reasons the first has its code."""
    lacking, reasons = undefined - added_later, []
    if added_later:
        reasons.append(ONE_CAME_LATER if added_later == 1 else CAME_LATER)
    if lacking > 0:
        reasons.append(ONE_OF_ONE_GENERATION if lacking == 1 else OF_ONE_GENERATION)
    template = "; ".join(reason.template for reason in reasons)
    return Reason(reasons[0].code, template, {"later": added_later, "lacking": lacking})


def bins_of(values: FloatArray, n: int) -> Bins:
    """Return equal-width bins over the support of the values."""
    edges = equal_width_edges(values, n)
    return Bins(edges, assign(values, edges))


def separability_findings(instance_ids: Sequence[str], separability: Separability) -> dict[str, Any]:
    """Return the separability as JSON, or `null` with the reason."""
    if separability.measured is None:
        return {"separability": None, **(separability.why or NOT_COMPUTED).as_json()}
    missing = int(np.isnan(separability.values).sum())
    described: dict[str, Any] = {
        **separability.measured.as_json(),
        "edges": [] if separability.bins is None else separability.bins.edges.tolist(),
        "bins": [] if separability.bins is None else separability.bins.listed(),
        "values": dict(zip(instance_ids, numbers(separability.values), strict=True)),
        "undefined": missing,
    }
    if missing:
        described |= (separability.why or _why_undefined(missing, separability.not_computed)).as_json()
    return {"separability": described}
