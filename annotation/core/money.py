"""Amounts of money as read from the database."""

from decimal import Decimal
from typing import overload

CENT = Decimal("0.01")


@overload
def to_cents(amount: Decimal) -> Decimal: ...
@overload
def to_cents(amount: None) -> None: ...
def to_cents(amount: Decimal | None) -> Decimal | None:
    """Restore the two decimal places, which SQLite drops, or None stays None."""
    return None if amount is None else amount.quantize(CENT)
