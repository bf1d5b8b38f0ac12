"""Win rates of systems over all configurations, with people and with each judge."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from analysis.bootstrap import cluster_sums, ratio
from analysis.ranking import Rates, win_loss_rate, win_loss_sums, win_rate, win_sums
from analysis.types import FloatArray, IntArray, Outcomes
from reporting.estimates import Basis, estimate
from reporting.measured import Filters, Measured
from reporting.pooled import instance_codes, raters_of
from reporting.raters import Rater

NEVER_COMPARED = "never compared with another system"
GROUPS_APART = "the groups were never compared, not even through a third system: rates say nothing across them"
MEASURES: tuple[tuple[str, str, Callable[..., Rates], Callable[[Outcomes, int], FloatArray]], ...] = (
    ("win_rate", "a tie is half a win", win_rate, win_sums),
    ("win_loss_rate", "a tie is a comparison that nobody won", win_loss_rate, win_loss_sums),
)


def rankings(everything: Sequence[Measured], filters: Filters) -> list[dict[str, Any]]:
    """Return one ranking per rater and measure, the best system first."""
    names = sorted({name for measured in everything for name in _systems(measured)})
    codes = instance_codes(everything)
    return [
        _ranking(measure, found[0][1], _together(everything, names, codes, found), names, filters)
        for found in raters_of(everything).values()
        for measure in MEASURES
    ]


def _systems(measured: Measured) -> tuple[str, str]:
    return measured.configuration.system_a.name, measured.configuration.system_b.name


def _together(
    everything: Sequence[Measured], names: list[str], codes: list[IntArray], found: list[tuple[int, Rater]]
) -> Outcomes:
    """One rater's verdicts in all configurations; instances and systems numbered throughout the study."""
    parts = []
    for place, rater in found:
        outcomes = rater.rated.outcomes
        a, b = (names.index(name) for name in _systems(everything[place]))
        columns = {field.name: getattr(outcomes, field.name) for field in fields(Outcomes)}
        columns |= {
            "instance": codes[place][outcomes.instance],
            "a": outcomes.a * 0 + a,
            "b": outcomes.b * 0 + b,
        }
        parts.append(columns)
    return Outcomes(**{name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def _ranking(
    measure: tuple[str, str, Callable[..., Rates], Callable[[Outcomes, int], FloatArray]],
    rater: Rater,
    outcomes: Outcomes,
    names: list[str],
    filters: Filters,
) -> dict[str, Any]:
    name, tie_rule, rate, sums = measure
    rates = rate(outcomes, np.arange(len(names)))
    missing = int(np.isnan(outcomes.verdict).sum())
    systems = []
    for system, n in zip(rates.system.tolist(), rates.n.tolist(), strict=True):
        rows = sums(outcomes, system)
        met = rows[:, 1] > 0
        found = estimate(
            cluster_sums(rows[met], outcomes.instance[met]),
            ratio,
            Basis(n, "comparisons", tie_rule, missing, NEVER_COMPARED),
            sampler=filters.sampler,
            labels=("ranking", rater.name, name, names[system]),
        )
        systems.append({"system": names[system], **found})
    # An undefined rate comes last; equal ones stand in the order of their names.
    systems.sort(key=lambda row: (row["value"] is None, -(row["value"] or 0.0), row["system"]))
    ranking = {
        "rater": rater.name,
        "kind": rater.kind,
        "measure": name,
        "tie_rule": tie_rule,
        "systems": systems,
    }
    groups = _groups(outcomes, names)
    return ranking if len(groups) < 2 else {**ranking, "groups": groups, "note": GROUPS_APART}


def _groups(outcomes: Outcomes, names: list[str]) -> list[list[str]]:
    """Systems that met, directly or through others; systems that met nobody are in none."""
    known = ~np.isnan(outcomes.verdict)
    groups: list[set[str]] = []
    for a, b in np.unique(np.stack([outcomes.a[known], outcomes.b[known]], axis=1), axis=0).tolist():
        touched = [group for group in groups if names[a] in group or names[b] in group]
        groups = [group for group in groups if group not in touched] + [set().union({names[a], names[b]}, *touched)]
    return sorted(sorted(group) for group in groups)
