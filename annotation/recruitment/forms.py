"""The form of the settings that all channels have outside their options."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Batch, Study


class ChannelForm(forms.Form):
    """A channel's name and batch."""

    name = forms.CharField(label=_("Name"), max_length=100, help_text=_("For you only: raters never see it."))

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rated_here = study.batches.filter(purpose=Batch.Purpose.RATING, origin=Batch.Origin.COLLECTED)
        self.fields["batch"] = forms.ModelChoiceField(
            queryset=rated_here,
            label=_("Batch"),
            required=False,
            empty_label=_("All open batches"),
            help_text=_("Who comes through this channel is given HITs of it only."),
        )
