"""The budget of a run: what remains of it, and its message."""

from decimal import Decimal

import pytest

from judging.calls.budget import Budget, CallSizes
from judging.calls.requests import Request
from judging.jobs.leases import HeartbeatReply
from judging.models import Endpoint


@pytest.mark.parametrize(("granted", "fits"), [(Decimal("0.6"), True), (Decimal("0.4"), False)])
def test_budget_counts_what_was_stored_since_and_names_what_it_lacks(granted: Decimal, fits: bool) -> None:
    endpoint = Endpoint(price_prompt=Decimal(0), price_completion=Decimal(10_000))
    one, other = (Request(key, {"max_tokens": 50}, 0, "verdict", 100, "") for key in "ab")  # 0.5 each at most
    budget = Budget(endpoint, CallSizes())
    budget.set(HeartbeatReply("running", reserved=granted, cap=Decimal(2), spent=Decimal(1)))
    assert (budget.reserve(one), budget.needed) == (fits, Decimal(0) if fits else Decimal("0.5"))
    if fits:
        assert (budget.reserve(other), budget.needed) == (False, 0)  # the first may leave something
        budget.settle(one.key, Decimal("0.2"))
        budget.store(one.key)
        assert (budget.spent, budget.needed) == (Decimal("1.2"), Decimal("0.5"))
