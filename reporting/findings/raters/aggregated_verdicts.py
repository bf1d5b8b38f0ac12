"""Dawid and Skene's verdicts beside people's majority, with the confusion matrix of each person."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.agreement.coefficients import VALUES
from analysis.agreement.dawid_skene import DawidSkene, dawid_skene
from analysis.types import FloatArray, IntArray
from reporting.core.estimates import number
from reporting.findings.data.inputs import ConfigurationData
from reporting.findings.pooled.vote_table import VoteTable
from reporting.findings.reasons import FEW_PEOPLE

CLASSES = ("a", "tie", "b")
MIN_PEOPLE = 3
TOLERANCE = 1e-6  # of probabilities
MOST_VOTES_IN_ALL_ROUNDS = 20_000_000  # rounds end at it, converged or not: some seconds


def aggregated_verdicts(everything: Sequence[ConfigurationData], votes: VoteTable) -> dict[str, Any]:
    """Return Dawid and Skene's verdicts of all people together. Each configuration has a prevalence of its own.

    A person's confusion matrix holds in all configurations: rows are true classes, columns what the person gave.
    """
    counts = votes.class_counts
    sizes = counts.sum(axis=1)
    totals = {"pairs": int(votes.is_rated.sum()), "pairs_with_three_votes": int((sizes >= MIN_PEOPLE).sum())}
    if not totals["pairs_with_three_votes"]:
        return {**totals, "configurations": None, "people": None, **FEW_PEOPLE.as_json()}
    rounds = max(20, min(1000, MOST_VOTES_IN_ALL_ROUNDS // len(votes.person)))
    estimates = dawid_skene(votes.votes, group=votes.configuration, max_iterations=rounds, tolerance=TOLERANCE)
    majority = _majority(counts)
    prevalence = np.full((len(everything), 3), np.nan)  # the last configurations may have no votes
    prevalence[: len(estimates.prevalence)] = estimates.prevalence
    return {
        **totals,
        "iterations": estimates.iterations,
        "converged": estimates.converged,
        "configurations": [
            _configuration(
                data, estimates, majority, votes.is_rated & (votes.configuration == index), prevalence[index]
            )
            for index, data in enumerate(everything)
        ],
        "people": _people(estimates, votes),
    }


def _majority(counts: IntArray) -> FloatArray:
    """Return the verdict of most people per unit, as `analysis.agreement.coefficients.majority`, or NaN where the first place is shared."""
    highest = counts.max(axis=1, keepdims=True)
    alone = (counts == highest).sum(axis=1) == 1
    return np.where(alone, VALUES[counts.argmax(axis=1)], np.nan)


def _configuration(
    data: ConfigurationData, estimates: DawidSkene, majority: FloatArray, is_in: np.ndarray, prevalence: FloatArray
) -> dict[str, Any]:
    verdict, by_most = estimates.verdict[is_in], majority[is_in]
    both = ~np.isnan(verdict) & ~np.isnan(by_most)
    return {
        "dataset": data.dataset,
        "system_a": data.systems[0],
        "system_b": data.systems[1],
        "pairs": int(is_in.sum()),
        "prevalence": dict(zip(CLASSES, map(number, prevalence.tolist()), strict=True)),
        "verdicts": _counted(verdict),
        "majority": _counted(by_most),
        "differs": int((verdict[both] != by_most[both]).sum()),
        "differs_of": int(both.sum()),
    }


def _counted(verdicts: FloatArray) -> dict[str, int]:
    counted = {name: int((verdicts == value).sum()) for name, value in zip(CLASSES, VALUES, strict=True)}
    return {**counted, "shared": int(np.isnan(verdicts).sum())}


def _people(estimates: DawidSkene, votes: VoteTable) -> list[dict[str, Any]]:
    """Return each person's matrix. A row with next to no pair of its class behind it is `null`."""
    n = len(votes.people)
    rated = np.stack(
        [np.bincount(votes.person, weights=column[votes.unit], minlength=n) for column in estimates.posterior.T], axis=1
    )
    right = (np.diagonal(estimates.confusion, axis1=1, axis2=2) * rated).sum(axis=1)
    ratings = np.bincount(votes.person, minlength=n)
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
        for person, code in enumerate(votes.people)
        if ratings[person]
    ]
