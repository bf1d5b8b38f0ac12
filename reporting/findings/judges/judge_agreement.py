"""How often judges give the same verdict on a pair, together and by two."""

from collections.abc import Collection
from itertools import combinations
from typing import Any

import numpy as np

from analysis.intervals.bootstrap import mean_rows
from reporting.core.estimates import Basis, IntervalSettings, share_estimate
from reporting.findings.measures.agreement import TIE_EQUALS_TIE
from reporting.findings.pooled.agreement import agreement_of_counts
from reporting.findings.pooled.vote_table import VoteTable
from reporting.findings.reasons import NO_TWO_JUDGES, NOT_BOTH_JUDGES


def judge_agreement(
    votes: VoteTable,
    juries: Collection[str],
    baselines: Collection[str],
    settings: IntervalSettings,
) -> dict[str, Any]:
    """Return raw agreement and Krippendorff's alpha of judges `together`, with or without people, and the share of every two.

    Juries, whose verdicts are made of other judges', are left out; baselines too of those together, where there are models.
    `pairs` have verdicts of two or more of these, and on `different` of them they differ.
    """
    instance, named = votes.instance, {name.removeprefix("judge:"): own for name, own in votes.judges.items()}
    names = [name for name in named if name not in juries]
    table = np.array([named[name] for name in names]).reshape(len(names), len(instance)).T
    models = [name for name in names if name not in baselines]
    together = table[:, [names.index(name) for name in models or names]]
    counts = np.stack([(together == value).sum(axis=1) for value in (-1, 0, 1)], axis=1).astype(np.float64)
    shared = counts.sum(axis=1) > 1
    return {
        **agreement_of_counts(counts, instance, settings, of="pairs of verdicts", why=NO_TWO_JUDGES),
        "together": models or names,
        "pairs": int(shared.sum()),
        "different": int((shared & (counts.max(axis=1) < counts.sum(axis=1))).sum()),
        "judges": [
            {
                "judge_a": names[one],
                "judge_b": names[other],
                "agreement": _of_two(table[:, one], table[:, other], instance, settings),
            }
            for one, other in combinations(range(len(names)), 2)
        ],
    }


def _of_two(one: np.ndarray, other: np.ndarray, instance: np.ndarray, settings: IntervalSettings) -> dict[str, Any]:
    both = ~np.isnan(one) & ~np.isnan(other)
    n = int(both.sum())
    alone = int((~np.isnan(one) | ~np.isnan(other)).sum()) - n
    equal = mean_rows((one[both] == other[both]).astype(np.float64))
    return share_estimate(equal, instance[both], Basis(n, "pairs", TIE_EQUALS_TIE, alone, NOT_BOTH_JUDGES), settings)
