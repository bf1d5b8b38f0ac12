"""Forms for a study admin's decisions about raters and messages to them."""

from typing import Any

from django import forms

from annotation.annotators.messages import LONGEST_MESSAGE
from annotation.hits.idle import LEAST_MINUTES
from annotation.quality.exclusion import LONGEST_REASON

MOST_MINUTES = 10_000


class MessageForm(forms.Form):
    """A message to raters."""

    text = forms.CharField(
        max_length=LONGEST_MESSAGE,
        label="Message",
        help_text="Plain text. Name no system and no other rater in it.",
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
    )


class ReasonForm(forms.Form):
    """The reason of a decision."""

    reason = forms.CharField(
        max_length=LONGEST_REASON,
        label="Reason",
        help_text="Kept in the study's log.",
        widget=forms.TextInput(attrs={"dir": "auto"}),
    )


class OptionalReasonForm(ReasonForm):
    """The reason of a decision, which may be empty."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].required = False


class EraseForm(forms.Form):
    """The data of a rater to be deleted."""

    ratings = forms.ChoiceField(
        label="Their ratings",
        choices=[
            ("delete", "Delete them too: the rater withdraws"),
            ("keep", "Keep them, under a code that identifies no person"),
        ],
        help_text="In this study. Their account goes too, unless it has other roles or studies.",
    )
    sure = forms.BooleanField(label="Their pay is settled, and this can't be undone")


class ReleaseIdleForm(OptionalReasonForm):
    """The least idle time of a claim that is released."""

    minutes = forms.IntegerField(
        label="Idle for at least (minutes)",
        min_value=LEAST_MINUTES,
        max_value=MOST_MINUTES,
        initial=LEAST_MINUTES,
        help_text="Without a vote or an opened pair.",
    )
    field_order = ["minutes", "reason"]


class LeaveOutForm(ReasonForm):
    """Why work is excluded, and whether its slots are reopened."""

    reopen = forms.BooleanField(
        required=False,
        label="Let others rate this",
        help_text="Its slots open again, and have to be paid again.",
    )
