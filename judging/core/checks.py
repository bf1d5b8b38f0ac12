"""Checks of settings: bounds of calls, and different settings under a used name."""

from collections.abc import Collection, Mapping

from django.db.models import Model

from judging.core.constants import MAX_IN_FLIGHT, MOST_SEED
from judging.core.errors import BadSettings


def check_in_flight(in_flight: int | None) -> None:
    """Refuse an invalid number of calls in flight. `None` keeps the present one.

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


def require_same(subject: str, existing: Model, fields: Mapping[str, object]) -> None:
    """Refuse settings that differ from those stored under the same name.

    Raises: BadSettings listing each difference.
    """
    if changed := differences(existing, fields):
        raise BadSettings(f"{subject} exists with other settings: {'; '.join(changed)}; choose another name")


def differences(existing: Model, fields: Mapping[str, object], *, hidden: Collection[str] = ()) -> list[str]:
    """Describe the fields in which a stored row differs, without the values of the `hidden` ones."""
    return [
        f"{field} differ" if field in hidden else f"{field} is {getattr(existing, field)!s}, not {value!s}"
        for field, value in fields.items()
        if getattr(existing, field) != value
    ]
