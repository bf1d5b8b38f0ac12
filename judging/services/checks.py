"""What adding endpoints and judges has in common: the same thing twice is fine, another under a used name is not."""

from collections.abc import Mapping

from django.db.models import Model

from judging.errors import BadSettings


def require_same(what: str, existing: Model, wanted: Mapping[str, object]) -> None:
    """Refuse settings that differ from those stored under the same name.

    Raises: BadSettings listing each difference.
    """
    differences = [
        f"{field} is {getattr(existing, field)!s}, not {value!s}"
        for field, value in wanted.items()
        if getattr(existing, field) != value
    ]
    if differences:
        raise BadSettings(f"{what} exists with other settings: {'; '.join(differences)}; choose another name")
