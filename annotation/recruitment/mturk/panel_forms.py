"""The fields of the panel's actions. Those of decisions are checked by the actions themselves, which commands call too."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from annotation.models import Batch, Study


def closed_here(study: Study) -> QuerySet[Batch]:
    """Return a study's batches whose HITs are not given out on this server."""
    rated_here = study.batches.filter(purpose=Batch.Purpose.RATING, origin=Batch.Origin.COLLECTED)
    return rated_here.exclude(status=Batch.Status.OPEN)


class ByFileForm(forms.Form):
    """A batch that is not open here; with a file, its results."""

    file = forms.FileField(
        label=_("Results (CSV)"), required=False, widget=forms.FileInput({"accept": ".csv,text/csv"})
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["batch"] = forms.ModelChoiceField(
            queryset=closed_here(study), to_field_name="name", label=_("Batch"), empty_label=None
        )

    field_order = ["batch", "file"]


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
