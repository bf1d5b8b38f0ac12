"""The field of forms for short names, which are parts of addresses and commands."""

from typing import Any, ClassVar

from django import forms
from django.db.models import Model


class ShortNameField(forms.SlugField):
    """A slug field whose error says what is allowed and avoids the word "slug"."""

    default_error_messages: ClassVar[dict[str, Any]] = {"invalid": "Letters, digits, dashes and underscores only."}


def short_name_problem(model: type[Model], field: str, name: str) -> str | None:
    """Return why a new row can't have a short name that differs from another's by case only, or None."""
    rows = model._default_manager.filter(**{f"{field}__iexact": name}).exclude(**{field: name})
    existing = rows.values_list(field, flat=True).first()
    return existing and f"{name} differs from the existing {existing} by case only; choose another short name"
