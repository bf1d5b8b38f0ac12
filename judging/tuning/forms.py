"""The form of a tuning."""

from typing import Any

from django import forms
from django.db.models import QuerySet

from annotation.models import Study
from annotation.questions.questions import MAIN
from judging.core.fields import CapField, InFlightField, NarrowingForm, SeedField, judge_name_field
from judging.core.visibility import prompt_files_of
from judging.methods import AskingMethod, find_method, method_names
from judging.methods.options import MOST_SHOTS
from judging.models import Judge, PromptFile
from judging.runs.forms import free_name
from judging.tuning.candidates import METHODS, SHOTS
from judging.tuning.planning import HELD_OUT, TuningSettings
from judging.tuning.services import LONGEST_NAME

ASKING = ("max_cost", "in_flight", "name")  # which are no part of what is asked


class TuningForm(NarrowingForm):
    """The judge to tune, the candidates, and the budget."""

    judge = forms.ModelChoiceField(Judge.objects.none(), to_field_name="name", label="Judge")
    budget = forms.IntegerField(
        min_value=1,
        max_value=1_000_000,
        initial=300,
        label="Most presentations",
        help_text="For all candidates and the comparison on held-out instances.",
    )
    methods = forms.MultipleChoiceField(
        choices=[], initial=METHODS, widget=forms.CheckboxSelectMultiple, label="Methods to try"
    )
    prompts = forms.ModelMultipleChoiceField(
        PromptFile.objects.none(),
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
    in_flight = InFlightField()
    max_cost = CapField()

    def __init__(self, *args: Any, study: Study, judges: QuerySet[Judge], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study, self.judges = study, judges
        asking = [name for name in method_names() if isinstance(find_method(name), AskingMethod)]
        fields: dict[str, Any] = self.fields
        fields["judge"].queryset = judges.filter(method__in=asking, tuned={})
        fields["methods"].choices = [(name, name) for name in asking]
        if (prompts := prompt_files_of(study.group)).exists():
            fields["prompts"].queryset = prompts
        else:
            del fields["prompts"]
        if len(study.questions) > 1:
            fields["question"] = forms.TypedChoiceField(
                choices=[(question.number, question.text) for question in study.questions],
                coerce=int,
                initial=MAIN,
                label="Question",
            )
            self.order_fields(("judge", "question"))

    def clean_name(self) -> str:
        """Refuse the name of another group's judge."""
        return free_name(str(self.cleaned_data["name"]), self.judges) if self.cleaned_data["name"] else ""

    def settings(self) -> TuningSettings:
        """Return what is asked for, of a valid form."""
        data = {name: value for name, value in self.cleaned_data.items() if name not in ASKING}
        return TuningSettings(study=self.study, **{**data, "prompts": list(data.get("prompts", ()))})
