"""Checks of different settings under a used name."""

from collections.abc import Collection, Mapping

from django.db.models import Model

from judging.core.errors import BadSettings


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
