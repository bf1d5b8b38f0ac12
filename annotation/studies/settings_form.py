"""The form of a study's settings. Commands and the API validate with it too."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms
from django.db.models import JSONField, TextField
from django.template.loader import render_to_string
from django.utils.datastructures import MultiValueDict
from django.utils.safestring import SafeString

from annotation.core.actions import TextsField, checked, type_problem
from annotation.core.errors import BadFields
from annotation.models import Study
from annotation.questions.labels import translate_default
from annotation.questions.questions import (
    LONGEST_DESCRIPTION,
    LONGEST_KEY,
    LONGEST_TEXT,
    MOST_QUESTIONS,
    BadQuestion,
    checked_questions,
)
from annotation.studies.amendments import rating_has_begun

LONGEST_REASON = 2000


QUESTION_FIELDS = (
    *("label_left", "label_right", "question", "question_description", "ties_allowed", "tie_kinds", "strength"),
    *("question_key", "criteria", "first_reason", "first_reason_min_length"),
)


PAY_FIELDS = ["pay_per_hit", "currency", "minutes_per_hit", "pay_late"]
GROUPS: list[tuple[str, str, list[str]]] = [
    ("Study", "Title and task, for researchers only.", ["title", "task_kind"]),
    (
        "What raters read",
        "Consent, guidelines, and how texts are displayed. Name no system: raters must not know who wrote what.",
        [
            *("consent_text", "guidelines", "content_warning", "contact", "source_label"),
            *("language", "render_markdown", "render_math"),
        ],
    ),
    (
        "Questions",
        "What raters are asked about each pair. Once there are votes, only the wording can change.",
        list(QUESTION_FIELDS),
    ),
    ("Rating page", "The order of the pairs, and what follows a choice.", ["pair_order", "auto_advance"]),
    (
        "Two stages",
        "A second vote on each pair, after the first votes of a HIT. Fixed once there are votes.",
        ["protocol", "arms", "arm_unit", "balance_arms", "reason_min_length"],
    ),
    (
        "Personal data",
        "When personal data are deleted. Pay raters before: afterwards they cannot be identified.",
        ["keep_personal_days"],
    ),
    (
        "HITs",
        "Pairs and raters of new batches; each batch can have others.",
        ["pairs_per_hit", "raters_per_hit", "most_hits_per_rater"],
    ),
    ("Pay", "Pay and time for a HIT, shown to raters before consent.", PAY_FIELDS),
    (
        "Qualification and checks",
        "Shares of pairs that raters must get right, from 0 to 1.",
        [
            *("qualification_share", "qualification_attempts", "qualification_hits", "check_pairs_needed"),
            *("gold_warn_below", "gold_block_below", "repeat_warn_below", "repeat_block_below"),
        ],
    ),
]
SETTINGS = [name for _title, _subject, names in GROUPS for name in names]


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


class StudySettingsForm(forms.ModelForm[Study]):
    """All settings of a study, in groups."""

    # The groups of these fields show what they come to: the questions as raters see them, the pay for an hour.
    PREVIEWS: ClassVar[dict[str, str]] = {
        "question": "annotation:question-preview",
        PAY_FIELDS[0]: "annotation:pay-preview",
    }

    arms = TextsField(
        required=False,
        label="Arms",
        help_text=(
            "One a line, such as table:c8. none: asked again without a table. table:VARIANT: the pair’s own comparison "
            "table. placebo:VARIANT: another pair’s table. Default: none are set."
        ),
    )

    criteria = FurtherQuestionsField(
        required=False,
        label="Further questions",
        help_text="Up to five about each pair, after the main one. Leave a row empty to skip it. Default: none.",
    )

    class Meta:
        model = Study
        fields = SETTINGS
        widgets: ClassVar[dict[str, forms.Widget]] = {
            name: forms.Textarea(attrs={"rows": rows})
            for name, rows in (
                *(("consent_text", 8), ("guidelines", 8)),
                *(("content_warning", 3), ("question_description", 2)),
            )
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["arms"] = "\n".join(self.instance.arms)
        self.is_amending = self.instance.pk is not None and rating_has_begun(self.instance)
        if self.is_amending:
            self.fields["amendment_reason"] = reason_field()

    def clean_arms(self) -> list[str]:
        """Split names at commas, too."""
        names = [name.strip() for text in self.cleaned_data["arms"] for name in text.split(",")]
        return [name for name in names if name]

    def clean(self) -> dict[str, Any]:
        """Return further questions as they are stored, if they can be asked."""
        cleaned = super().clean() or {}
        if "criteria" in cleaned:
            try:
                cleaned["criteria"] = checked_questions(cleaned["criteria"], cleaned.get("question_key", ""))
            except BadQuestion as problem:
                self.add_error("criteria", str(problem))
        return cleaned

    def clean_currency(self) -> str:
        """Return the code in capital letters."""
        return str(self.cleaned_data["currency"]).upper()

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of a valid form."""
        return {name: value for name, value in self.cleaned_data.items() if name != "amendment_reason"}

    @property
    def reason(self) -> str:
        """The reason of an amendment, or an empty string before rating has begun."""
        return str(self.cleaned_data.get("amendment_reason", ""))

    @property
    def groups(self) -> list["SettingsGroup"]:
        """The groups of fields, each field with its default."""
        return [self._group(title, summary, names) for title, summary, names in GROUPS]

    def _group(self, title: str, summary: str, names: Sequence[str]) -> "SettingsGroup":
        fields: list[Any] = [self[name] for name in names]
        for bound in fields:
            if default := default_shown(bound.name):
                note = f"Default: {default}"
                stop = "" if default.endswith(("?", "!", ".")) else "."
                bound.help_text = f"{bound.field.help_text} {note}{stop}".strip()
            bound.is_changed = is_changed(self.instance, bound.name)
        preview = next((self.PREVIEWS[name] for name in names if name in self.PREVIEWS), "")
        changed = [str(bound.label) for bound in fields if bound.is_changed]
        return SettingsGroup(title, summary, fields, preview, changed)


@dataclass(frozen=True)
class SettingsGroup:
    """Settings on one subject, with a one-line summary and the labels of the changed ones.

    preview : name of the address that shows what the fields come to, or ""
    """

    title: str
    about: str
    fields: Sequence[forms.BoundField]
    preview: str
    changed: Sequence[str]

    @property
    def is_wrong(self) -> bool:
        """Tell whether a field has errors."""
        return any(field.errors for field in self.fields)


def default_shown(name: str) -> str:
    """Return a setting's default as the pages show it, or an empty string for long texts and lists."""
    field: Any = Study._meta.get_field(name)
    if isinstance(field, TextField | JSONField) or not field.has_default():
        return ""
    value = field.get_default()
    if field.choices:
        return str(dict(field.flatchoices)[value])
    if isinstance(value, bool):
        return "on" if value else "off"
    return translate_default(str(value))


def is_changed(study: Study, name: str) -> bool:
    """Tell whether a study's setting is not at its default. A study always has a title."""
    field: Any = Study._meta.get_field(name)
    return name != "title" and getattr(study, name) != field.get_default()


class QuestionsForm(StudySettingsForm):
    """The questions alone, for their preview."""

    arms = None  # type: ignore[assignment]  # how Django leaves out a field of the parent

    class Meta(StudySettingsForm.Meta):
        fields = list(QUESTION_FIELDS)


class PayForm(StudySettingsForm):
    """The pay alone, for its preview."""

    arms = criteria = None  # type: ignore[assignment]

    class Meta(StudySettingsForm.Meta):
        fields = PAY_FIELDS


def reason_field(**more: Any) -> forms.CharField:
    """Return the field of a reason."""
    named: dict[str, Any] = {
        "label": "Why is this changed?",
        "help_text": "Kept with the date and what was changed, and shown with the results.",
        "required": False,
        **more,
    }
    return forms.CharField(max_length=LONGEST_REASON, widget=forms.Textarea(attrs={"rows": 2}), **named)


class ReasonForm(forms.Form):
    """The reason of a change."""

    reason = reason_field(label="Reason", help_text="Kept in the study’s log.")


class AmendmentForm(forms.Form):
    """The reason of an amendment."""

    amendment_reason = reason_field()


def checked_settings(study: Study, values: Mapping[str, Any]) -> dict[str, Any]:
    """Validate some settings together with the study's others, and return their cleaned values.

    values : by name, as in JSON; numbers, true and false may be texts
    Raises: BadFields, also for an unknown name.
    """
    present = StudySettingsForm(instance=study)
    fields = {name: present.fields[name] for name in SETTINGS}
    if unknown := [name for name in values if name not in fields]:
        raise BadFields({name: [f"Unknown setting. Allowed: {', '.join(fields)}."] for name in unknown})
    if bad := {name: [problem] for name, value in values.items() if (problem := type_problem(fields[name], value))}:
        raise BadFields(bad)
    cleaned = checked(StudySettingsForm({**present.initial, **values}, instance=study))
    return {name: cleaned[name] for name in values}
