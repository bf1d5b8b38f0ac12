"""Numbers in texts: with what they count, with their interval, as percent, as money; and names for a terminal."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, overload

UNDEFINED = "—"
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


def fixed(value: float, digits: int = 3, *, signed: bool = False) -> str:
    """Format a number with a fixed number of decimals and the minus sign that pictures have. 0 has no sign."""
    return f"{value:{'+' if signed else ''}z.{digits}f}".replace("-", "\N{MINUS SIGN}")


def estimate_text(estimate: dict[str, Any], digits: int = 3, unit: str = "") -> str:
    """Format an estimate as `0.384 [0.310, 0.455], n = 150 rating sets`, or with the reason for a missing one."""
    if estimate["value"] is None:
        return f"{UNDEFINED} ({estimate['why']})" if estimate["why"] else UNDEFINED
    digits = estimate.get("digits", 1 if unit else digits)
    n = ", ".join(estimate_basis(estimate))
    if estimate.get("coin") is not None:
        n += f"; a coin has {fixed(estimate['coin'], digits)}"
    why = f" ({estimate['why']})" if estimate["low"] is None and estimate.get("why") else ""
    return f"{', '.join(filter(None, [interval_text(estimate, digits, unit), n]))}{why}"


def estimate_basis(estimate: Mapping[str, Any]) -> list[str]:
    """Return what an estimate rests on: `about`, or its n, instances and clusters, and their effective number."""
    if "about" in estimate:
        return [estimate["about"]]
    parts = [f"n = {counted(estimate['n'], estimate['of'])}"]
    if estimate.get("n_instances") is not None and estimate["of"] != "instances":
        parts.append(counted(estimate["n_instances"], "instances"))
    if "n_clusters" in estimate:
        parts.append(counted(estimate["n_clusters"], "clusters"))
    if "effective_n" in estimate:
        parts.append(f"as good as {fixed(estimate['effective_n'], 1)} of equal size")
    return parts


def interval_text(value: float | Mapping[str, Any], digits: int, unit: str = "") -> str:
    """Write a number, with its interval if it has one, as `52.5% [31.4, 73.6]`. With a unit it is a share."""
    estimate = value if isinstance(value, Mapping) else {"value": value}
    ends = [estimate.get(end) for end in ("value", "low", "high")]
    number, low, high = (None if end is None else fixed(100 * end if unit else end, digits) for end in ends)
    return f"{number}{unit}" if low is None else f"{number}{unit} [{low}, {high}]"


def printable(text: str) -> str:
    """Replace control characters: names come from uploaded files, and these could drive a terminal.

    Where a text may be broken, the terminal decides.
    """
    breakable = text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{WORD JOINER}", "")
    return "".join(character if character.isprintable() else "�" for character in breakable)
