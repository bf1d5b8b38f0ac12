"""What adding endpoints and judges has in common: the same thing twice is fine, another under a used name is not."""

from collections.abc import Collection, Mapping

from django.db.models import Model

from judging.errors import BadSettings


def require_same(what: str, existing: Model, wanted: Mapping[str, object]) -> None:
    """Refuse settings that differ from those stored under the same name.

    Raises: BadSettings listing each difference.
    """
    if found := differences(existing, wanted):
        raise BadSettings(f"{what} exists with other settings: {'; '.join(found)}; choose another name")


def differences(existing: Model, wanted: Mapping[str, object], *, hidden: Collection[str] = ()) -> list[str]:
    """Say in which fields a stored row is not as wanted; of the hidden ones without their values."""
    return [
        f"{field} are others" if field in hidden else f"{field} is {getattr(existing, field)!s}, not {value!s}"
        for field, value in wanted.items()
        if getattr(existing, field) != value
    ]
