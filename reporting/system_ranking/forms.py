"""Form of a ranking of systems: which judge is asked, by which design, and when it stops."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from analysis.adaptive import STEP
from annotation.models import Study
from judging.core.constants import MOST_SEED
from judging.core.fields import AskedJudgeForm, CapField, SeedField, StartLimitField
from judging.models import Judge
from judging.runs.forms import runnable_methods
from reporting.system_ranking.designs import OPTIONS, WantedRanking

BALANCED = "balanced"
DESIGN_NAMES = {
    "adaptive": _("adaptive: where the ranking is the least sure"),
    "swiss": _("Swiss: neighbours in the ranking so far"),
    BALANCED: _("balanced: some pairs of systems on each instance"),
    "all": _("all pairs of systems on each instance"),
}


class RankingForm(AskedJudgeForm):
    """A ranking to be asked for."""

    NARROWING = ("dataset", "sample")
    BESIDE = ("seed", "step", "in_flight", "limit")

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
        max_value=MOST_SEED,
        initial=1,
        label=_("Stop when so many places are settled"),
        help_text=_("From the first place on. 0: never, it uses the whole budget."),
    )
    budget = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_SEED,
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
    sample = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_SEED,
        label=_("Number of instances"),
        help_text=_("Drawn at random. Empty: all."),
    )
    seed = SeedField(required=False, initial=0, help_text=_("Draws instances, the order of the texts, and the design."))
    step = forms.IntegerField(
        min_value=1, max_value=MOST_SEED, initial=STEP, label=_("Comparisons between two looks at the ranking")
    )
    limit = StartLimitField()

    def __init__(self, *args: Any, study: Study, judges: QuerySet[Judge], **kwargs: Any) -> None:
        super().__init__(*args, study=study, judges=judges.filter(method__in=runnable_methods()), **kwargs)

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
            data["wanted"] = WantedRanking(self.study, data["judge"], self.asked_question, **options)
        return data
