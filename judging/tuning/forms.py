"""The form of a tuning: the judge, the candidates, and the budget."""

from django import forms
from django.db.models import QuerySet

from annotation.jobs.work import queue_job
from judging.core.fields import AskedJudgeForm, CapField, InFlightField, JobForm, SeedField, judge_name_field
from judging.methods import AskingMethod, find_method, method_names
from judging.methods.options import MOST_SHOTS
from judging.models import Judge, JudgeTuning
from judging.runs.forms import PromptsField, free_name
from judging.tuning.candidates import METHODS, SHOTS
from judging.tuning.planning import HELD_OUT, TuningEstimate, TuningSettings, estimate_tuning
from judging.tuning.services import LONGEST_NAME, start_tuning


def asking_methods() -> list[tuple[str, str]]:
    """Return the methods that ask a model, as choices."""
    return [(name, name) for name in method_names() if isinstance(find_method(name), AskingMethod)]


class TuningForm(AskedJudgeForm, JobForm):
    """The judge to tune, the candidates, and the budget."""

    kind = JudgeTuning
    budget = forms.IntegerField(
        min_value=1,
        max_value=1_000_000,
        initial=300,
        label="Most presentations",
        help_text="For all candidates and the comparison on held-out instances.",
    )
    methods = forms.MultipleChoiceField(
        choices=asking_methods, initial=METHODS, widget=forms.CheckboxSelectMultiple, label="Methods to try"
    )
    prompts = PromptsField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Prompts of your own to try",
        help_text="Combined with each method that takes one.",
    )
    shots = forms.TypedMultipleChoiceField(
        choices=[(number, number) for number in range(1, MOST_SHOTS + 1)],
        initial=SHOTS,
        coerce=int,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Examples from the votes, with few-shot",
    )
    held_out = forms.FloatField(
        initial=HELD_OUT,
        min_value=0.05,
        max_value=0.95,
        label="Share of the instances held out",
        help_text="Not used for choosing; the tuned judge is compared on them.",
    )
    name = judge_name_field(
        max_length=LONGEST_NAME, required=False, label="Name of the new judge", help_text="Default: NAME-tuned."
    )
    seed = SeedField(initial=0, help_text="Of the draw of held-out instances.")
    in_flight = InFlightField(is_kept=True)
    max_cost = CapField()

    def askable(self, judges: QuerySet[Judge]) -> QuerySet[Judge]:
        """Return the judges that ask a model, and were not tuned."""
        return judges.filter(method__in=[name for name, _label in asking_methods()], tuned={})

    def clean_name(self) -> str:
        """Refuse the name of another group's judge."""
        return free_name(str(self.cleaned_data["name"]), self.judges) if self.cleaned_data["name"] else ""

    @property
    def settings(self) -> TuningSettings:
        """The settings of a valid form."""
        names = ("judge", "question", "budget", "methods", "shots", "held_out", "seed")
        return TuningSettings(study=self.study, prompts=list(self.cleaned_data["prompts"]), **self.named(*names))

    def estimate(self) -> TuningEstimate:
        """Return what the tuning of a valid form would take."""
        return estimate_tuning(self.settings)

    def start(self, **by: str) -> JudgeTuning:
        """Start the tuning of a valid form, or continue it."""
        return start_tuning(self.settings, **self.named("name", "in_flight", "max_cost"))

    def queue(self, **by: str) -> tuple[JudgeTuning, bool]:
        """Leave the tuning to a worker, unless it has ended."""
        tuning = self.start()
        return tuning, tuning.ended_at is None and queue_job(tuning)
