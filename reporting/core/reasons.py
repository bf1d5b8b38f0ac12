"""Reasons why several rooms have no value, or no interval."""

from annotation.core.reasons import Reason

NOTHING_TO_MEASURE = Reason("nothing_to_measure", "nothing to measure yet")
TOO_FEW = Reason("too_few", "no interval: fewer than {least} {of}")
NO_SPREAD = Reason("no_spread", "no interval: all instances are alike, or without one of them there is no value")
NO_ROUNDS = Reason("no_rounds", "no interval: no resample of the instances has a value")
BEING_COMPUTED = Reason("being_computed", "no interval yet: it is being computed")
ALL_TIES = Reason("all_ties", "no verdict but ties")
NO_ORDER = Reason("no_order", "a jury's verdicts are on pairs, which have no order")
UNKNOWN_ORDER = Reason("unknown_order", "it is not known which text was shown first")
FEW_WORDINGS = Reason("few_wordings", "fewer than two wordings have it")
NOT_BOTH_ORDERS = Reason("not_both_orders", "no pair was asked in both orders")
FEW_COMPLETE_SETS = Reason(
    "few_complete_sets", "fewer than {least} sets of {k} texts with a preference between each two"
)
