"""Sums of money as a database hands them back."""

from decimal import Decimal
from typing import overload

CENT = Decimal("0.01")


@overload
def to_cents(amount: Decimal) -> Decimal: ...
@overload
def to_cents(amount: None) -> None: ...
def to_cents(amount: Decimal | None) -> Decimal | None:
    """Give a sum its two places again, which SQLite drops; None stays None: no pay was named."""
    return None if amount is None else amount.quantize(CENT)
