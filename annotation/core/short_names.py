"""The field of forms for short names, which are parts of addresses and commands."""

from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _


class ShortNameField(forms.SlugField):
    """A slug field whose error says what is allowed and avoids the word "slug"."""

    default_error_messages: ClassVar[dict[str, Any]] = {"invalid": _("Letters, digits, dashes and underscores only.")}
