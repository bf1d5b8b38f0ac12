"""Form fields of judging."""

import json
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _


class ParametersField(forms.CharField):
    """Lines of key=value; a value is parsed as JSON where possible, else it is text."""

    widget = forms.Textarea(attrs={"rows": 3, "spellcheck": "false"})

    def clean(self, value: Any) -> dict[str, Any]:
        """Parse the lines into a dictionary."""
        found: dict[str, Any] = {}
        for line in filter(str.strip, super().clean(value).splitlines()):
            key, equals, text = (part.strip() for part in line.partition("="))
            if not key or not equals:
                raise forms.ValidationError(
                    _("Write key=value on each line; this is none: %(line)s"), params={"line": line}
                )
            if key in found:
                raise forms.ValidationError(_("%(key)s is there twice."), params={"key": key})
            found[key] = _value(text)
        return found


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except ValueError:
        return text


def _refuse_constant(name: str) -> None:
    # Neither JSON nor accepted by endpoints.
    raise forms.ValidationError(_("%(name)s is not a value that can be sent."), params={"name": name})
