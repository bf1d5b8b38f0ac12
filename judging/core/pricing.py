"""Costs of calls by an endpoint's prices. An unknown cost is `None`, never 0."""

from collections.abc import Iterable
from decimal import Decimal

from judging.core.errors import BadSettings
from judging.models import Endpoint

MILLION = Decimal(1_000_000)
PLACES = Decimal("0.00000001")  # as a completion stores its cost
CAPS_BELOW = 1_000_000  # what is larger can't be stored


def cost_of(
    endpoint: Endpoint,
    prompt_tokens: int | None,
    completion_tokens: int | None,
    *,
    cached_tokens: int = 0,
    batch: bool = False,
) -> Decimal | None:
    """Return the cost of tokens in the endpoint's currency, or `None` where a price or a count is unknown.

    cached_tokens : of the prompt, from the endpoint's cache of prefixes, at the share `cached_discount` of the price
    batch : sent through the provider's Batch API, at the share `batch_discount` of the price
    """
    parts = (price_of(prompt_tokens, endpoint.price_prompt), price_of(completion_tokens, endpoint.price_completion))
    if parts[0] is None or parts[1] is None:
        return None
    share = Decimal(str(endpoint.batch_discount)) if batch else Decimal(1)
    cached = price_of(min(cached_tokens, prompt_tokens or 0), endpoint.price_prompt) or Decimal(0)
    saved = cached * (1 - Decimal(str(endpoint.cached_discount)))
    return ((parts[0] - saved + parts[1]) * share).quantize(PLACES)


def billed_cost(endpoint: Endpoint, billed: Decimal | None) -> Decimal | None:
    """Return the price that an endpoint reported for a call, in US dollars, or `None` where it can't be added to its costs."""
    return billed if endpoint.currency == "USD" else None


def price_of(tokens: int | None, per_million: Decimal | None) -> Decimal | None:
    """Return the cost of tokens. At a price of 0 an unknown count costs 0 too."""
    if per_million is None:
        return None
    if per_million == 0:
        return Decimal(0)
    return None if tokens is None else tokens * Decimal(per_million) / MILLION


def check_cap(max_cost: Decimal | None, *endpoints: Endpoint | None) -> None:
    """Refuse a cap on costs that can't be enforced. Without an endpoint nothing costs.

    Raises: BadSettings
    """
    if max_cost is None:
        return
    if not max_cost.is_finite() or not 0 <= max_cost < CAPS_BELOW:
        raise BadSettings(f"the cap on the cost must be a sum of money below {CAPS_BELOW:,}, got {max_cost}")
    for endpoint in filter(None, endpoints):
        if None in (endpoint.price_prompt, endpoint.price_completion):
            raise BadSettings(
                f"the cost can't be capped: the prices of endpoint {endpoint} are unknown; a site admin can enter them"
            )


def total_cost(costs: Iterable[Decimal | None]) -> Decimal | None:
    """Add costs up, or `None` if one of them is unknown, since a partial sum would pass for the total."""
    total = Decimal(0)
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total


def is_above(total: Decimal | None, cap: Decimal | None) -> bool:
    """Tell whether an expected cost exceeds a cap, or False where either is unknown (templates pass an empty text)."""
    return isinstance(total, Decimal) and isinstance(cap, Decimal) and total > cap


def cost_line(cost: Decimal | None, currency: str, *, total: Decimal | None, cap: Decimal | None) -> str:
    """Write an expected cost as a line of text, with a warning if the total exceeds the cap.

    total : the cost including what was spent before
    """
    if cost is None:
        return f"cost: {money(None, currency)}; the endpoint has no prices"
    warning = f"; this exceeds the cap of {money(cap, currency)}, so it would stop early"
    return f"cost: about {money(cost, currency)}{warning if is_above(total, cap) else ''}"


def money(cost: Decimal | None, currency: str) -> str:
    """Format a sum of money, small ones with two significant digits."""
    if cost is None:
        return "unknown"
    if cost and abs(cost) < Decimal("0.01"):
        decimals = 1 - cost.adjusted()
        return f"{cost:.{decimals}f} {currency}"
    return f"{cost:.{2 if not cost or abs(cost) >= 10 else 4}f} {currency}"
