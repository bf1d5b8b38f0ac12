"""The forms of the aspects page."""

from typing import Any

from django import forms

from annotation.core.actions import TextsField
from annotation.core.errors import JobBusy
from judging.aspects.aspect_sets import MOST_PAIRS, PAIRS, clean_aspects, estimate_distilling, start_distilling
from judging.calls.dry_run import CallsEstimate
from judging.core.errors import BadSettings
from judging.core.fields import CapField, InFlightField, JobForm, ParametersField, SeedField, endpoint_field
from judging.methods.direct import LONGEST_ASPECT
from judging.models import Distillation


class AspectsForm(forms.Form):
    """The next version of the aspects."""

    aspects = TextsField(
        longest=LONGEST_ASPECT,
        label="Aspects, one a line, the most important one first",
        help_text="1 to 20 different ones of at most 200 characters. Saving creates the next version; earlier ones stay.",
        widget=forms.Textarea(attrs={"rows": 7, "dir": "auto"}),
    )
    seen = forms.IntegerField(
        required=False,
        min_value=0,
        widget=forms.HiddenInput,
        label="Edited version",
        help_text="0 for the task's own. Refused if there is a newer one.",
    )

    def clean_aspects(self) -> list[str]:
        """Refuse too many aspects, and those that are alike."""
        try:
            return clean_aspects(self.cleaned_data["aspects"])
        except BadSettings as error:
            raise forms.ValidationError(str(error)) from None


class DistilForm(JobForm):
    """The settings for distilling aspects."""

    kind = Distillation
    BESIDE = ("in_flight",)
    fold_title = "Calls in flight"

    endpoint = endpoint_field(help_text="Added by a site admin.")
    pairs = forms.IntegerField(
        min_value=1,
        max_value=MOST_PAIRS,
        initial=PAIRS,
        label="Pairs",
        help_text="Drawn from all pairs of the study.",
    )
    seed = SeedField(initial=0, help_text="Of the draw of pairs.")
    params = ParametersField(
        help_text="key=value, one per line, sent with each call, such as max_tokens=300. null removes a default."
    )
    max_cost = CapField()
    in_flight = InFlightField()

    def estimate(self) -> CallsEstimate:
        """Return what the distillation of a valid form would take."""
        return estimate_distilling(self.study, **self.named("endpoint", "pairs", "seed", "params"))

    def start(self, **by: Any) -> Distillation:
        """Start the distillation of a valid form. `by`: who asks for it."""
        return start_distilling(self.study, **self.cleaned_data, **by)

    def queue(self, **by: Any) -> tuple[Distillation | None, bool]:
        """Leave the distillation to a worker, unless one is under way."""
        try:
            return super().queue(**by)
        except JobBusy:
            return None, False
