"""How far people agree with one another over all configurations."""

from functools import partial
from typing import Any

import numpy as np

from analysis.agreement.coefficients import agreement_sums_of_counts, alpha_from_coincidences, coincidences_of_counts
from analysis.intervals.bootstrap import cluster_sums
from analysis.types import FloatArray, IntArray
from annotation.core.reasons import Reason
from reporting.core.estimates import Basis, IntervalSettings, share_estimate, statistic_estimate
from reporting.findings.measures.agreement import LEVELS, TIE_EQUALS_TIE, TIE_IN_ALPHA
from reporting.findings.pooled.vote_table import VoteTable
from reporting.findings.reasons import NO_COMMON_VOTES, NO_VARIATION


def people_agreement(votes: VoteTable, settings: IntervalSettings) -> dict[str, Any]:
    """Return raw agreement and Krippendorff's alpha over the pairs of all configurations, A and B as each has them."""
    return agreement_of_counts(votes.class_counts.astype(np.float64), votes.instance, settings)


def agreement_of_counts(
    counts: FloatArray,
    instance: IntArray,
    settings: IntervalSettings,
    *,
    of: str = "pairs of ratings",
    why: Reason = NO_COMMON_VOTES,
) -> dict[str, Any]:
    """Return raw agreement and Krippendorff's alpha.

    counts   : (n_units, 3) votes for -1, 0, +1
    instance : (n_units,) codes
    of, why  : what raw agreement counts, and the reason where there is none
    """
    total = counts.sum(axis=1)
    shared, alone = total > 1, int((total == 1).sum())
    counts, instance = counts[shared], instance[shared]
    pairs = agreement_sums_of_counts(counts)
    sums = cluster_sums(coincidences_of_counts(counts), instance)
    rated = Basis(int(pairs[:, 1].sum()), of, TIE_EQUALS_TIE, alone, why)
    return {
        "raw_agreement": share_estimate(pairs, instance, rated, settings),
        "krippendorff_alpha": {
            level: statistic_estimate(
                sums,
                partial(alpha_from_coincidences, level=level),
                Basis(len(counts), "pairs with two or more ratings", TIE_IN_ALPHA[level], alone, NO_VARIATION),
                settings,
                ceiling=1.0,
            )
            for level in LEVELS
        },
    }
