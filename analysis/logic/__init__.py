"""Logical consistency of one rater: of its verdicts on one pair of texts, and of its preferences among several items."""

from analysis.logic.preferences import (
    commutativity,
    commutativity_sums,
    negation_invariance,
    negation_invariance_sums,
    preference_graph,
)
from analysis.logic.transitivity import (
    MAX_EXACT_ITEMS,
    acyclic_counts,
    coin_transitivity,
    complete_set_sums,
    cyclic_triples,
    transitivity,
    transitivity_curve,
)
from analysis.logic.verdicts import (
    FIRST,
    MIXED,
    SAME,
    SECOND,
    averaged_verdict,
    first_sums,
    negation_sums,
    order_sums,
    same_share,
    self_agreement_sums,
)

__all__ = [
    "FIRST",
    "MAX_EXACT_ITEMS",
    "MIXED",
    "SAME",
    "SECOND",
    "acyclic_counts",
    "averaged_verdict",
    "coin_transitivity",
    "commutativity",
    "commutativity_sums",
    "complete_set_sums",
    "cyclic_triples",
    "first_sums",
    "negation_invariance",
    "negation_invariance_sums",
    "negation_sums",
    "order_sums",
    "preference_graph",
    "same_share",
    "self_agreement_sums",
    "transitivity",
    "transitivity_curve",
]
