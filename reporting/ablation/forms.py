"""Form of an ablation: what is varied, on which pairs."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Study
from judging.ablation.judge_configurations import PAPER, ROUNDS, Axes
from judging.ablation.services import Ablation
from judging.core.errors import BadSettings
from judging.core.fields import endpoint_field
from judging.methods.options import OFFLINE, ONLINE
from judging.methods.sc2.bracket import EXACT, RANDOM, TOURNAMENT
from judging.runs.forms import PairsForm
from judging.runs.judges import MOST_REPEATS

PART_NAMES = {
    "methods": _("methods"),
    "schemes": _("ways to find the most consistent table"),
    "aspects": _("where the aspects come from"),
    "budgets": _("numbers of calls"),
    "shots": _("numbers of calls, with examples"),
    "samples": _("numbers of tables, |C|"),
    "grid": _("numbers of tables × schemes × aspects"),
}
SCHEME_NAMES = {TOURNAMENT: _("tournament"), EXACT: _("every pair of tables, both ways"), RANDOM: _("one drawn")}
ASPECT_NAMES = {OFFLINE: _("the same for all pairs"), ONLINE: _("the model’s own for each pair")}


class IntegerListField(forms.CharField):
    """Whole numbers, separated by commas or spaces."""

    def clean(self, value: Any) -> tuple[int, ...]:
        """Parse the numbers, without repetitions."""
        words = super().clean(value).replace(",", " ").split()
        if not all(word.isdecimal() and len(word) < 6 for word in words):
            raise forms.ValidationError(_("Write whole numbers, separated by commas."))
        return tuple(dict.fromkeys(map(int, words)))


def _comma_separated(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values))


class AblationForm(PairsForm):
    """Settings of a new ablation."""

    endpoint = endpoint_field(empty_label=None, help_text=_("Added by a site admin."))
    table_endpoint = endpoint_field(
        required=False,
        label=_("Endpoint of the tables"),
        empty_label=_("none: the judge’s own"),
        help_text=_("SC²: makes aspects and tables and compares these; the judge’s own endpoint gives the verdict."),
    )
    variants = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=_("Stored tables to show"),
        help_text=_("A row of SC² for each, beside the methods: shown tables that are made already."),
    )
    parts = forms.MultipleChoiceField(
        choices=list(PART_NAMES.items()),
        initial=list(PAPER),
        widget=forms.CheckboxSelectMultiple,
        label=_("What is varied"),
    )
    rounds = forms.IntegerField(
        min_value=1,
        max_value=MOST_REPEATS,
        initial=ROUNDS,
        label=_("Rounds"),
        help_text=_("Each asks everything once more, with other seeds."),
    )
    samples = IntegerListField(initial=_comma_separated(Axes.samples), label=_("Numbers of tables"))
    schemes = forms.MultipleChoiceField(
        choices=list(SCHEME_NAMES.items()),
        initial=list(Axes.schemes),
        widget=forms.CheckboxSelectMultiple,
        label=_("Most consistent table"),
    )
    aspects = forms.MultipleChoiceField(
        choices=list(ASPECT_NAMES.items()),
        initial=list(Axes.aspects),
        widget=forms.CheckboxSelectMultiple,
        label=_("Aspects"),
    )
    budgets = IntegerListField(initial=_comma_separated(Axes.budgets), label=_("Calls a verdict"))
    shots = IntegerListField(
        initial=_comma_separated(Axes.shots),
        label=_("Examples shown"),
        help_text=_("Of SC² with tables, which its own model makes, once for all pairs."),
    )

    field_order = (
        *(
            "endpoint",
            "table_endpoint",
            "variants",
            "parts",
            "rounds",
            "samples",
            "schemes",
            "aspects",
            "budgets",
            "shots",
        ),
        "batch",
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, study=study, **kwargs)
        del self.fields["limit"]
        variants = study.tables.order_by("variant").values_list("variant", flat=True).distinct()
        self.fields["variants"].choices = [(one, one) for one in variants]  # type: ignore[attr-defined]
        if not variants:
            del self.fields["variants"]
        self.fields["max_cost"].help_text = _(
            "From now on, of all runs together, in the endpoint’s currency. Empty: no cap."
        )

    def clean(self) -> dict[str, Any]:
        """Build the ablation; values that no judge accepts are form errors."""
        data = super().clean() or {}
        if self.errors:
            return data
        axes = Axes(
            samples=data["samples"],
            schemes=tuple(data["schemes"]),
            aspects=tuple(data["aspects"]),
            budgets=data["budgets"],
            shots=data["shots"],
            variants=tuple(data.get("variants", ())),
        )
        try:
            axes.check()
        except BadSettings as error:
            self.add_error(None, str(error))
        data["ablation"] = Ablation(
            study=self.study,
            endpoint=data["endpoint"],
            table_endpoint=data["table_endpoint"],
            parts=tuple(data["parts"]),
            axes=axes,
            rounds=data["rounds"],
            batch=data["batch"],
            only=data["only"],
        )
        return data
