"""Forms with which a study admin steers raters."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.services.exclusion import LONGEST_REASON
from annotation.services.messages import LONGEST_MESSAGE


class MessageForm(forms.Form):
    """A line to raters."""

    text = forms.CharField(
        max_length=LONGEST_MESSAGE,
        label=_("Message"),
        help_text=_("Plain text. Name no system and no other rater in it."),
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
    )


class ReasonForm(forms.Form):
    """Why something is decided."""

    reason = forms.CharField(
        max_length=LONGEST_REASON,
        label=_("Reason"),
        help_text=_("Kept in the study's log."),
        widget=forms.TextInput(attrs={"dir": "auto"}),
    )


class OptionalReasonForm(ReasonForm):
    """Why something is decided, if there is anything to say."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].required = False


class LeaveOutForm(ReasonForm):
    """Why work is left out of results, and whether others are to do it."""

    reopen = forms.BooleanField(
        required=False,
        label=_("Let others rate this"),
        help_text=_("Its slots are open again, and have to be paid again."),
    )
