"""The forms of training data, for page, API and command."""

from collections.abc import Iterable, Sized
from typing import Any

from django import forms

from analysis.ranking.refinement import EQUAL_RATINGS
from annotation.core.actions import TextsField
from annotation.models import Rating, Study
from reporting.exports.elsewhere import DUPLICATES, EACH, EMPTY, EQUAL, JUDGE, MAJORITY, PEOPLE, TIES, WantedVerdicts
from reporting.refinement.given_preferences import FORMS
from reporting.refinement.refining import Repair
from reporting.refinement.training_files import FORMS as TRAINING
from reporting.refinement.training_files import Options

TITLES = {
    "trl": "TRL: prompt, chosen, rejected",
    "instruction": "Instructions: both orders of each pair, with the answer",
    "hf": "Hugging Face: a folder that the library datasets loads",
    "alpacaeval": "AlpacaEval: annotations and a leaderboard",
    "arena": "Chatbot Arena: battles",
    "label-studio": "Label Studio: tasks",
}


def _format(names: Iterable[str]) -> forms.ChoiceField:
    return forms.ChoiceField(
        choices=[(name, TITLES[name]) for name in names],
        initial="trl",
        label="Format",
        help_text="TRL, instructions and Hugging Face name no systems: they can’t be imported back as verdicts.",
    )


class VerdictsForm(forms.Form):
    """The verdicts that training data are made of."""

    raters = TextsField(longest=120, initial=[PEOPLE], label="Raters", help_text="people, and judges as judge:NAME.")
    dataset = forms.CharField(required=False, label="Data set", help_text="Only this data set.")
    question = forms.CharField(required=False, label="Question", help_text="The key of one of several questions.")
    stage = forms.ChoiceField(
        choices=Rating.Stage.choices,
        initial=Rating.Stage.FIRST,
        label="Stage",
        help_text="People’s votes of this stage.",
    )


class RefineForm(VerdictsForm):
    """Training data from repaired preferences."""

    form = _format(TRAINING)
    method = forms.ChoiceField(
        choices=[(name, name) for name in EQUAL_RATINGS], initial="win_loss", label="Scores of the repair"
    )
    seed = forms.IntegerField(min_value=0, max_value=2**32 - 1, initial=0, label="Seed of the repair's draws")
    negated = forms.BooleanField(required=False, label="Each row also with the negated question and the other text")
    down_sample = forms.BooleanField(required=False, label="Only as many rows as there are given preferences")
    held_out = forms.FloatField(
        min_value=0, max_value=0.99, initial=0.0, label="Share of instances kept apart for testing"
    )
    field_order = ("form", "raters")

    def repair(self) -> tuple[Repair, Options]:
        """Return the repair and the form of its rows."""
        cleaned = dict(self.cleaned_data)
        method, seed = cleaned.pop("method"), cleaned.pop("seed")
        options = {name: cleaned.pop(name) for name in ("form", "negated", "down_sample", "held_out")}
        return Repair(WantedVerdicts(**cleaned), method, seed), Options(**options, seed=seed)


class PreferencesForm(VerdictsForm):
    """Verdicts as training data, or in the forms of other tools.

    study : whose raters, data sets, systems and questions a page lists
    """

    form = _format(FORMS)
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
    systems = TextsField(required=False, exactly=2, label="Systems", help_text="Only pairs of these two.")
    field_order = ("form", "raters", "votes", "without", "dataset", "systems", "question", "stage")

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
