"""The fields of the panel's actions. Those of decisions are checked by the actions themselves, which commands call too."""

from django import forms
from django.utils.translation import gettext_lazy as _


class MturkDecisionForm(forms.Form):
    """What a rejection, a bonus or a late approval needs."""

    feedback = forms.CharField(
        label=_("Words for the workers"),
        required=False,
        max_length=1024,
        help_text=_("Why rejected, or what a bonus is for."),
        widget=forms.Textarea({"rows": 2}),
    )
    amount = forms.CharField(
        label=_("Bonus in dollars"),
        required=False,
        widget=forms.TextInput({"inputmode": "decimal", "autocomplete": "off"}),
    )
    label = forms.CharField(
        label=_("Name of the bonus"),
        required=False,
        max_length=20,
        help_text=_("Only to pay the same assignment a second one."),
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    override = forms.BooleanField(label=_("Approve also what was rejected before"), required=False)


class ReleaseForm(forms.Form):
    """The worker who may continue in another browser."""

    rater = forms.CharField(label=_("Code of the rater"), widget=forms.TextInput({"autocomplete": "off"}))
