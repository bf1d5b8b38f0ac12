"""Form of an audit's run: which judge is asked what, and on how many instances."""

from typing import Any

from django import forms
from django.db.models import QuerySet

from annotation.models import Study
from judging.audits.services import Audit
from judging.core.fields import AskedJudgeForm, CapField, SeedField, StartLimitField
from judging.core.visibility import prompt_files_of
from judging.models import Judge, PromptFile
from judging.runs.forms import runnable_methods
from judging.runs.judges import MOST_REPEATS


class LogicAuditForm(AskedJudgeForm):
    """A judge to be audited."""

    NARROWING = ("dataset", "instances")
    BESIDE = ("seed", "in_flight", "limit")

    wording = forms.ModelChoiceField(
        PromptFile.objects.none(), required=False, label="Wording", empty_label="the judge’s own"
    )
    repeats = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_REPEATS,
        label="Repeats",
        help_text="How often each question is asked. Default: as often as the judge asks, else 10 times.",
    )
    negated = forms.BooleanField(
        required=False,
        initial=True,
        label="Ask the negated question too",
        help_text="“Which text is worse?” A prompt of your own needs $criterion for it.",
    )
    max_cost = CapField()
    instances = forms.IntegerField(
        required=False, min_value=1, label="Number of instances", help_text="Drawn at random. Default: all."
    )
    seed = SeedField(
        required=False,
        initial=0,
        help_text="Of the draw. With the same seed, a larger number includes the instances of a smaller one.",
    )
    limit = StartLimitField()

    def __init__(self, *args: Any, study: Study, judges: QuerySet[Judge], **kwargs: Any) -> None:
        super().__init__(*args, study=study, judges=judges.filter(method__in=runnable_methods()), **kwargs)
        fields: dict[str, Any] = self.fields
        fields["wording"].queryset = prompt_files_of(study.group)

    def clean(self) -> dict[str, Any]:
        """Build the audit."""
        data = super().clean() or {}
        if not self.errors:
            data["audit"] = Audit(
                study=self.study,
                **{name: data[name] for name in ("judge", "repeats", "negated", "wording", "dataset", "instances")},
                seed=data["seed"] or 0,
                question=self.asked_question,
            )
        return data
