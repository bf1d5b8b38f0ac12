"""Numbers with what they count."""

import re

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
