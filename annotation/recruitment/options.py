"""Base forms of channel options: for all channels, for open ones, and for platforms."""

from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator

from annotation.models import Batch, Study
from annotation.recruitment.arrival_limits import MOST_RATERS, PER_ADDRESS, PLATFORM_MOST_RATERS, PLATFORM_PER_ADDRESS
from annotation.recruitment.platform_access import ceiling_problem

LARGEST = 1_000_000


def text_option(label: str, help_text: str = "", *validators: RegexValidator, **more: Any) -> forms.CharField:
    """Return the field of an option that may be left empty."""
    return forms.CharField(label=label, required=False, help_text=help_text, validators=validators, **more)


class ChannelOptionsForm(forms.Form):
    """Options of every channel, added to each adapter's form."""

    defaults: ClassVar[dict[str, Any]] = {}  # of fields that are left empty
    seldom: ClassVar[tuple[str, ...]] = ("most_hits", "per_address", "most_raters")  # fields that the page folds

    most_hits = forms.IntegerField(
        label="HITs per rater at most",
        required=False,
        min_value=1,
        max_value=LARGEST,
        help_text="Of this channel’s raters. Default: the limits of the study and the batch.",
    )

    @property
    def first(self) -> list[forms.BoundField]:
        """The fields that the page shows at once."""
        return [field for field in self if field.name not in self.seldom]

    @property
    def further(self) -> list[forms.BoundField]:
        """The fields that the page folds."""
        return [field for field in self if field.name in self.seldom]

    @property
    def is_further_wrong(self) -> bool:
        """True where a folded field has an error."""
        return any(name in self.errors for name in self.seldom)

    def clean(self) -> dict[str, Any]:
        """Fill in the defaults."""
        cleaned = super().clean() or self.cleaned_data
        return {name: value or self.defaults.get(name, value) for name, value in cleaned.items()}


class ArrivalLimitsForm(ChannelOptionsForm):
    """Limits on unverified newcomers. An empty field means the default."""

    defaults: ClassVar[dict[str, Any]] = {"per_address": PER_ADDRESS, "most_raters": MOST_RATERS}

    per_address = forms.IntegerField(
        label="New raters an hour from one address",
        required=False,
        min_value=1,
        max_value=LARGEST,
        help_text="A class or an office often shares one address.",
    )
    most_raters = forms.IntegerField(
        label="Most raters through this channel",
        required=False,
        min_value=1,
        max_value=LARGEST,
        help_text="When so many have joined, no more raters are taken; those who have joined can continue.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("per_address", "most_raters"):
            self.fields[name].initial = self.defaults[name]


class PlatformLimitsForm(ArrivalLimitsForm):
    """Limits on a platform's unverified newcomers, and on bonuses."""

    defaults: ClassVar[dict[str, Any]] = {"per_address": PLATFORM_PER_ADDRESS, "most_raters": PLATFORM_MOST_RATERS}
    usual_bonus_cap: ClassVar[str] = "5.00"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["per_address"].help_text = "Ids can be made up; a laboratory may share one address."
        self.fields[
            "most_raters"
        ].help_text = "When so many have joined, only raters whom the platform confirms can join."

    def clean_bonus_cap(self) -> str:
        """Return the cap, by default the usual one, and refuse one above the server's."""
        text: str = self.cleaned_data["bonus_cap"]
        if text and (problem := ceiling_problem(text)):
            raise ValidationError(problem)
        return text or self.usual_bonus_cap


class OfBatchForm(forms.Form):
    """A batch of a study, in which people rate here."""

    batch = forms.ModelChoiceField(
        Batch.objects.none(),
        to_field_name="name",
        label="Batch",
        required=False,
        empty_label="All open batches",
        error_messages={"invalid_choice": "The study has no batch %(value)s for rating."},
        help_text="Who comes through this channel is given HITs of it only. Default: all open batches.",
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        fields["batch"].queryset = study.batches.filter(purpose=Batch.Purpose.RATING, origin=Batch.Origin.COLLECTED)


class ChannelForm(OfBatchForm):
    """A channel's name and batch."""

    name = forms.CharField(label="Name", max_length=100, help_text="For you only: raters never see it.")
    field_order = ("name", "batch")
