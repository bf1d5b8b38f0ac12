"""Win rates of systems over all configurations, with people and with each judge."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from analysis.ranking import Rates, win_loss_rate, win_loss_sums, win_rate, win_sums
from analysis.types import FloatArray, IntArray, Outcomes
from reporting.core.estimates import Basis, mean_estimate
from reporting.core.instance_selection import selection_note
from reporting.core.raters import Rater
from reporting.findings.inputs import ConfigurationData, Filters
from reporting.findings.pooled import instance_codes, raters_by_name

NEVER_COMPARED = "never compared with another system"
OPPONENTS_CAUTION = (
    "a rate counts the systems that a system met, and how often: with other opponents it would be another one. Where "
    "systems met unequally, the order of their rates is no ranking"
)
DISCONNECTED_NOTE = "the groups were never compared, not even through a third system: rates say nothing across them"
Measure = tuple[str, str, float, Callable[..., Rates], Callable[[Outcomes, int], FloatArray]]  # with its floor
MEASURES: tuple[Measure, ...] = (
    ("win_rate", "a tie is half a win", 0.0, win_rate, win_sums),
    ("win_loss_rate", "a tie is a comparison that nobody won", -1.0, win_loss_rate, win_loss_sums),
)


def rankings(everything: Sequence[ConfigurationData], filters: Filters) -> list[dict[str, Any]]:
    """Return one ranking per rater and measure, the best system first."""
    names = sorted({name for data in everything for name in data.systems})
    codes = instance_codes(everything)
    note = selection_note([row for data in everything for row in data.chosen])
    return [
        _ranking(measure, found[0][1], _rater_outcomes(everything, names, codes, found), names, filters)
        | ({"chosen_note": note} if note else {})
        for found in raters_by_name(everything).values()
        for measure in MEASURES
    ]


def _rater_outcomes(
    everything: Sequence[ConfigurationData], names: list[str], codes: list[IntArray], found: list[tuple[int, Rater]]
) -> Outcomes:
    """Return one rater's verdicts in all configurations, with study-wide codes of instances and systems."""
    parts = []
    for place, rater in found:
        outcomes = rater.rated.outcomes
        a, b = (names.index(name) for name in everything[place].systems)
        columns = {field.name: getattr(outcomes, field.name) for field in fields(Outcomes)}
        columns |= {
            "instance": codes[place][outcomes.instance],
            "a": outcomes.a * 0 + a,
            "b": outcomes.b * 0 + b,
        }
        parts.append(columns)
    return Outcomes(**{name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def _ranking(
    measure: Measure,
    rater: Rater,
    outcomes: Outcomes,
    names: list[str],
    filters: Filters,
) -> dict[str, Any]:
    name, tie_rule, floor, rate, sums = measure
    rates = rate(outcomes, np.arange(len(names)))
    missing = int(np.isnan(outcomes.verdict).sum())
    met_by = _opponents(outcomes, names)
    systems = []
    for system, n in zip(rates.system.tolist(), rates.n.tolist(), strict=True):
        rows = sums(outcomes, system)
        met = rows[:, 1] > 0
        found = mean_estimate(
            rows[met],
            outcomes.instance[met],
            Basis(n, "comparisons", tie_rule, missing, NEVER_COMPARED),
            filters.intervals,
            floor=floor,
        )
        systems.append({"system": names[system], **found, "opponents": met_by[names[system]]})
    # Undefined rates come last; equal ones are ordered by name.
    systems.sort(key=lambda row: (row["value"] is None, -(row["value"] or 0.0), row["system"]))
    ranking = {
        "rater": rater.name,
        "kind": rater.kind,
        "measure": name,
        "tie_rule": tie_rule,
        "systems": systems,
        **({"caution": OPPONENTS_CAUTION} if len(names) > 2 else {}),
    }
    groups = _groups(outcomes, names)
    return ranking if len(groups) < 2 else {**ranking, "groups": groups, "note": DISCONNECTED_NOTE}


def _opponents(outcomes: Outcomes, names: list[str]) -> dict[str, dict[str, int]]:
    """Count each system's comparisons by opponent."""
    known = ~np.isnan(outcomes.verdict)
    met = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(met, (outcomes.a[known], outcomes.b[known]), 1)
    together = met + met.T
    return {
        name: {other: n for other, n in zip(names, row, strict=True) if n}
        for name, row in zip(names, together.tolist(), strict=True)
    }


def _groups(outcomes: Outcomes, names: list[str]) -> list[list[str]]:
    """Return the connected components of the comparison graph; systems without a comparison are in none."""
    known = ~np.isnan(outcomes.verdict)
    groups: list[set[str]] = []
    for a, b in np.unique(np.stack([outcomes.a[known], outcomes.b[known]], axis=1), axis=0).tolist():
        touched = [group for group in groups if names[a] in group or names[b] in group]
        groups = [group for group in groups if group not in touched] + [set().union({names[a], names[b]}, *touched)]
    return sorted(sorted(group) for group in groups)
