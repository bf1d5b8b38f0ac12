"""The field of forms for short names, which are parts of addresses and commands."""

from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _


class ShortNameField(forms.SlugField):
    """A slug whose error says what is allowed, without the word."""

    default_error_messages: ClassVar[dict[str, Any]] = {"invalid": _("Letters, digits, dashes and underscores only.")}
