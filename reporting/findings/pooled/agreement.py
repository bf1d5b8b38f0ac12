"""How far people agree with one another over all configurations."""

from functools import partial
from typing import Any

import numpy as np

from analysis.agreement import agreement_sums_of_counts, alpha_from_coincidences, coincidences_of_counts
from analysis.bootstrap import cluster_sums
from reporting.core.estimates import Basis, IntervalSettings, share_estimate, statistic_estimate
from reporting.findings.measures.agreement import LEVELS, NO_COMMON_VOTES, NO_VARIATION, TIE_EQUALS_TIE, TIE_IN_ALPHA
from reporting.findings.pooled.people_votes import PeopleVotes


def people_agreement(votes: PeopleVotes, settings: IntervalSettings) -> dict[str, Any]:
    """Return raw agreement and Krippendorff's alpha over the pairs of all configurations, A and B as each has them."""
    counts = votes.class_counts.astype(np.float64)
    total = counts.sum(axis=1)
    shared, alone = total > 1, int((total == 1).sum())
    counts, instance = counts[shared], votes.unit_instance[shared]
    pairs = agreement_sums_of_counts(counts)
    sums = cluster_sums(coincidences_of_counts(counts), instance)
    rated = Basis(int(pairs[:, 1].sum()), "pairs of ratings", TIE_EQUALS_TIE, alone, NO_COMMON_VOTES)
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
