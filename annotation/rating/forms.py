"""Forms of the rating pages."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Assignment, Flag
from annotation.questions.questions import MAIN, MOST_QUESTIONS
from annotation.rating.store_vote import ClientReport

_VERSION = "version-"  # the one field that every question of a pair sends, answered or not
LONGEST_COMMENT = 2000  # characters, of a rater on a HIT or a pair
MOST_ROWS = 32_767  # what the column holds
PAIR_FLAGS = tuple((kind.value, kind.label) for kind in Flag.Kind if kind != Flag.Kind.UNSUPPORTED_ROW)


class _CardForm(forms.Form):
    """A form of a pair's card."""

    @property
    def problem(self) -> str:
        """All errors in one line."""
        return " ".join(str(message) for messages in self.errors.values() for message in messages)


class _ChoiceForm(_CardForm):
    """A choice on a pair of a HIT, and what the page reports with it."""

    _NO_CHOICE = _("Please choose one of the answers.")

    pair_key = forms.CharField(max_length=64)
    # `record_vote` refuses choices that the study does not offer.
    choice = forms.CharField(error_messages={"required": _NO_CHOICE, "null_characters_not_allowed": _NO_CHOICE})

    @property
    def vote(self) -> dict[str, Any]:
        """Keyword arguments for the services, of a valid form."""
        return {**self.cleaned_data, "report": _report_in(self.data)}


# Not fields of the form: a wrong clock must not cost the choice.
REPORT_FIELDS = {
    "page": forms.CharField(required=False, max_length=32),
    "version": forms.IntegerField(required=False, min_value=0),
    "chosen_at": forms.DateTimeField(required=False),
    "active_seconds": forms.FloatField(required=False, min_value=0),
    "wall_seconds": forms.FloatField(required=False, min_value=0),
    "source_opened": forms.NullBooleanField(required=False),
    "translated": forms.NullBooleanField(required=False),
}


def _report_in(data: Mapping[str, Any]) -> ClientReport:
    """Read what a page reports with a choice, without the fields that are invalid."""
    reported: dict[str, Any] = {}
    for name, field in REPORT_FIELDS.items():
        with suppress(forms.ValidationError):
            reported[name] = field.clean(field.widget.value_from_datadict(data, {}, name))
    return ClientReport(**reported)


def parse_times(lines: Iterable[str]) -> dict[str, ClientReport]:
    """Parse the times that a page reports when a stage is closed, `KEY:ACTIVE:WALL`. Skip malformed lines."""
    times = {}
    for line in lines:
        key, *seconds = line.split(":")
        try:
            active, wall = map(float, seconds)
        except ValueError:
            continue
        times[key] = ClientReport(active_seconds=active, wall_seconds=wall)
    return times


def votes_in(data: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the fields of each question of each pair in such a form, under the names of their own forms."""
    names = [name.removeprefix(_VERSION) for name in data if name.startswith(_VERSION)]
    fields = ("version", "choice", "reason", *REPORT_FIELDS)
    votes = []
    for name in names:
        key, _dot, question = name.partition(".")
        vote = {"pair_key": key, "question": question, "page": data.get("page", "")}
        votes.append(vote | {field: data[f"{field}-{name}"] for field in fields if f"{field}-{name}" in data})
    return votes


class VoteForm(_ChoiceForm):
    """An answer to one question on a pair, with a reason where the page asks for one."""

    _NOT_ASKED = {
        name: _("That question is not asked. Please load the page again.")
        for name in ("invalid", "min_value", "max_value")
    }

    question = forms.IntegerField(
        required=False, min_value=MAIN, max_value=MOST_QUESTIONS - 1, error_messages=_NOT_ASKED
    )

    @property
    def vote(self) -> dict[str, Any]:
        """Keyword arguments for `take_vote`, of a valid form."""
        vote = super().vote
        return {**vote, "question": vote["question"] or MAIN, "reason": self.data.get("reason")}


class SecondVoteForm(_ChoiceForm):
    """The second choice on one pair. The service requires a reason where the choice changes."""

    reason = forms.CharField(required=False)


class ReturnForm(forms.Form):
    """Why a HIT is returned."""

    reason = forms.ChoiceField(
        choices=Assignment.ReturnReason.choices, widget=forms.RadioSelect, label=_("Why do you return it?")
    )
    comment = forms.CharField(
        required=False,
        max_length=LONGEST_COMMENT,
        widget=forms.Textarea(attrs={"rows": 3}),
        label=_("Anything that the researcher should know? (optional)"),
    )


class FlagForm(_CardForm):
    """A flag on a pair, or on a row of its comparison table."""

    pair_key = forms.CharField(max_length=64)
    row = forms.IntegerField(required=False, min_value=0, max_value=MOST_ROWS)
    take_back = forms.BooleanField(required=False)
    kind = forms.ChoiceField(required=False, choices=PAIR_FLAGS)
    comment = forms.CharField(required=False, max_length=LONGEST_COMMENT)

    def clean(self) -> dict[str, Any]:
        """Require a kind for a flag on a pair."""
        cleaned = super().clean() or {}
        if cleaned.get("row") is None and not self.errors and not cleaned.get("kind"):
            self.add_error("kind", _("Please say what is wrong with the pair."))
        return cleaned
