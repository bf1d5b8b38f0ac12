"""Dawid and Skene's verdicts beside people's majority, with the confusion matrix of each person."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from analysis.agreement.coefficients import VALUES
from analysis.agreement.dawid_skene import DawidSkene, dawid_skene
from analysis.agreement.leave_one_out import Votes
from analysis.agreement.severity import severity
from analysis.intervals.jackknife import MIN_CLUSTERS
from analysis.types import FloatArray
from reporting.core.estimates import Basis, Estimate, IntervalSettings, estimate_with_bounds, number
from reporting.core.reasons import NO_SPREAD, TOO_FEW
from reporting.findings.data.inputs import ConfigurationData
from reporting.findings.data.vote_table import VoteTable
from reporting.findings.reasons import FEW_PEOPLE, NO_COMMON_VOTES, NOBODY_BESIDE

CLASSES = ("a", "tie", "b")
MIN_PEOPLE = 3
TOLERANCE = 1e-6  # of probabilities
MOST_VOTES_IN_ALL_ROUNDS = 20_000_000  # rounds end at it, converged or not: some seconds


def aggregated_verdicts(everything: Sequence[ConfigurationData], votes: VoteTable) -> dict[str, Any]:
    """Return Dawid and Skene's verdicts of all people together. Each configuration has a prevalence of its own.

    A person's confusion matrix holds in all configurations: rows are true classes, columns what the person gave. Of two systems A
    is that of the first configuration. Over several pairs of systems it means nothing: units count both ways, A and B exchanged.
    """
    counts = votes.class_counts
    sizes = counts.sum(axis=1)
    totals = {"pairs": int(votes.is_rated.sum()), "pairs_with_three_votes": int((sizes >= MIN_PEOPLE).sum())}
    if not totals["pairs_with_three_votes"]:
        return {**totals, "configurations": None, "people": None, **FEW_PEOPLE.as_json()}
    rounds = max(20, min(1000, MOST_VOTES_IN_ALL_ROUNDS // len(votes.person)))
    n, configurations = len(votes.instance), len(everything)
    cast, groups = votes.votes, votes.configuration
    if not votes.compares_two:
        units, both = np.append(cast.unit, cast.unit + n), np.append(cast.verdict, -cast.verdict)
        cast = Votes(units, np.tile(cast.person, 2), both, 2 * n, cast.n_people)
        groups = np.append(groups, groups + configurations)
    directed = replace(cast, verdict=cast.verdict * np.resize(votes.direction, cast.n_units)[cast.unit])
    estimates = dawid_skene(directed, group=groups, max_iterations=rounds, tolerance=TOLERANCE)
    highest = counts.max(axis=1, keepdims=True)
    alone = (counts == highest).sum(axis=1) == 1
    verdict, majority = estimates.verdict[:n] * votes.direction, np.where(alone, VALUES[counts.argmax(axis=1)], np.nan)
    prevalence = np.full((configurations, 3), np.nan)  # the last configurations may have no votes
    estimated = estimates.prevalence[:configurations]
    prevalence[: len(estimated)] = estimated
    is_turned = votes.compares_two & (votes.system_a != votes.system_a[0])
    prevalence[is_turned] = prevalence[is_turned, ::-1]
    return {
        **totals,
        "iterations": estimates.iterations,
        "converged": estimates.converged,
        "configurations": [
            _configuration(data, verdict[rated], majority[rated], prevalence[index])
            for index, data in enumerate(everything)
            for rated in [votes.is_rated & (votes.configuration == index)]
        ],
        "people": _people(estimates, directed, votes.people, compares_two=votes.compares_two),
    }


def _configuration(
    data: ConfigurationData, verdict: FloatArray, by_most: FloatArray, prevalence: FloatArray
) -> dict[str, Any]:
    both = ~np.isnan(verdict) & ~np.isnan(by_most)
    return {
        **data.named,
        "pairs": len(verdict),
        "prevalence": dict(zip(CLASSES, map(number, prevalence.tolist()), strict=True)),
        "verdicts": _counted(verdict),
        "majority": _counted(by_most),
        "differs": int((verdict[both] != by_most[both]).sum()),
        "differs_of": int(both.sum()),
    }


def _counted(verdicts: FloatArray) -> dict[str, int]:
    counted = {name: int((verdicts == value).sum()) for name, value in zip(CLASSES, VALUES, strict=True)}
    return {**counted, "shared": int(np.isnan(verdicts).sum())}


def _people(estimates: DawidSkene, votes: Votes, names: Sequence[str], *, compares_two: bool) -> list[dict[str, Any]]:
    """Return each person's matrix. A row with next to no pair of its class behind it is `null`."""
    n, copies = votes.n_people, 1 if compares_two else 2
    rated = np.stack(
        [np.bincount(votes.person, column[votes.unit], minlength=n) / copies for column in estimates.posterior.T],
        axis=1,
    )
    right = (np.diagonal(estimates.confusion, axis1=1, axis2=2) * rated).sum(axis=1)
    ratings = np.bincount(votes.person, minlength=n) // copies
    return [
        {
            "rater": code,
            "ratings": int(ratings[person]),
            "right": float(right[person] / ratings[person]),
            "rated": dict(zip(CLASSES, rated[person].tolist(), strict=True)),
            "confusion": [
                row if weight >= 0.5 else None
                for row, weight in zip(estimates.confusion[person].tolist(), rated[person], strict=True)
            ],
        }
        for person, code in enumerate(names)
        if ratings[person]
    ]


TIE_AS_HALF = "a tie is half a preference for each"
TIE_COUNTED = "a tie is 1, a preference 0"


def rater_severity(votes: VoteTable, settings: IntervalSettings) -> dict[str, Any]:
    """Return each person's deviations by their kind, and how far people differ in each.

    Deviations are differences of shares: of preferences for the left text, of ties, and of preferences for `toward`, the first
    of two systems; `null` where there are more.
    """
    kinds: dict[str, tuple[FloatArray, FloatArray | None, str]] = {
        "left": (votes.verdict / 2, 1 - 2 * votes.a_is_left, TIE_AS_HALF),
        "ties": ((votes.verdict == 0).astype(np.float64), None, TIE_COUNTED),
    }
    toward = votes.systems[0] if len(votes.systems) == 2 else None
    if toward is not None:
        direction = np.where(votes.system_a == 0, -1, 1)[votes.configuration[votes.unit]]
        kinds["system"] = direction * votes.verdict / 2, None, TIE_AS_HALF
    severities = {kind: _kind(votes, *columns, settings) for kind, columns in kinds.items()}
    raters = [
        {"rater": name, **{kind: rows[code] for kind, (rows, _) in severities.items()}}
        for code, name in enumerate(votes.people)
        if any(rows[code]["n"] for rows, _ in severities.values())
    ]
    between = {kind: spread for kind, (_, spread) in severities.items()}
    return {"toward": toward, "raters": raters, "between": between, **({} if raters else NO_COMMON_VOTES.as_json())}


def _kind(
    votes: VoteTable, values: FloatArray, sign: FloatArray | None, rule: str, settings: IntervalSettings
) -> tuple[list[Estimate], dict[str, Any]]:
    level, n, cluster = settings.level, len(votes.people), votes.cluster[votes.unit]
    severities = severity(values, votes.unit, votes.person, cluster, sign=sign, n_raters=n, level=level)
    columns = (
        np.bincount(votes.person, minlength=n),
        severities.compared,
        severities.clusters,
        severities.shrunk,
        severities.low,
        severities.high,
    )
    rows = []
    for (cast, compared, clusters, *limits), deviation in zip(
        np.stack(columns, axis=1).tolist(), severities.deviation, strict=True
    ):
        few = TOO_FEW.with_values(of=settings.unit, least=MIN_CLUSTERS)
        why = NOBODY_BESIDE if not compared else few if clusters < MIN_CLUSTERS else NO_SPREAD
        basis = Basis(int(compared), "ratings beside others'", rule, int(cast - compared), why)
        rows.append({**_estimate(limits, basis, settings, int(clusters)), "deviation": number(float(deviation))})
    raters = int((~np.isnan(severities.shrunk)).sum())
    limits = [severities.spread, severities.spread_low, severities.spread_high]
    spread = _estimate(limits, Basis(raters, "raters", rule, n - raters, NO_SPREAD), settings, len(np.unique(cluster)))
    return rows, {"spread": spread, "p_value": number(severities.p_value)}


def _estimate(limits: list[float], basis: Basis, settings: IntervalSettings, clusters: int) -> Estimate:
    value, low, high = limits
    return estimate_with_bounds(value, (low, high), basis, settings, clusters, minimum=MIN_CLUSTERS)
