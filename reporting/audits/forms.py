"""Form of a stress test: judge, pairs and changes."""

from django import forms
from django.db.models import QuerySet

from judging.audits.stress import CHANGES, StressTest, estimate_stress, start_stress
from judging.core.constants import MOST_SEED
from judging.core.fields import AskedJudgeForm, CapField, DatasetField, InFlightField, JobForm, SeedField
from judging.core.pricing import check_cap
from judging.models import Judge, JudgeAudit
from judging.runs.estimates import RunEstimate
from reporting.audits.stress import CHANGE_NAMES

PAIRS = 100  # that a page proposes


class JudgeAuditForm(AskedJudgeForm, JobForm):
    """A stress test of a judge."""

    kind = JudgeAudit
    NARROWING = ("dataset", "seed")
    BESIDE = ("changes", "in_flight")
    fold_title = "Which changes, and which pairs"

    pairs = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_SEED,
        label="Number of pairs",
        help_text="Drawn at random. With the same seed, a larger number includes the pairs of a smaller one. Default: all.",
    )
    max_cost = CapField()
    changes = forms.MultipleChoiceField(
        choices=[(name, CHANGE_NAMES[name]) for name in CHANGES],
        initial=CHANGES,
        widget=forms.CheckboxSelectMultiple,
        label="Changes",
    )
    seed = SeedField(initial=0, help_text="Of the pairs and changes.")
    dataset = DatasetField()
    in_flight = InFlightField()

    def askable(self, judges: QuerySet[Judge]) -> QuerySet[Judge]:
        """Return the judges that ask a model."""
        return judges.filter(endpoint__isnull=False)

    @property
    def test(self) -> StressTest:
        """The stress test of a valid form."""
        return StressTest(study=self.study, **self.named("judge", "question", "changes", "pairs", "seed", "dataset"))

    def estimate(self) -> RunEstimate:
        """Return what the test of a valid form would take."""
        check_cap(self.cleaned_data["max_cost"], *self.cleaned_data["judge"].endpoints)
        return estimate_stress(self.test)

    def start(self, **by: str) -> JudgeAudit:
        """Start the test of a valid form, or resume it."""
        return start_stress(self.test, **self.named("in_flight", "max_cost"))
