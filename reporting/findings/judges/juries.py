"""The independent votes that a jury is worth, and each member's contribution."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.agreement.coefficients import VALUES
from analysis.judges.juries import (
    JuryUnits,
    effective_members,
    error_sums,
    jury_verdicts,
    mean_error_correlation,
)
from analysis.types import FloatArray, IntArray
from reporting.core.estimates import Basis, Estimate, mean_estimate, number, statistic_estimate
from reporting.findings.data.inputs import Filters, JuryMembers
from reporting.findings.data.vote_table import VoteTable
from reporting.findings.judges.judges_against_people import TIE_EQUALS_TIE
from reporting.findings.reasons import FEW_MEMBERS, NO_ERRORS_TOGETHER, NO_NUMBER_OF_VOTES, NO_VOTES_OF_BOTH_JURIES


def jury_findings(juries: Sequence[JuryMembers], votes: VoteTable, filters: Filters) -> list[dict[str, Any]]:
    """Return per jury its independent votes, and its agreement with people less that of the jury without each member.

    Computed on pairs with people's votes, of the members that have verdicts under these filters; `absent` are the others.
    """
    return [_jury(jury, votes, filters) for jury in juries]


def _jury(jury: JuryMembers, votes: VoteTable, filters: Filters) -> dict[str, Any]:
    members_with_verdicts = {
        name: verdicts for name in jury.members if (verdicts := votes.judges.get(f"judge:{name}")) is not None
    }
    members = [name for name, verdicts in members_with_verdicts.items() if not np.isnan(verdicts[votes.is_rated]).all()]
    description = {
        "judge": jury.name,
        "rater": f"judge:{jury.name}",
        "rule": jury.rule,
        "members": list(jury.members),
        "absent": [name for name in jury.members if name not in members],
    }
    if len(members) < 2:
        return {**description, **FEW_MEMBERS.as_json(), "voting": {}, "without": []}
    rated = votes.is_rated
    units = JuryUnits(
        np.stack([members_with_verdicts[name][rated] for name in members], axis=1),
        votes.class_counts[rated].astype(np.float64),
        votes.cluster[rated],
        votes.configuration[rated],
    )
    voting, pairs = np.unique((~np.isnan(units.votes)).sum(axis=1), return_counts=True)
    correlation = _correlation(units, filters)
    return {
        **description,
        "voting": dict(zip(map(str, voting.tolist()), pairs.tolist(), strict=True)),
        "error_correlation": correlation,
        "effective_members": _effective(correlation, len(members)),
        "without": _without(units, votes.instance[rated], members, jury.rule, filters),
    }


def _correlation(units: JuryUnits, filters: Filters) -> Estimate:
    sums = error_sums(units)
    n = int(sums[:, range(len(sums[0])), range(len(sums[0])), 0].max(axis=1).sum()) if len(sums) else 0
    basis = Basis(n, "pairs with a majority", TIE_EQUALS_TIE, len(units.votes) - n, NO_ERRORS_TOGETHER)
    return statistic_estimate(sums, mean_error_correlation, basis, filters.intervals, ceiling=1.0)


def _effective(correlation: Estimate, members: int) -> Estimate:
    """Convert the correlation and its limits. The number falls as it rises."""
    value, low, high = (
        None if at is None else number(effective_members(at, members))
        for at in (correlation["value"], correlation["high"], correlation["low"])
    )
    why = {} if value is not None or "why" in correlation else NO_NUMBER_OF_VOTES.as_json()
    return {**correlation, "value": value, "low": low, "high": high, "members": members, **why}


def _without(
    units: JuryUnits, instance: IntArray, members: Sequence[str], rule: str, filters: Filters
) -> list[dict[str, Any]]:
    of_all = jury_verdicts(units, rule)
    results = []
    for index, name in enumerate(members):
        remaining = jury_verdicts(units.without(index), rule)
        both = ~np.isnan(of_all) & ~np.isnan(remaining)
        cast = units.people[both].sum(axis=1)
        gap = _equal(units.people[both], of_all[both]) - _equal(units.people[both], remaining[both])
        basis = Basis(
            int(cast.sum()), "ratings", TIE_EQUALS_TIE, int(units.people[~both].sum()), NO_VOTES_OF_BOTH_JURIES
        )
        rows = np.stack([gap, cast], axis=1)
        difference = mean_estimate(rows, instance[both], basis, filters.intervals, floor=-1.0)
        results.append(
            {"member": name, "difference": difference, "changes": int((of_all[both] != remaining[both]).sum())}
        )
    return results


def _equal(people: FloatArray, verdict: FloatArray) -> FloatArray:
    """(n,) people's votes that are the verdict."""
    equal_votes: FloatArray = np.where(verdict[:, np.newaxis] == VALUES, people, 0.0).sum(axis=1)
    return equal_votes
