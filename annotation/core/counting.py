"""Numbers in texts: with what they count, as percent, as money."""

import re
from decimal import Decimal
from typing import overload

_PLURAL_END = re.compile(r"s(?= (?:of|with|beside|for|on|that)\b|$)")


def number_of(count: int, noun: str) -> str:
    """Write a number with its noun, which is given in the singular and forms its plural with an s."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def counted(number: int, of: str) -> str:
    """Write a number with its unit, given in the plural, as the findings' JSON names it."""
    return f"{number:,} {unit_of(number, of)}"


def unit_of(number: int, of: str) -> str:
    """Return a unit, given in the plural, as it stands beside a number."""
    return _PLURAL_END.sub("", of, count=1).replace("that are no ties", "that is no tie") if number == 1 else of


def rounded_up(number: int) -> int:
    """Return a planned number for a sentence: its first two digits, rounded up."""
    unit: int = 10 ** max(len(str(number)) - 2, 0)
    return -(-number // unit) * unit


CENT = Decimal("0.01")


@overload
def to_cents(amount: Decimal) -> Decimal: ...
@overload
def to_cents(amount: None) -> None: ...
def to_cents(amount: Decimal | None) -> Decimal | None:
    """Restore the two decimal places, which SQLite drops, or None stays None."""
    return None if amount is None else amount.quantize(CENT)


def percent(share: float | None, decimals: int = 1) -> str:
    """Write a share in rounded percent, or a dash for an undefined one."""
    return "–" if share is None else f"{100 * share:z.{decimals}f}%"
