"""Numbers and times in the cells of a file; None for anything else."""

import math
from datetime import datetime

from django.utils.dateparse import parse_datetime


def parse_number(cell: str, *, least: float = -math.inf, most: float = math.inf) -> float | None:
    """Parse a finite number between `least` and `most`."""
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) and least <= number <= most else None


def parse_time(cell: str) -> datetime | None:
    """Parse an ISO 8601 time with a UTC offset."""
    try:
        time = parse_datetime(cell)
    except ValueError:
        return None
    return time if time is not None and time.tzinfo is not None else None
