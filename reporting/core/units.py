"""Numbers with what they count; thousands are not set apart, as in the tables beside them."""

from annotation.core.counting import unit_of


def counted(number: int, of: str) -> str:
    """Write a number with its unit, as the JSON names it."""
    return f"{number} {unit_of(number, of)}"
