"""Form of a stress test: judge, pairs and changes."""

from typing import Any

from django import forms
from django.db.models import QuerySet

from annotation.models import Study
from judging.audits.stress import CHANGES, StressTest
from judging.core.constants import MOST_SEED
from judging.core.fields import AskedJudgeForm, CapField, SeedField
from judging.models import Judge
from reporting.audits.words import CHANGE_NAMES

PAIRS = 100  # that are proposed


class JudgeAuditForm(AskedJudgeForm):
    """A stress test of a judge."""

    NARROWING = ("dataset", "seed")
    BESIDE = ("changes", "in_flight")
    fold_title = "Which changes, and which pairs"

    pairs = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_SEED,
        initial=PAIRS,
        label="Number of pairs",
        help_text="Drawn at random. With the same seed, a larger number includes the pairs of a smaller one. Default: all.",
    )
    max_cost = CapField()
    changes = forms.MultipleChoiceField(
        choices=[(name, CHANGE_NAMES[name]) for name in CHANGES],
        initial=CHANGES,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Changes",
    )
    seed = SeedField(required=False, initial=0)

    def __init__(self, *args: Any, study: Study, judges: QuerySet[Judge], **kwargs: Any) -> None:
        super().__init__(*args, study=study, judges=judges.filter(endpoint__isnull=False), **kwargs)

    def clean(self) -> dict[str, Any]:
        """Build what is to be tested."""
        data = super().clean() or {}
        if not self.errors:
            data["test"] = StressTest(
                study=self.study,
                judge=data["judge"],
                changes=tuple(data["changes"]),
                dataset=data["dataset"],
                pairs=data["pairs"],
                seed=data["seed"] or 0,
                question=self.asked_question,
            )
        return data
