"""The form field of a study's further questions: rows of inputs on pages, JSON from commands and the API."""

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.template.loader import render_to_string
from django.utils.datastructures import MultiValueDict
from django.utils.safestring import SafeString

from annotation.questions.questions import LONGEST_DESCRIPTION, LONGEST_KEY, LONGEST_TEXT, MOST_QUESTIONS

SWITCHES = ("ties_allowed", "strength", "tie_kinds")


class FurtherQuestionForm(forms.Form):
    """One further question. A row whose key and text are empty is not asked."""

    text = forms.CharField(required=False, max_length=LONGEST_TEXT, label="Question")
    key = forms.CharField(
        required=False,
        max_length=LONGEST_KEY,
        label="Key",
        help_text="Its name in files and filters, such as coherence.",
    )
    description = forms.CharField(
        required=False,
        max_length=LONGEST_DESCRIPTION,
        label="Description",
        help_text="Shown to raters below the question.",
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    ties_allowed = forms.BooleanField(required=False, label="Offer “no preference”")
    tie_kinds = forms.BooleanField(required=False, label="Ask whether both are good or both are bad")
    strength = forms.BooleanField(required=False, label="Ask how much one is preferred")


class FurtherQuestionsWidget(forms.Widget):
    """A row of inputs for each question that could be asked."""

    use_fieldset = True
    template_name = "annotation/studies/_further_questions.html"

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """Render by the project's templates, which a widget's own renderer doesn't find."""
        return render_to_string(self.template_name, self.get_context(name, value, attrs))

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        """Add a form for each row. Unreadable values are shown as they were given."""
        context = super().get_context(name, value, attrs)
        rows = (
            [dict(question) for question in value if isinstance(question, Mapping)] if isinstance(value, list) else []
        )
        context["rows"] = [
            FurtherQuestionForm(
                prefix=f"{name}-{index}", initial=rows[index] if index < len(rows) else {"ties_allowed": True}
            )
            for index in range(MOST_QUESTIONS - 1)
        ]
        context["asked"] = len(rows)
        return context

    def value_from_datadict(self, data: Mapping[str, Any], files: MultiValueDict[str, Any], name: str) -> Any:
        """Return the value under `name`, or the rows that are not empty."""
        if name in data:
            return data[name]
        rows = [_row(data, f"{name}-{index}") for index in range(MOST_QUESTIONS - 1)]
        return [row for row in rows if row["key"] or row["text"]]

    def value_omitted_from_data(self, data: Mapping[str, Any], files: Any, name: str) -> bool:
        """Tell whether the form has none of the field's inputs."""
        return name not in data and f"{name}-0-text" not in data


def _row(data: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    texts = {name: str(data.get(f"{prefix}-{name}", "")).strip() for name in ("key", "text", "description")}
    return {**texts, **{name: f"{prefix}-{name}" in data for name in SWITCHES}}


class FurtherQuestionsField(forms.Field):
    """A list of further questions. `Study.clean` checks what is in them."""

    widget = FurtherQuestionsWidget
    json_shape = object

    def to_python(self, value: Any) -> list[Any]:
        """Read JSON from a text."""
        if isinstance(value, str):
            try:
                value = json.loads(value or "[]")
            except (ValueError, RecursionError):  # the latter: too many brackets within each other
                value = None
        if not isinstance(value, list):
            raise forms.ValidationError(
                "This must be a list of objects in JSON, as [%(example)s].",
                params={"example": '{"key": "coherence", "text": "Which one is more coherent?"}'},
            )
        return value
