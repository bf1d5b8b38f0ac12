"""Reasons as codes with values; their English text is made when they are shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Reason:
    """Why something has no value, or no interval.

    template : the text, in which {name} stands for a value
    """

    code: str
    template: str
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def with_values(self, **values: object) -> "Reason":
        """Return the reason with the values that its text names."""
        return replace(self, values=values)

    @property
    def text(self) -> str:
        """The sentence in English."""
        return self.template.format(**self.values)

    def as_json(self) -> dict[str, str]:
        """Return the text and the code, as they stand beside a missing value."""
        return {"why": self.text, "why_code": self.code}


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
