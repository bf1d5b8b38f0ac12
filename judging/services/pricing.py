"""What calls cost, by the prices that a site admin gave an endpoint. What isn't known is `None`, never 0."""

from collections.abc import Iterable
from decimal import Decimal

from judging.models import Endpoint

MILLION = Decimal(1_000_000)
PLACES = Decimal("0.00000001")  # as a completion stores its cost


def cost_of(
    endpoint: Endpoint, prompt_tokens: int | None, completion_tokens: int | None, *, batch: bool = False
) -> Decimal | None:
    """Return what tokens cost at an endpoint, in its currency; `None` where a price or a count is unknown.

    batch : they went through the provider's Batch API, where `batch_discount` is the share that is paid
    """
    parts = (price_of(prompt_tokens, endpoint.price_prompt), price_of(completion_tokens, endpoint.price_completion))
    if parts[0] is None or parts[1] is None:
        return None
    share = Decimal(str(endpoint.batch_discount)) if batch else Decimal(1)
    return ((parts[0] + parts[1]) * share).quantize(PLACES)


def price_of(tokens: int | None, per_million: Decimal | None) -> Decimal | None:
    """Return what some tokens cost; where a million costs nothing, any number does."""
    if per_million is None:
        return None
    if per_million == 0:
        return Decimal(0)
    return None if tokens is None else tokens * Decimal(per_million) / MILLION


def total_cost(costs: Iterable[Decimal | None]) -> Decimal | None:
    """Add costs up; `None` as soon as one of them is unknown: a part of the sum would look like the sum."""
    total = Decimal(0)
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total


def money(cost: Decimal | None, currency: str) -> str:
    """Write a sum of money; of a small one, its first two digits that aren't 0."""
    if cost is None:
        return "unknown"
    if cost and abs(cost) < Decimal("0.01"):
        places = 1 - cost.adjusted()
        return f"{cost:.{places}f} {currency}"
    return f"{cost:.{2 if not cost or abs(cost) >= 10 else 4}f} {currency}"
