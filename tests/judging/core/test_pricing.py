"""What calls cost."""

from decimal import Decimal

import pytest

from judging.core.pricing import cost_of, money, total_cost
from judging.models import Endpoint


def endpoint(prompt: str | None, completion: str | None, discount: float = 0.5) -> Endpoint:
    prices = (None if one is None else Decimal(one) for one in (prompt, completion))
    return Endpoint(name="e", price_prompt=next(prices), price_completion=next(prices), batch_discount=discount)


def test_cost_by_hand() -> None:
    # 1,200 × 0.15 / 10⁶ + 80 × 0.60 / 10⁶ = 0.00018 + 0.000048
    assert cost_of(endpoint("0.15", "0.60"), 1200, 80) == Decimal("0.000228")


def test_batch_costs_its_share() -> None:
    assert cost_of(endpoint("0.15", "0.60"), 1200, 80, batch=True) == Decimal("0.000114")
    assert cost_of(endpoint("0.15", "0.60", 0.0), 1200, 80, batch=True) == 0


def test_cached_prompt_tokens_cost_their_share() -> None:
    one = endpoint("0.15", "0.60")
    assert cost_of(one, 1200, 80, cached_tokens=1000) == Decimal("0.000228")  # all of the price, unless told
    one.cached_discount = 0.1
    # 200 × 0.15 / 10⁶ + 1,000 × 0.015 / 10⁶ + 80 × 0.60 / 10⁶ = 0.00003 + 0.000015 + 0.000048
    assert cost_of(one, 1200, 80, cached_tokens=1000) == Decimal("0.000093")
    assert cost_of(one, 1200, 80, cached_tokens=1000, batch=True) == Decimal("0.0000465")
    assert cost_of(one, 100, 0, cached_tokens=1000) == Decimal("0.0000015")  # never more than the prompt has


@pytest.mark.parametrize(
    ("prices", "tokens"),
    [
        pytest.param((None, "0.6"), (10, 10), id="no price of prompts"),
        pytest.param(("0.15", None), (10, 10), id="no price of answers"),
        pytest.param(("0.15", "0.6"), (None, 10), id="prompt not counted"),
        pytest.param(("0.15", "0.6"), (10, None), id="answer not counted"),
    ],
)
def test_what_is_not_known_is_not_free(prices: tuple[str, str], tokens: tuple[int, int]) -> None:
    assert cost_of(endpoint(*prices), *tokens) is None


def test_where_tokens_are_free_their_number_need_not_be_known() -> None:
    assert cost_of(endpoint("0", "0"), None, None) == 0
    assert cost_of(endpoint("0", "0.6"), None, 1_000_000) == Decimal("0.6")


def test_sum_with_an_unknown_part_is_unknown() -> None:
    assert total_cost([Decimal("0.1"), Decimal("0.2")]) == Decimal("0.3")
    assert total_cost([Decimal("0.1"), None]) is None
    assert total_cost([]) == 0


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        pytest.param(None, "unknown", id="unknown"),
        pytest.param(Decimal("0"), "0.00 EUR", id="free"),
        pytest.param(Decimal("0.000228"), "0.00023 EUR", id="small"),
        pytest.param(Decimal("0.0000000114"), "0.000000011 EUR", id="tiny"),
        pytest.param(Decimal("1.5"), "1.5000 EUR", id="middling"),
        pytest.param(Decimal("12.3456"), "12.35 EUR", id="large"),
    ],
)
def test_money_is_written_with_its_currency(cost: Decimal | None, text: str) -> None:
    assert money(cost, "EUR") == text
