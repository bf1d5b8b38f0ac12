"""The form of the page on which a batch is extended."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.batches.changes import LONGEST_REASON
from annotation.batches.forms import HOW, IMPORTANCE, SelectionForm
from annotation.batches.sampling import MOST_RATERS, SelectionSpec
from annotation.core.keys import new_seed
from annotation.models import Batch

NONE = "none"


class ExtendForm(SelectionForm):
    """More raters or more HITs for a batch, and why."""

    how = forms.ChoiceField(choices=[], initial=NONE, label=_("Further instances"))
    more_raters = forms.IntegerField(
        min_value=0, max_value=MOST_RATERS, required=False, initial=0, label=_("More raters per HIT")
    )
    reason = forms.CharField(
        max_length=LONGEST_REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
        label=_("Why"),
        help_text=_("Logged, and shown with the results."),
    )
    known_raters = forms.IntegerField(required=False, widget=forms.HiddenInput, label=_("Raters per HIT"))
    known_hits = forms.IntegerField(required=False, widget=forms.HiddenInput, label=_("HITs"))

    def __init__(
        self, data: Any = None, files: Any = None, *, batch: Batch, initial: dict[str, Any] | None = None
    ) -> None:
        begin = {"seed": new_seed(), "known_raters": batch.raters_per_hit, "known_hits": batch.hits.count()}
        super().__init__(data, files, initial={**begin, **(initial or {})})
        self.offer_similarities(batch.study)
        choices = [(NONE, _("None")), *((value, label) for value, label in HOW if value != IMPORTANCE)]
        self.fields["how"] = forms.ChoiceField(choices=choices, initial=NONE, label=_("Further instances"))
        if batch.purpose != Batch.Purpose.RATING:
            del self.fields["more_raters"]

    @property
    def more(self) -> int:
        """Number of further raters per HIT."""
        return self.cleaned_data.get("more_raters") or 0

    @property
    def further_selection(self) -> SelectionSpec | None:
        """The selection of further instances, if any."""
        return None if self.cleaned_data["how"] == NONE else self.selection

    @property
    def settings(self) -> dict[str, Any]:
        """Keyword arguments for `extend_batch`."""
        names = {name: self.cleaned_data[name] for name in ("reason", "seed", "known_raters", "known_hits")}
        selection = self.further_selection
        return {**names, **(selection.arguments if selection else {}), "more_raters": self.more}
