"""Checks of settings: bounds of asking; adding the same again is allowed, other settings under a used name are not."""

from collections.abc import Collection, Mapping

from django.db.models import Model

from judging.core.constants import MAX_IN_FLIGHT, MOST_SEED
from judging.core.errors import BadSettings


def check_in_flight(in_flight: int | None) -> None:
    """Refuse a number of calls in flight that no run has; `None`: as before.

    Raises: BadSettings
    """
    if in_flight is not None and not 1 <= in_flight <= MAX_IN_FLIGHT:
        raise BadSettings(f"calls in flight must be between 1 and {MAX_IN_FLIGHT}, got {in_flight}")


def check_seed(seed: int) -> None:
    """Refuse a seed that can't be drawn from or stored.

    Raises: BadSettings
    """
    if not 0 <= seed <= MOST_SEED:
        raise BadSettings(f"the seed must be from 0 to {MOST_SEED:,}, got {seed}")


def require_same(what: str, existing: Model, wanted: Mapping[str, object]) -> None:
    """Refuse settings that differ from those stored under the same name.

    Raises: BadSettings listing each difference.
    """
    if found := differences(existing, wanted):
        raise BadSettings(f"{what} exists with other settings: {'; '.join(found)}; choose another name")


def differences(existing: Model, wanted: Mapping[str, object], *, hidden: Collection[str] = ()) -> list[str]:
    """Describe the fields in which a stored row differs; without the values of the `hidden` ones."""
    return [
        f"{field} are others" if field in hidden else f"{field} is {getattr(existing, field)!s}, not {value!s}"
        for field, value in wanted.items()
        if getattr(existing, field) != value
    ]
