"""Numbers with what they count; thousands are not set apart, as in the tables beside them."""

from annotation.core.units import UNITS


def counted(number: int, of: str) -> str:
    """Write a number with its unit, as the JSON names it; a unit without a singular stays as it is."""
    return UNITS[of] % {"count": number, "number": number} if of in UNITS else f"{number} {of}"
