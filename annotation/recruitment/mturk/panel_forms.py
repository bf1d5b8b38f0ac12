"""The fields of the panel's actions. Those of decisions are checked by the actions themselves, which commands call too."""

from django import forms


class MturkDecisionForm(forms.Form):
    """What a rejection, a bonus or a late approval needs."""

    feedback = forms.CharField(
        label="Words for the workers",
        required=False,
        max_length=1024,
        help_text="Why rejected, or what a bonus is for.",
        widget=forms.Textarea({"rows": 2}),
    )
    amount = forms.CharField(
        label="Bonus in dollars",
        required=False,
        widget=forms.TextInput({"inputmode": "decimal", "autocomplete": "off"}),
    )
    label = forms.CharField(
        label="Name of the bonus",
        required=False,
        max_length=20,
        help_text="Only to pay the same assignment a second one.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    override = forms.BooleanField(label="Approve also what was rejected before", required=False)


class ReleaseForm(forms.Form):
    """The worker who may continue in another browser."""

    rater = forms.CharField(label="Code of the rater", widget=forms.TextInput({"autocomplete": "off"}))
