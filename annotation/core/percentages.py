"""How a share is written in percent, on pages and in texts: 52.5%, in German 52,5 %."""

from django.utils.formats import number_format


def percent(share: float | None, places: int = 1) -> str:
    """Write a share in percent, rounded; an undefined one as a dash."""
    if share is None:
        return "–"
    # Django's formatting cuts further decimals off instead of rounding.
    return "{number}%".format(number=number_format(f"{100 * share:z.{places}f}", places))
