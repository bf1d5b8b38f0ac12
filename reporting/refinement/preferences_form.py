"""The form for training data, for page, API and command."""

from collections.abc import Sized
from typing import Any

from django import forms

from annotation.core.actions import TextsField
from annotation.models import Rating, Study
from reporting.exports.elsewhere import DUPLICATES, EACH, EMPTY, EQUAL, JUDGE, MAJORITY, PEOPLE, TIES
from reporting.refinement.given_preferences import FORMS

TITLES = {
    "trl": "TRL: prompt, chosen, rejected",
    "instruction": "Instructions: both orders of each pair, with the answer",
    "hf": "Hugging Face: a folder that the library datasets loads",
    "alpacaeval": "AlpacaEval: annotations and a leaderboard",
    "arena": "Chatbot Arena: battles",
    "label-studio": "Label Studio: tasks",
}


class PreferencesForm(forms.Form):
    """Verdicts as training data, or in the forms of other tools.

    study : whose raters, data sets, systems and questions a page lists
    """

    form = forms.ChoiceField(choices=[(name, TITLES[name]) for name in FORMS], initial="trl", label="Format")
    raters = TextsField(longest=120, initial=[PEOPLE], label="Raters", help_text="people, and judges as judge:NAME.")
    votes = forms.ChoiceField(
        choices=[(EACH, "Every verdict"), (MAJORITY, "The majority on each pair")],
        initial=EACH,
        label="Verdicts",
        help_text="Pairs without a majority are left out.",
    )
    without = forms.MultipleChoiceField(
        choices=[
            (TIES, "ties"),
            (EQUAL, "pairs of equal texts"),
            (EMPTY, "pairs with an empty text"),
            (DUPLICATES, "repeats of an earlier row"),
        ],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Leave out",
    )
    dataset = forms.CharField(required=False, label="Data set", help_text="Only this data set.")
    systems = TextsField(required=False, exactly=2, label="Systems", help_text="Only pairs of these two.")
    question = forms.CharField(required=False, label="Question", help_text="The key of one of several questions.")
    stage = forms.ChoiceField(
        choices=Rating.Stage.choices,
        initial=Rating.Stage.FIRST,
        label="Stage",
        help_text="People’s votes of this stage.",
    )

    def __init__(self, *args: Any, study: Study | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if study is None:
            return
        judges = study.judge_runs.order_by("judge__name").values_list("judge__name", flat=True).distinct()
        raters = self.fields["raters"]
        raters.widget = forms.CheckboxSelectMultiple(choices=_choices(PEOPLE, *(f"{JUDGE}{name}" for name in judges)))
        raters.help_text = ""
        datasets = study.instances.order_by("dataset").values_list("dataset", flat=True).distinct()
        systems = study.systems.order_by("position").values_list("name", flat=True)
        self._offer("dataset", forms.Select(choices=[("", "all"), *_choices(*datasets)]), datasets)
        self._offer("systems", forms.SelectMultiple(choices=_choices(*systems)), systems, fewest=3)
        keys = [question.key for question in study.questions]
        self._offer("question", forms.Select(choices=_choices(*keys)), keys)
        if not study.is_two_stage:
            del self.fields["stage"]

    def _offer(self, name: str, widget: forms.Widget, values: Sized, *, fewest: int = 2) -> None:
        """List the values of a field. Drop it where there is nothing to choose from."""
        if len(values) < fewest:
            del self.fields[name]
        else:
            self.fields[name].widget = widget


def _choices(*values: str) -> list[tuple[str, str]]:
    return [(value, value) for value in values]
