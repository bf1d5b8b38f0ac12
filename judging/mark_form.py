"""What a researcher says of a rationale."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from judging.services.marks import LONGEST_NOTE

SOUND, UNSOUND = "sound", "unsound"


class MarkForm(forms.Form):
    """Whether a rationale is sound, with a note if one likes."""

    sound = forms.ChoiceField(
        choices=[(SOUND, _("Sound")), (UNSOUND, _("Not sound"))],
        widget=forms.RadioSelect,
        label=_("Is the rationale sound, whatever the verdict?"),
        error_messages={"required": _("Please say whether it is sound.")},
    )
    note = forms.CharField(
        required=False, max_length=LONGEST_NOTE, widget=forms.Textarea(attrs={"rows": 2}), label=_("Note")
    )

    def clean(self) -> dict[str, Any]:
        """Hand on a truth value."""
        cleaned = super().clean() or {}
        if "sound" in cleaned:
            cleaned["sound"] = cleaned["sound"] == SOUND
        return cleaned
