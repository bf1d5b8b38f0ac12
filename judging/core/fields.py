"""Form fields that several rooms share, and forms with a part that narrows what is chosen."""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from django import forms
from django.db.models import QuerySet

from annotation.core.errors import AnnotationError, UnknownName
from annotation.models import Study
from annotation.questions.questions import MAIN
from judging.core.constants import MAX_IN_FLIGHT, MOST_SEED
from judging.core.errors import JudgingError
from judging.models import Endpoint, Judge
from judging.models.runs import JUDGE_NAME


class ParametersField(forms.CharField):
    """Lines of key=value. A value is parsed as JSON where possible, else it is text."""

    widget = forms.Textarea(attrs={"rows": 3, "spellcheck": "false"})

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, label="Parameters", **kwargs)

    json_shape = dict

    def clean(self, value: Any) -> dict[str, Any]:
        """Parse the lines into a dictionary, which API requests send as it is."""
        if isinstance(value, dict):
            if wrong := [key for key in value if re.fullmatch(r"[\w.-]+", key) is None]:
                raise forms.ValidationError("%(key)s can't be the name of a parameter.", params={"key": wrong[0]})
            return value
        options: dict[str, Any] = {}
        for line in filter(str.strip, super().clean(value).splitlines()):
            key, equals, text = (part.strip() for part in line.partition("="))
            if not key or not equals:
                raise forms.ValidationError("Write key=value on each line, not: %(line)s", params={"line": line})
            if key in options:
                raise forms.ValidationError("%(key)s is given twice.", params={"key": key})
            options[key] = _value(text)
        return options


def judge_name_field(**settings: Any) -> forms.RegexField:
    """Return a field for the name of a new judge."""
    errors = {"invalid": JUDGE_NAME.message}
    settings = {"max_length": 80, "label": "Name", "strip": True, **settings}
    return forms.RegexField(JUDGE_NAME.regex, error_messages=errors, **settings)


def endpoint_field(**settings: Any) -> "forms.ModelChoiceField[Endpoint]":
    """Return a field for an endpoint, by its name."""
    return forms.ModelChoiceField(Endpoint.objects.all(), to_field_name="name", **{"label": "Endpoint", **settings})


class CapField(forms.DecimalField):
    """A cap on costs, in the endpoint's currency, with a note when it may be exceeded."""

    def __init__(self, *, default: str = "no cap", **kwargs: Any) -> None:
        super().__init__(
            required=False,
            min_value=0,
            max_digits=12,
            decimal_places=6,
            label="Cost cap",
            help_text=(
                "In the endpoint’s currency. Work stops before it exceeds this; calls in flight can exceed it "
                f"if max_tokens is not set. Default: {default}."
            ),
            **kwargs,
        )


class SeedField(forms.IntegerField):
    """A seed of draws."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"min_value": 0, "max_value": MOST_SEED, "label": "Seed", **kwargs})


class InFlightField(forms.IntegerField):
    """The number of concurrent calls."""

    def __init__(self, **kwargs: Any) -> None:
        settings = {"min_value": 1, "max_value": MAX_IN_FLIGHT, "initial": 8, "label": "Calls in flight"}
        super().__init__(**{**settings, **kwargs})


class StartLimitField(forms.IntegerField):
    """The limit of calls before work pauses."""

    def __init__(self, **kwargs: Any) -> None:
        settings = {
            "min_value": 1,
            "max_value": MOST_SEED,
            "label": "Most presentations this time",
            "help_text": "For a first try. Start again to continue. Default: all.",
        }
        super().__init__(required=False, **{**settings, **kwargs})


class NarrowingForm(forms.Form):
    """A form of which one part, folded away at first, narrows what is chosen.

    NARROWING : the fields by which it is narrowed; `BESIDE`: others that are folded away with them
    """

    NARROWING: ClassVar[tuple[str, ...]] = ()
    BESIDE: ClassVar[tuple[str, ...]] = ()

    def main_fields(self) -> list[forms.BoundField]:
        """Return the fields that are always in view."""
        return [field for field in self if field.name not in (*self.NARROWING, *self.BESIDE)]

    def narrowing_fields(self) -> list[forms.BoundField]:
        """Return the fields that are folded away."""
        return [self[name] for name in (*self.NARROWING, *self.BESIDE)]

    def narrows(self) -> bool:
        """Tell whether it was narrowed, validly or not."""
        return self.is_bound and any(self[name].data or self[name].errors for name in self.NARROWING)


class AskedJudgeForm(NarrowingForm):
    """A form about what one judge is to be asked in a study, about one of its questions and perhaps one data set."""

    judge = forms.ModelChoiceField(Judge.objects.none(), to_field_name="name", label="Judge")
    question = forms.ChoiceField(label="Question")
    dataset = forms.ChoiceField(required=False, label="Data set")
    in_flight = InFlightField()

    def __init__(self, *args: Any, study: Study, judges: QuerySet[Judge], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        fields: dict[str, Any] = self.fields
        fields["judge"].queryset = judges
        datasets = study.instances.order_by("dataset").values_list("dataset", flat=True).distinct()
        fields["dataset"].choices = or_all(datasets)
        questions = study.questions
        fields["question"].choices = [(str(question.number), question.key) for question in questions]
        if len(questions) == 1:
            del fields["question"]

    @property
    def asked_question(self) -> int:
        """The number of the question, by default the main one."""
        return int(self.cleaned_data.get("question", MAIN))


@contextmanager
def errors_on(
    form: forms.Form, kinds: tuple[type[AnnotationError], ...] = (JudgingError, UnknownName)
) -> Iterator[None]:
    """Turn a domain error within into an error of the form."""
    try:
        yield
    except kinds as error:
        form.add_error(None, str(error))


def or_all(names: Iterable[str]) -> list[tuple[str, Any]]:
    """Return the choices of one of some names, or of all."""
    return [("", "all"), *((name, name) for name in names)]


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except ValueError:
        return text


def _refuse_constant(name: str) -> None:
    # Neither JSON nor accepted by endpoints.
    raise forms.ValidationError("%(name)s is not a value that can be sent.", params={"name": name})
