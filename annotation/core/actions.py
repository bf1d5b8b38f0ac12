"""Settings of what a user creates or starts, declared once as a Django form.

A page shows the form. The API and a command fill the same form, so all three refuse a value in the same words.
"""

import sys
from collections.abc import Mapping
from typing import Any, TypeVar

from django import forms
from django.db import models

from annotation.core.errors import BadFields

F = TypeVar("F", bound=forms.BaseForm)


class TextsField(forms.CharField):
    """Several texts: one a line on a page, a list in a request.

    longest : characters of one text
    exactly : how many there must be, if any
    """

    widget = forms.Textarea(attrs={"rows": 3, "spellcheck": "false"})

    def __init__(self, *, longest: int = 200, exactly: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.longest, self.exactly = longest, exactly

    def to_python(self, value: Any) -> Any:
        """Return the distinct texts in their order."""
        texts = value if isinstance(value, list | tuple) else str(value or "").splitlines()
        return list(dict.fromkeys(text for row in texts if (text := str(row).strip())))

    def run_validators(self, value: list[str]) -> None:
        """Check each text, such as for NUL characters."""
        for text in value:
            super().run_validators(text)

    def validate(self, value: list[str]) -> None:
        """Refuse another number of texts, and long ones."""
        super().validate(value)
        if value and self.exactly not in (None, len(value)):
            raise forms.ValidationError(f"Give {self.exactly} different ones.", code="count")
        if any(len(text) > self.longest for text in value):
            raise forms.ValidationError(f"At most {self.longest} characters each.", code="max_length")


class EitherField(forms.TypedChoiceField):
    """Yes or no: two named choices on a page, true or false in a request, and a flag of a command."""

    json_shape = bool

    def __init__(self, *, no: str, yes: str, **kwargs: Any) -> None:
        super().__init__(choices=[("False", no), ("True", yes)], coerce=lambda text: text == "True", **kwargs)
        self.meanings = f"false: {no}; true: {yes}"

    def to_python(self, value: Any) -> Any:
        return super().to_python(str(value).capitalize() if value in (True, False, "true", "false") else value)


def stored(model: type[models.Model], name: str, **changes: Any) -> forms.Field:
    """Return the form field of a model's field, with its label, help, choices and default."""
    field: Any = model._meta.get_field(name)
    form_field: forms.Field = field.formfield(**changes)
    return form_field


def json_shape(field: forms.Field) -> type:
    """Return the JSON type of a field's value: `bool`, `list`, `dict`, `object` for any, or `str`, also for numbers."""
    if isinstance(field, forms.BooleanField):
        return bool
    if isinstance(field, TextsField | forms.MultipleChoiceField | forms.ModelMultipleChoiceField):
        return list
    return getattr(field, "json_shape", str)


def type_problem(field: forms.Field | None, value: Any) -> str:
    """Return why a value can't be a field's by its JSON type, or an empty text."""
    if field is None:
        return "Unknown field."
    shape = json_shape(field)
    if value is None:
        return "" if not field.required else str(field.error_messages["required"])
    if shape is bool:
        return "" if isinstance(value, bool) or value in ("true", "false") else "This must be true or false."
    if shape is str and _is_scalar(value):
        is_too_large = isinstance(value, int) and abs(value) > sys.float_info.max  # which `float` does not take
        return "This number is too large." if is_too_large else ""
    if shape is str:
        return "This must be a text or a number."
    if shape is dict:
        return "" if isinstance(value, dict) else "This must be an object."
    if shape is list and not (isinstance(value, list) and all(map(_is_scalar, value))):
        return "This must be a list of texts or numbers."
    return ""


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def static_choices(field: Any) -> list[str]:
    """Return the values of a field's choices where they are the same for all studies."""
    if isinstance(field, forms.ModelChoiceField):
        return []
    return [str(value) for value, _label in getattr(field, "choices", ()) if value != ""]


def described(field: forms.Field) -> str:
    """Return a field's label and help as one text, for API schemas and the help of commands."""
    parts = str(field.label or ""), getattr(field, "meanings", ""), str(field.help_text)
    return ". ".join(part for part in parts if part).replace("?. ", "? ")


def filled(form: type[F], values: Mapping[str, Any], **context: Any) -> F:
    """Return a valid form with values by name. A field that has none takes its initial value.

    context : further arguments of the form
    Raises: BadFields.
    """
    blank = form(**context)
    data = {
        name: values[name] if name in values else blank.get_initial_for_field(field, name)
        for name, field in blank.fields.items()
    }
    bound = form(data, **context)
    checked(bound)
    return bound


def checked(form: forms.BaseForm) -> dict[str, Any]:
    """Return a form's clean values.

    Raises: BadFields.
    """
    if not form.is_valid():
        problems = form.errors.get_json_data()
        raise BadFields(
            {name: [error["message"] for error in errors] for name, errors in problems.items()},
            {name: [error["code"] for error in errors] for name, errors in problems.items()},
        )
    return form.cleaned_data
