"""Form of a ranking of systems: which judge is asked, by which design, and when it stops."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from analysis.adaptive import STEP
from annotation.models import Study
from annotation.questions.questions import MAIN
from judging.core.constants import MAX_IN_FLIGHT
from judging.core.fields import CapField, NarrowingForm, or_all
from judging.models import Judge
from judging.runs.forms import runnable_methods
from reporting.system_ranking.designs import OPTIONS, WantedRanking

BALANCED = "balanced"
MOST = 2**31 - 1
DESIGN_NAMES = {
    "adaptive": _("adaptive: where the ranking is the least sure"),
    "swiss": _("Swiss: neighbours in the ranking so far"),
    BALANCED: _("balanced: some pairs of systems on each instance"),
    "all": _("all pairs of systems on each instance"),
}


class RankingForm(NarrowingForm):
    """A ranking to be asked for."""

    NARROWING = ("dataset", "sample")
    BESIDE = ("seed", "step", "in_flight", "limit")

    judge = forms.ModelChoiceField(Judge.objects.none(), to_field_name="name", label=_("Judge"))
    question = forms.ChoiceField(label=_("Question"))
    design = forms.ChoiceField(
        choices=[*DESIGN_NAMES.items()],
        label=_("Which pairs of systems are asked next"),
    )
    per_instance = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=9999,
        initial=1,
        label=_("Pairs of systems on each instance"),
        help_text=_("Of the balanced design."),
    )
    settle = forms.IntegerField(
        min_value=0,
        max_value=MOST,
        initial=1,
        label=_("Stop when so many places are settled"),
        help_text=_("From the first place on. 0: never, it uses the whole budget."),
    )
    budget = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST,
        label=_("Comparisons at most"),
        help_text=_("Empty: all that the design has."),
    )
    both_orders = forms.BooleanField(
        required=False,
        label=_("Ask each comparison in both orders"),
        help_text=_("Two different answers are a tie. Otherwise one order is drawn."),
    )
    max_cost = CapField(
        help_text=_(
            "In the endpoint's currency, for all rankings that ask this judge about this study. Empty: as before, at first no cap."
        )
    )
    dataset = forms.ChoiceField(required=False, label=_("Data set"))
    sample = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST,
        label=_("Number of instances"),
        help_text=_("Drawn at random. Empty: all."),
    )
    seed = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=MOST,
        initial=0,
        label=_("Seed"),
        help_text=_("Draws instances, the order of the texts, and the design."),
    )
    step = forms.IntegerField(
        min_value=1, max_value=MOST, initial=STEP, label=_("Comparisons between two looks at the ranking")
    )
    in_flight = forms.IntegerField(label=_("Calls in flight"), min_value=1, max_value=MAX_IN_FLIGHT, initial=8)
    limit = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST,
        label=_("Most presentations in this start"),
        help_text=_("For a first try; start it again to continue. Empty: all."),
    )

    def __init__(self, *args: Any, study: Study, judges: QuerySet[Judge], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        fields: dict[str, Any] = self.fields
        fields["judge"].queryset = judges.filter(method__in=runnable_methods())
        fields["dataset"].choices = or_all(
            study.instances.order_by("dataset").values_list("dataset", flat=True).distinct()
        )
        asked = study.questions
        if len(asked) > 1:
            fields["question"].choices = [(str(one.number), one.key) for one in asked]
        else:
            del fields["question"]

    def clean(self) -> dict[str, Any]:
        """Build what is wanted."""
        data = super().clean() or {}
        if data.get("design") == BALANCED:
            if "per_instance" in data and data["per_instance"] is None:
                self.add_error("per_instance", _("The balanced design needs this number."))
            data["design"] = f"{BALANCED}:{data.get('per_instance')}"
        if not self.errors:
            data["seed"] = data["seed"] or 0
            options = {name: data[name] for name in OPTIONS}
            data["wanted"] = WantedRanking(self.study, data["judge"], int(data.get("question", MAIN)), **options)
        return data
