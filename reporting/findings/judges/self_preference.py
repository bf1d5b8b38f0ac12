"""Does a judge prefer texts of its own model's family more than people do."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.intervals.bootstrap import mean_rows, ratio
from analysis.types import FloatArray
from annotation.core.reasons import Reason
from reporting.core.estimates import Basis, mean_estimate
from reporting.findings.data.inputs import ConfigurationData, Filters
from reporting.findings.pooled.vote_table import VoteTable
from reporting.findings.reasons import NO_COMMON_PAIR, NO_FAMILY, NO_PAIR_OF_FAMILY, NO_SYSTEM_FAMILY

TIE_IS_HALF = "a tie is half a win"


def self_preference(
    everything: Sequence[ConfigurationData], votes: VoteTable, filters: Filters
) -> list[dict[str, Any]]:
    """Return per judge the win share of its family's systems with it, with people on the same pairs, and the difference."""
    families = {one.rater.name: one.family for data in everything for one in data.judges}
    return [
        {
            "judge": name.removeprefix("judge:"),
            "rater": name,
            **_judge(families.get(name, ""), name, everything, votes, filters),
        }
        for name in votes.judges
    ]


def _judge(
    family: str, name: str, everything: Sequence[ConfigurationData], votes: VoteTable, filters: Filters
) -> dict[str, Any]:
    side = np.array([_side(data, family) for data in everything], dtype=np.float64)
    own = np.where(votes.is_rated, side[votes.configuration], 0.0) if len(side) else np.empty(0)
    judge = _share(own * votes.judges[name])
    given = votes.votes
    wins = np.bincount(given.unit, _share(own[given.unit] * given.verdict), given.n_units)
    people = ratio(np.stack([wins, votes.class_counts.sum(axis=1)], axis=1))
    chosen = (own != 0) & ~np.isnan(judge)
    n = int(chosen.sum())
    basis = Basis(n, "pairs", TIE_IS_HALF, int((own != 0).sum()) - n, _why(family, everything, side))
    instance = votes.instance[chosen]

    def estimate(values: FloatArray, floor: float) -> dict[str, Any]:
        return mean_estimate(mean_rows(values[chosen]), instance, basis, filters.intervals, floor=floor)

    return {
        "family": family,
        "configurations": len(np.unique(votes.configuration[chosen])),
        "with_judge": estimate(judge, 0.0),
        "with_people": estimate(people, 0.0),
        "difference": estimate(judge - people, -1.0),
        **({} if n else basis.why.as_json()),
    }


def _side(data: ConfigurationData, family: str) -> int:
    """Return -1 where A alone is of the family, +1 where B alone is, else 0."""
    a, b = (_same(system.family, family) for system in (data.configuration.system_a, data.configuration.system_b))
    return int(b) - int(a)


def _same(one: str, other: str) -> bool:
    return bool(one.strip()) and one.strip().casefold() == other.strip().casefold()


def _share(towards: FloatArray) -> FloatArray:
    return (1 + towards) / 2


def _why(family: str, everything: Sequence[ConfigurationData], side: FloatArray) -> Reason:
    if not family.strip():
        return NO_FAMILY
    named = [data.configuration for data in everything]
    if not any(system.family.strip() for one in named for system in (one.system_a, one.system_b)):
        return NO_SYSTEM_FAMILY
    return NO_COMMON_PAIR if side.any() else NO_PAIR_OF_FAMILY
