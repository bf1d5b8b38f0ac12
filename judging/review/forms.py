"""The forms for comparing two raters and for marks on rationales."""

from collections.abc import Mapping
from typing import Any

from django import forms

from annotation.core.actions import EitherField
from annotation.questions.questions import MAIN, Question
from judging.core.fields import SeedField, or_all
from judging.models import Judge
from judging.review.marks import LONGEST_NOTE


class CompareForm(forms.Form):
    """Two raters of a study to compare."""

    first = forms.ChoiceField(label="Judge")
    second = forms.ChoiceField(label="With")
    dataset = forms.ChoiceField(required=False, label="Data set")
    question = forms.ChoiceField(required=False, label="Question")
    only = forms.BooleanField(required=False, label="Only disagreements")
    drawn = forms.BooleanField(required=False, label="100 random disagreements, to mark their reasons")
    seed = SeedField(label="Seed of the draw (default: 0)")

    def __init__(
        self,
        *args: Any,
        judges: list[Judge],
        beside: Mapping[str, Any],
        datasets: list[str],
        questions: Mapping[int, Question],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.by_name = {judge.name: judge for judge in judges}
        names = [(name, name) for name in self.by_name]
        fields: dict[str, Any] = self.fields
        fields["first"].choices = names
        fields["second"].choices = [*beside.items(), *names]
        fields["dataset"].choices = or_all(datasets)
        self.numbers = {question.key: number for number, question in questions.items()}
        if questions:
            fields["question"].choices = [(question.key, question.text) for question in questions.values()]
        else:
            del fields["question"]

    def clean(self) -> dict[str, Any]:
        """Refuse to compare a judge with itself, and turn the question's key into its number."""
        data = super().clean() or {}
        data["question"] = self.numbers.get(data.get("question", ""), MAIN)
        if data.get("first") and data.get("first") == data.get("second"):
            self.add_error("second", "Choose two different raters.")
        return data


class MarkForm(forms.Form):
    """The soundness of a rationale, with an optional note."""

    sound = EitherField(
        no="Not sound",
        yes="Sound",
        widget=forms.RadioSelect,
        label="Is the rationale sound, whatever the verdict?",
        error_messages={"required": "Please say whether it is sound."},
    )
    note = forms.CharField(
        required=False, max_length=LONGEST_NOTE, widget=forms.Textarea(attrs={"rows": 2}), label="Note"
    )
