"""The forms of the page about a task's aspects."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from judging.errors import BadSettings
from judging.forms import ParametersField
from judging.judges.direct import LONGEST_ASPECT
from judging.judges.options import MOST_ASPECTS
from judging.models import Endpoint
from judging.services.aspect_sets import MOST_PAIRS, PAIRS, checked_aspects


class AspectsForm(forms.Form):
    """A list of aspects, one a line; `seen` is the version that it was made from."""

    aspects = forms.CharField(
        max_length=MOST_ASPECTS * (LONGEST_ASPECT + 10),
        label=_("Aspects, one a line, the most important one first"),
        help_text=_(
            "1 to 20 different ones of at most 200 characters. Saving makes the next version; earlier ones stay."
        ),
        widget=forms.Textarea(attrs={"rows": 7, "dir": "auto"}),
    )
    seen = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    def clean_aspects(self) -> list[str]:
        """Read the list."""
        try:
            return checked_aspects(str(self.cleaned_data["aspects"]).splitlines())
        except BadSettings as error:
            raise forms.ValidationError(str(error)) from None


class DistilForm(forms.Form):
    """What to distil aspects with, and from how many pairs."""

    endpoint = forms.ModelChoiceField(
        Endpoint.objects.none(), to_field_name="name", label=_("Endpoint"), help_text=_("Added by a site admin.")
    )
    pairs = forms.IntegerField(
        min_value=1,
        max_value=MOST_PAIRS,
        initial=PAIRS,
        label=_("Pairs"),
        help_text=_("Drawn from all pairs of the study; each of their texts is looked at once."),
    )
    seed = forms.IntegerField(
        min_value=0, max_value=2**31 - 1, initial=0, label=_("Seed"), help_text=_("Draws the pairs.")
    )
    params = ParametersField(
        required=False,
        label=_("Parameters"),
        help_text=_("key=value, one a line, sent with each call, as max_tokens=300. null leaves a default out."),
    )
    max_cost = forms.DecimalField(
        required=False,
        min_value=0,
        max_digits=12,
        decimal_places=6,
        label=_("At most this much money"),
        help_text=_("In the endpoint's currency; it stops before it would spend more. Empty: no cap."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        fields["endpoint"].queryset = Endpoint.objects.all()
