"""Numbers with what they count, in the reader's language; thousands are not set apart, as in the tables beside them."""

from functools import lru_cache

from django.utils import translation

from annotation.core.units import UNITS
from reporting.core.words import said


def counted(number: int, of: str) -> str:
    """Write a number with its unit, as the JSON names it; a unit without a singular stays as it is."""
    return _written(number, of, translation.get_language())


@lru_cache(maxsize=4096)
def _written(number: int, of: str, _language: str | None) -> str:
    """Keep what a page with thousands of numbers asks for again and again."""
    return str(UNITS[of] % {"count": number, "number": number}) if of in UNITS else f"{number} {said(of)}"


def counted_in_english(number: int, of: str) -> str:
    """Write a number with its unit for a terminal."""
    with translation.override("en"):
        return counted(number, of)
