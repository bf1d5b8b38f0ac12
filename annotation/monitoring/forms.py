"""Forms for a study admin's decisions about raters and messages to them."""

from typing import Any

from django import forms

from annotation.annotators.messages import LONGEST_MESSAGE
from annotation.core.actions import EitherField
from annotation.hits.idle import LEAST_MINUTES
from annotation.quality.exclusion import LONGEST_REASON

MOST_MINUTES = 10_000


class MessageForm(forms.Form):
    """A message to raters, as plain text."""

    text = forms.CharField(
        max_length=LONGEST_MESSAGE,
        label="Message",
        help_text="Plain text. Name no system and no other rater in it.",
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
    )

    def clean_text(self) -> str:
        """Return the text with the line ends that are stored."""
        return str(self.cleaned_data["text"]).replace("\r\n", "\n")


def _reason(**more: Any) -> forms.CharField:
    return forms.CharField(
        max_length=LONGEST_REASON, label="Reason", widget=forms.TextInput(attrs={"dir": "auto"}), **more
    )


class NothingForm(forms.Form):
    """No fields."""


class OptionalReasonForm(forms.Form):
    """The reason of a decision, which may be empty."""

    reason = _reason(required=False, help_text="Kept in the study’s log.")


class Erase(forms.Form):
    """The data of a rater to be deleted. This can't be undone."""

    keep_ratings = EitherField(
        label="Their ratings",
        no="Delete them too: the rater withdraws",
        yes="Keep them, under a code that identifies no person",
        help_text="In this study. Their account goes too, unless it has other roles or studies.",
    )


class EraseForm(Erase):
    """The same on a page, which asks again."""

    sure = forms.BooleanField(label="Their pay is settled, and this can't be undone")


class ReleaseIdleForm(OptionalReasonForm):
    """The idle claims to release, and the reason."""

    minutes = forms.IntegerField(
        label="Idle for at least (minutes)",
        min_value=LEAST_MINUTES,
        max_value=MOST_MINUTES,
        initial=LEAST_MINUTES,
        help_text="Without a vote or an opened pair.",
    )
    field_order = ["minutes", "reason"]


class LeaveOutForm(forms.Form):
    """Why work is excluded, and whether its slots are open for others again."""

    reason = _reason(help_text="Kept in the study’s log and shown with the results.")
    reopen = forms.BooleanField(
        required=False,
        label="Let others rate this",
        help_text="Its slots open again, and have to be paid again.",
    )
