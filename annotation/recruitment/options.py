"""Settings that channels of every kind have, and those of channels that anybody with the address may come through."""

from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from annotation.services.arrivals import MOST_RATERS, PER_ADDRESS, PLATFORM_MOST_RATERS, PLATFORM_PER_ADDRESS
from annotation.services.platform_access import ceiling_problem

LARGEST = 1_000_000


class ChannelOptionsForm(forms.Form):
    """What may be set for any channel. An adapter's form gets these fields even where it doesn't name them."""

    most_hits = forms.IntegerField(
        label=_("Most HITs for one rater"),
        required=False,
        min_value=1,
        max_value=LARGEST,
        help_text=_("Of those who come through this channel; empty: no limit but the study's and the batch's."),
    )


class OpenDoorForm(ChannelOptionsForm):
    """How many may come where nobody is asked who they are; an empty field means what it begins with."""

    usual: ClassVar[dict[str, int]] = {"per_address": PER_ADDRESS, "most_raters": MOST_RATERS}

    per_address = forms.IntegerField(
        label=_("New raters an hour from one address"),
        required=False,
        min_value=1,
        max_value=LARGEST,
        help_text=_("A class or an office often shares one address."),
    )
    most_raters = forms.IntegerField(
        label=_("Most raters through this channel"),
        required=False,
        min_value=1,
        max_value=LARGEST,
        help_text=_("When so many have come, nobody new gets in; those who are in go on."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, number in self.usual.items():
            self.fields[name].initial = number

    def clean_per_address(self) -> int:
        """Return the limit that holds: there is always one."""
        return self.cleaned_data["per_address"] or self.usual["per_address"]

    def clean_most_raters(self) -> int:
        """Return the limit that holds: there is always one."""
        return self.cleaned_data["most_raters"] or self.usual["most_raters"]


class PlatformDoorForm(OpenDoorForm):
    """How many a platform may send whom it hasn't vouched for, and how much a bonus may be at most."""

    usual: ClassVar[dict[str, int]] = {"per_address": PLATFORM_PER_ADDRESS, "most_raters": PLATFORM_MOST_RATERS}
    usual_bonus_cap: ClassVar[str] = "5.00"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["per_address"].help_text = _("Anybody can make up ids; a laboratory may share one address.")
        self.fields["most_raters"].help_text = _(
            "When so many have come, only those get in whom the platform itself vouches for."
        )

    def clean_bonus_cap(self) -> str:
        """Return the cap that holds: there is always one, and the server has one above all."""
        given: str = self.cleaned_data["bonus_cap"]
        if given and (problem := ceiling_problem(given)):
            raise ValidationError(problem)
        return given or self.usual_bonus_cap
