"""Freezing and withdrawing a study's plan, by page, API and command."""

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db.models import QuerySet

from annotation.batches.forms import of_study
from annotation.batches.sampling import MOST_HITS, MOST_PAIRS, MOST_RATERS
from annotation.batches.stop_rules import validate_stop_rule
from annotation.core.actions import TextsField, stored
from annotation.models import Batch, Instance, Study
from annotation.planning.frozen_plans import CLAIMS, FrozenPlan, freeze_plan, withdraw_plan
from annotation.studies.configurations import configurations
from annotation.studies.presets import batch_defaults
from annotation.studies.settings_form import ReasonForm
from judging.models import Judge, Judgment
from judging.outcomes.provenance import settings_of_judges
from reporting.findings.data.asked import judge_names
from reporting.findings.data.inputs import DEFAULT_EPSILON, Filters


class FreezePlan(forms.Form):
    """A plan to be frozen. What is left out is taken from the study."""

    question = forms.CharField(max_length=30, initial=of_study, label="Key of the question")
    systems = TextsField(initial=of_study, label="Systems", help_text="One a line.")
    claims = forms.MultipleChoiceField(
        choices=list(CLAIMS.items()),
        initial=of_study,
        widget=forms.CheckboxSelectMultiple,
        label="Planned claims",
        help_text="All others will be exploratory.",
    )
    epsilon = forms.FloatField(
        min_value=0,
        max_value=1,
        initial=DEFAULT_EPSILON,
        label="ε",
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text="How much less than a person a judge may agree with people and still replace one.",
    )
    judges = TextsField(required=False, initial=of_study, label="Judges", help_text="One a line.")
    stop_rule = stored(Batch, "stop_rule", required=False, validators=[validate_stop_rule])
    instances = forms.IntegerField(
        min_value=1, max_value=MOST_HITS, initial=of_study, label="Instances that people rate"
    )
    pairs = stored(Batch, "pairs_per_hit", initial=of_study, min_value=1, max_value=MOST_PAIRS)
    raters = stored(Batch, "raters_per_hit", initial=of_study, min_value=1, max_value=MOST_RATERS)

    def __init__(
        self, data: Any = None, files: Any = None, *, study: Study, judges: QuerySet[Judge] | None = None
    ) -> None:
        """`judges`: those that the user sees (default: all, for commands)."""
        self.study, self.visible_judges = study, Judge.objects.all() if judges is None else judges
        super().__init__(data, files, initial=_initial(study))

    def clean_question(self) -> str:
        """Refuse a question that the study doesn't ask."""
        return str(self._known("question", [self.cleaned_data["question"]], (q.key for q in self.study.questions))[0])

    def clean_systems(self) -> list[str]:
        """Refuse systems that the study doesn't have."""
        names = self.study.systems.values_list("name", flat=True)
        return sorted(self._known("system", self.cleaned_data["systems"], names))

    def clean_judges(self) -> list[str]:
        """Refuse judges that the user doesn't see. They need no run yet."""
        judges = self.cleaned_data["judges"]
        existing = self.visible_judges.filter(name__in=judges).values_list("name", flat=True)
        return sorted(self._known("judge", judges, existing, judge_names(self.study)))

    def clean(self) -> dict[str, Any]:
        """Refuse a claim about judges without their names."""
        cleaned = super().clean() or {}
        if "replacement" in cleaned.get("claims", ()) and cleaned.get("judges") == []:
            self.add_error("judges", "Name the judges that may replace a rater, or leave this claim out.")
        return cleaned

    def _known(self, noun: str, names: list[str], existing: Any, listed: Any = None) -> list[str]:
        existing = list(existing)
        if strangers := [name for name in names if name not in existing]:
            allowed = ", ".join(existing if listed is None else listed) or "none"
            raise forms.ValidationError(f"Unknown {noun} {', '.join(strangers)}. Allowed: {allowed}.", code="unknown")
        return names

    @property
    def content(self) -> dict[str, Any]:
        """What the plan states, with today's data sets, settings of judges and number of judgments."""
        judgments = Judgment.objects.filter(run__study=self.study, status=Judgment.Status.PARSED)
        return {
            **self.cleaned_data,
            "claims": sorted(self.cleaned_data["claims"]),
            "bins": Filters().bins,
            "datasets": sorted({item.dataset for item in configurations(self.study)}),
            "judge_settings": settings_of_judges(self.cleaned_data["judges"]),
            "judgments": judgments.count(),
        }

    def run(self, *, by: User | None = None) -> FrozenPlan:
        """Freeze the plan."""
        return freeze_plan(study=self.study, content=self.content, by=by)


class WithdrawPlan(ReasonForm):
    """Withdrawal of the frozen plan."""

    def run(self, study: Study, *, by: User | None = None) -> None:
        """Withdraw the plan."""
        withdraw_plan(study=study, reason=self.cleaned_data["reason"], by=by)


def _initial(study: Study) -> dict[str, Any]:
    """Return the study's own values: of its latest batch for ratings, or else of its settings and all its instances."""
    batches = study.batches.filter(purpose=Batch.Purpose.RATING)
    batch, defaults = batches.order_by("created_at", "pk").last(), batch_defaults(study)
    planned = Instance.objects.filter(study=study, matchups__isnull=False)
    if batch is not None:
        planned = planned.filter(matchups__hits__batch__in=batches)
    judges = judge_names(study)
    compared = {side.name for item in configurations(study) for side in (item.system_a, item.system_b)}
    return {
        "question": study.question_key,
        "systems": "\n".join(sorted(compared)),
        "claims": ["preference", "replacement"] if judges else ["preference"],
        "judges": "\n".join(judges),
        "stop_rule": batch.stop_rule if batch else "",
        "instances": planned.distinct().count(),
        "pairs": batch.pairs_per_hit if batch else defaults.pairs,
        "raters": batch.raters_per_hit if batch else defaults.raters,
    }
