"""Judges' probabilities beside the distribution of people's votes: Brier score, its parts, and calibration."""

from typing import Any

import numpy as np

from analysis.intervals.bootstrap import ratio
from analysis.judges.calibration import BINS, calibration
from reporting.core.estimates import Basis, Estimate, IntervalSettings, mean_estimate, number
from reporting.findings.data.vote_table import VoteTable
from reporting.findings.reasons import NO_COMMON_VOTES


def judge_probabilities(votes: VoteTable, settings: IntervalSettings) -> list[dict[str, Any]]:
    """Return a row for each judge that has probabilities on pairs that people rated.

    `least` is the lowest score that probabilities of the pairs can have, since people differ on a pair.
    """
    results = []
    for name, probability in votes.probabilities.items():
        calibrated = calibration(probability, votes.class_counts)
        if not calibrated.used.any():
            continue
        instance, without = votes.instance[calibrated.used], np.isnan(probability) & ~np.isnan(votes.judges[name])

        def mean(rows: np.ndarray, instance: np.ndarray = instance, left_out: int = 0) -> Estimate:
            rule = "a tie is half a vote for each system"
            return mean_estimate(
                rows, instance, Basis(int(rows[:, 1].sum()), "ratings", rule, left_out, NO_COMMON_VOTES), settings
            )

        n, bins = calibrated.votes[:, 1], []
        for index in np.unique(calibrated.bin).tolist():
            is_in = calibrated.bin == index
            stated = float(ratio(np.stack([calibrated.stated * n, n], axis=1)[is_in].sum(axis=0)))
            edges = {"low": (BINS + index) / (2 * BINS), "high": (BINS + index + 1) / (2 * BINS)}
            bins.append({**edges, "probability": stated, "votes": mean(calibrated.votes[is_in], instance[is_in])})
        results.append(
            {
                "judge": name.removeprefix("judge:"),
                "rater": name,
                "brier": mean(calibrated.scores, left_out=int(votes.class_counts[without].sum())),
                "least": mean(calibrated.least),
                **{part: number(getattr(calibrated, part)) for part in ("reliability", "resolution", "uncertainty")},
                "bins": bins,
            }
        )
    return results
