"""The separability run that findings on a configuration use, and its bins."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.bins import assign, equal_width_edges
from analysis.types import FloatArray, IntArray
from annotation.models import SeparabilityRun
from annotation.studies.outcomes import Selection, separabilities
from annotation.studies.separability_runs import find_run
from reporting.core.estimates import number

NOT_COMPUTED = "separability has not been computed"
ALL_UNDEFINED = "no selected instance has a separability: it needs two generations or more of each system"


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of separability, and the bin of each selected instance (-1 without a separability)."""

    edges: FloatArray
    of_instance: IntArray

    def listed(self) -> list[tuple[float, float, int]]:
        """Lower edge, upper edge and number of instances of each bin, empty ones too."""
        inside = self.of_instance[self.of_instance >= 0]
        counts = np.bincount(inside, minlength=len(self.edges) - 1).tolist()
        edges = self.edges.tolist()
        return list(zip(edges[:-1], edges[1:], counts, strict=True))


@dataclass(frozen=True, eq=False)
class Separability:
    """Separability of a selection; `run` or `bins` are missing for the reason in `why`."""

    run: SeparabilityRun | None
    values: FloatArray
    bins: Bins | None
    why: str = ""
    not_computed: int = 0


def separability_of(
    selection: Selection, runs: list[SeparabilityRun], *, similarity: str | None, bins: int
) -> Separability:
    """Find the run for a similarity, a label or no name (`find_run`), and bin the selection's instances."""
    run = find_run(runs, similarity)
    if run is None:
        under = f" with {similarity}" if similarity else ""
        return Separability(None, np.full(len(selection.matchup_ids), np.nan), None, f"{NOT_COMPUTED}{under}")
    values = separabilities(selection, run)
    computed = set(run.alignments.values_list("matchup_id", flat=True))
    not_computed = len(set(selection.matchup_ids) - computed)
    if np.isnan(values).all():
        why = ALL_UNDEFINED if len(values) else "no instances are selected"
        return Separability(run, values, None, why if not not_computed else _why_undefined(len(values), not_computed))
    return Separability(run, values, bins_of(values, bins), not_computed=not_computed)


def _why_undefined(undefined: int, not_computed: int) -> str:
    """Say why instances have no separability."""
    reasons = []
    if not_computed:
        reasons.append(f"{not_computed} instances came after it was computed: compute it again")
    if undefined > not_computed:
        reasons.append(f"{undefined - not_computed} instances have no separability: a system has one generation")
    return "; ".join(reasons)


def bins_of(values: FloatArray, n: int) -> Bins:
    """Return equal-width bins over the support of the values."""
    edges = equal_width_edges(values, n)
    return Bins(edges, assign(values, edges))


def run_settings(run: SeparabilityRun) -> dict[str, Any]:
    """Return the settings of a run beyond its similarity: model, samples, cross pairs, seed; those that are set."""
    names = ("model", "model_fingerprint", "samples", "cross_pairs", "seed")
    return {name: value for name in names if (value := getattr(run, name)) not in (None, "")}


def separability_findings(selection: Selection, found: Separability) -> dict[str, Any]:
    """Return the separability as JSON, or `null` with the reason."""
    if found.run is None:
        return {"separability": None, "why": found.why}
    listed = [] if found.bins is None else found.bins.listed()
    missing = int(np.isnan(found.values).sum())
    described: dict[str, Any] = {
        "similarity": found.run.similarity,
        **run_settings(found.run),
        "normalisation": {"group": found.run.group, "min": found.run.low, "max": found.run.high},
        "edges": [] if found.bins is None else found.bins.edges.tolist(),
        "bins": [{"low": low, "high": high, "instances": count} for low, high, count in listed],
        "values": dict(zip(selection.instance_ids, map(number, found.values.tolist()), strict=True)),
        "undefined": missing,
    }
    if missing:
        described["why"] = found.why or _why_undefined(missing, found.not_computed)
    return {"separability": described}
