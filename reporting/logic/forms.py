"""Form of an audit's run: which judge is asked what, and on how many instances."""

from typing import Any

from django import forms
from django.db.models import QuerySet

from judging.audits.services import REPEATS, Audit, estimate_audit, start_audit
from judging.core.fields import (
    AskedJudgeForm,
    AskingForm,
    CapField,
    DatasetField,
    InFlightField,
    SeedField,
    StartLimitField,
)
from judging.models import Judge, JudgeRun
from judging.runs.estimates import RunEstimate
from judging.runs.forms import PromptField, runnable_methods
from judging.runs.judges import MOST_REPEATS
from reporting.logic.ranking import METHODS
from reporting.logic.stored_ranking import ASKING, SEEDS, STORED, TextRanking


class LogicAuditForm(AskedJudgeForm):
    """A judge to be audited."""

    NARROWING = ("dataset", "instances")
    BESIDE = ("seed", "in_flight", "limit")

    wording = PromptField(required=False, label="Wording", empty_label="the judge’s own")
    repeats = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_REPEATS,
        label="Repeats",
        help_text=f"How often each question is asked. Default: as often as the judge asks, else {REPEATS} times.",
    )
    negated = forms.BooleanField(
        required=False,
        initial=True,
        label="Ask the negated question too",
        help_text="“Which text is worse?” A prompt of your own needs $criterion for it.",
    )
    max_cost = CapField()
    dataset = DatasetField()
    instances = forms.IntegerField(
        required=False, min_value=1, label="Number of instances", help_text="Drawn at random. Default: all."
    )
    seed = SeedField(
        initial=0,
        help_text="Of the draw. With the same seed, a larger number includes the instances of a smaller one.",
    )
    in_flight = InFlightField(is_kept=True)
    limit = StartLimitField()

    def askable(self, judges: QuerySet[Judge]) -> QuerySet[Judge]:
        """Return the judges that can run."""
        return judges.filter(method__in=runnable_methods())

    @property
    def audit(self) -> Audit:
        """The audit of a valid form."""
        names = ("judge", "question", "repeats", "negated", "wording", "dataset", "instances", "seed")
        return Audit(study=self.study, **self.named(*names))

    def estimate(self, **way: Any) -> RunEstimate:
        """Return what the audit of a valid form would take."""
        return estimate_audit(self.audit, limit=self.cleaned_data["limit"], **way)

    def start(self, *, queued: bool = False, way: str | None = None) -> JudgeRun:
        """Start the audit of a valid form, new or again. `queued`: leave it to a worker."""
        return start_audit(self.audit, queued=queued, way=way, **self.named("in_flight", "max_cost", "limit"))

    def queue(self) -> JudgeRun:
        """Leave the audit to a worker."""
        return self.start(queued=True)


class RankForm(AskingForm):
    """A ranking of texts by a judge's answers, and the bounds of asking for those that lack."""

    judge = forms.CharField(
        required=False, max_length=80, label="Judge", help_text="Default: the only judge with answers."
    )
    methods = forms.MultipleChoiceField(
        required=False,
        choices=[(name, name) for name in METHODS],
        label="Methods",
        help_text="Default: all; when asking, pairs.",
    )
    calibrate = forms.BooleanField(required=False, label="Compare by the mean of both orders")
    seeds = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=1000,
        label="Number of orders in which the texts come",
        help_text=f"Default: {SEEDS}; when asking, 1.",
    )
    question = forms.CharField(required=False, max_length=80, label="Question", help_text="Its key; the main one.")
    dataset = DatasetField()
    sample = forms.IntegerField(
        required=False, min_value=1, label="Number of instances", help_text="Drawn at random. Default: all."
    )
    in_flight = InFlightField(is_kept=True)
    max_cost = CapField()
    limit = StartLimitField()

    def ranking(self, *, is_asking: bool) -> TextRanking:
        """Return the ranking of a valid form."""
        defaults = ASKING if is_asking else STORED
        more = {name: self.cleaned_data[name] or defaults[name] for name in ("methods", "seeds")}
        return TextRanking(**self.named("judge", "calibrate", "question", "dataset", "sample"), **more)
