"""Fields that several rooms share, and the form of work that asks a model."""

import json
import re
from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms
from django.db import transaction
from django.db.models import QuerySet

from annotation.core.errors import UnknownName
from annotation.core.files.json_values import read_value
from annotation.core.files.lines import unstorable_key
from annotation.jobs.work import queue_job
from annotation.models import Study
from annotation.models.jobs import Job
from annotation.questions.questions import MAIN
from annotation.studies.questions import find_question
from judging.core.constants import MAX_IN_FLIGHT, MOST_SEED
from judging.models import Endpoint, Judge
from judging.models.runs import JUDGE_NAME


class ParametersField(forms.CharField):
    """Lines of key=value. A value is parsed as JSON where possible, else it is text."""

    widget = forms.Textarea(attrs={"rows": 3, "spellcheck": "false"})

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, label="Parameters", **kwargs)

    json_shape = dict

    def clean(self, value: Any) -> dict[str, Any]:
        """Parse the lines, or a command's texts, into a dictionary, which API requests send as it is."""
        if isinstance(value, dict):
            if wrong := [key for key in value if re.fullmatch(r"[\w.-]+", key) is None]:
                raise forms.ValidationError("%(key)s can't be the name of a parameter.", params={"key": wrong[0]})
            return _storable(value)
        options: dict[str, Any] = {}
        lines = value if isinstance(value, list) else super().clean(value).splitlines()
        for line in filter(str.strip, lines):
            key, equals, text = (part.strip() for part in line.partition("="))
            if not key or not equals:
                raise forms.ValidationError("Write key=value on each line, not: %(line)s", params={"line": line})
            if key in options:
                raise forms.ValidationError("%(key)s is given twice.", params={"key": key})
            options[key] = _value(text)
        return _storable(options)


def judge_name_field(**settings: Any) -> forms.RegexField:
    """Return a field for the name of a new judge."""
    errors = {"invalid": JUDGE_NAME.message}
    settings = {"max_length": 80, "label": "Name", "strip": True, **settings}
    return forms.RegexField(JUDGE_NAME.regex, error_messages=errors, **settings)


MOST_LISTED = 20  # names in a refusal


def unknown_name(value: object, names: Iterable[str]) -> forms.ValidationError:
    """Return the refusal of a name, which lists those that exist."""
    names = sorted(names)
    listed = ", ".join(names[:MOST_LISTED]) + (", …" if len(names) > MOST_LISTED else "")
    return forms.ValidationError(
        "Unknown: %(value)s. Allowed: %(names)s.",
        code="invalid_choice",
        params={"value": value, "names": listed or "none yet"},
    )


class NamedField(forms.ModelChoiceField[Any]):
    """A row by its name."""

    def __init__(self, queryset: QuerySet[Any], **settings: Any) -> None:
        super().__init__(queryset, to_field_name="name", **settings)

    def to_python(self, value: Any) -> Any:
        """Return the row."""
        try:
            return super().to_python(value)
        except forms.ValidationError:
            names = self.queryset.order_by("name").values_list("name", flat=True)  # type: ignore[union-attr]
            raise unknown_name(value, names) from None


def endpoint_field(**settings: Any) -> NamedField:
    """Return a field for an endpoint, by its name."""
    return NamedField(Endpoint.objects.all(), **{"label": "Endpoint", **settings})


class NameField(forms.ChoiceField):
    """One of some names, all if empty."""

    def offer(self, names: Iterable[str]) -> None:
        """Offer these names."""
        self.names = list(names)
        self.choices = or_all(self.names)

    def validate(self, value: Any) -> None:
        """Refuse other names."""
        if value and value not in self.names:
            raise unknown_name(value, self.names)


class DatasetField(NameField):
    """A data set of a study, all if empty."""

    def __init__(self) -> None:
        super().__init__(required=False, label="Data set")

    def for_study(self, study: Study) -> None:
        """Offer the data sets of a study."""
        self.offer(study.instances.order_by("dataset").values_list("dataset", flat=True).distinct())


class QuestionField(forms.ChoiceField):
    """The number of a study's question, by its key. A study's only question is not shown."""

    def __init__(self, **settings: Any) -> None:
        shared = {"required": False, "label": "Question", "help_text": "By its key. Default: the main one."}
        super().__init__(**{**shared, **settings})

    def for_study(self, study: Study) -> None:
        """Offer the questions of a study."""
        self.study = study
        self.choices = [(question.key, question.text) for question in study.questions]
        if len(study.questions) == 1:
            self.widget = forms.HiddenInput()

    def clean(self, value: Any) -> Any:
        """Return the number."""
        return self.number(str(value or ""))

    def number(self, key: str) -> int:
        """Return the number of the question with a key, by default of the main one."""
        try:
            return find_question(self.study, key).number
        except UnknownName as error:
            raise forms.ValidationError(str(error), code="invalid_choice") from None


class QuestionsField(QuestionField):
    """The numbers of some of a study's questions, in their order."""

    json_shape = list
    widget = forms.CheckboxSelectMultiple

    def for_study(self, study: Study) -> None:
        """Offer the questions of a study."""
        super().for_study(study)
        self.required = len(study.questions) > 1
        self.initial = [study.questions[MAIN].key]

    def clean(self, value: Any) -> list[int]:
        """Return the numbers."""
        if self.required and not value:
            raise forms.ValidationError(self.error_messages["required"], code="required")
        return sorted({self.number(str(key)) for key in value or [""]})


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


class DefaultedField(forms.IntegerField):
    """A number. An empty one is the initial value."""

    def clean(self, value: Any) -> Any:
        """Return the number."""
        number = super().clean(value)
        return self.initial if number is None else number


class ResumeForm(forms.Form):
    """The cap of a job from now on. Default: none."""

    max_cost = CapField()


class SeedField(DefaultedField):
    """A seed of draws."""

    def __init__(self, **kwargs: Any) -> None:
        settings = {"min_value": 0, "max_value": MOST_SEED, "label": "Seed", "required": False}
        super().__init__(**{**settings, **kwargs})


class InFlightField(DefaultedField):
    """The number of concurrent calls. `is_kept`: by default as before."""

    def __init__(self, *, is_kept: bool = False) -> None:
        default: dict[str, Any] = {"help_text": "Default: as before, or 8."} if is_kept else {"initial": 8}
        super().__init__(required=False, min_value=1, max_value=MAX_IN_FLIGHT, label="Calls in flight", **default)


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


class AskingForm(forms.Form):
    """The settings of work that asks a model: it is estimated, then started.

    NARROWING : the fields that narrow what is asked about, folded away at first on a page
    BESIDE    : others that are folded away with them
    judges    : those that the user sees (default: all, for commands)
    """

    NARROWING: ClassVar[tuple[str, ...]] = ()
    BESIDE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *args: Any, study: Study, judges: QuerySet[Judge] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study, self.judges = study, Judge.objects.all() if judges is None else judges
        fields: dict[str, Any] = self.fields
        for field in fields.values():
            if hasattr(field, "for_study"):
                field.for_study(study)
        if "judge" in fields:
            related = ("endpoint", "table_endpoint", "prompt_file")
            fields["judge"].queryset = self.askable(self.judges).select_related(*related)

    def askable(self, judges: QuerySet[Judge]) -> QuerySet[Judge]:
        """Return those of the judges that can be asked."""
        return judges

    def main_fields(self) -> list[forms.BoundField]:
        """Return the fields that are always in view."""
        folded = (*self.NARROWING, *self.BESIDE)
        return [field for field in self if field.name not in folded and not field.is_hidden]

    def narrowing_fields(self) -> list[forms.BoundField]:
        """Return the fields that are folded away."""
        return [self[name] for name in (*self.NARROWING, *self.BESIDE)]

    def narrows(self) -> bool:
        """Tell whether it was narrowed, validly or not."""
        return self.is_bound and any(self[name].data or self[name].errors for name in self.NARROWING)

    def named(self, *names: str) -> dict[str, Any]:
        """Return clean values by name."""
        return {name: self.cleaned_data[name] for name in names}

    def estimate(self) -> Any:
        """Return what the work of a valid form would take."""
        raise NotImplementedError


class JobForm(AskingForm):
    """The settings of work that is a job. `kind`: its model."""

    kind: ClassVar[type[Job]]

    def start(self, **by: str) -> Any:
        """Return the job of a valid form, stored, new or as it was begun. `by`: who asks for it."""
        raise NotImplementedError

    def queue(self, **by: str) -> tuple[Any, bool]:
        """Leave the work to a worker. Return its job, and False if that is under way already."""
        with transaction.atomic():
            job = self.start(**by)
            return job, queue_job(job)


class AskedJudgeForm(AskingForm):
    """What one judge is to be asked in a study, about one of its questions."""

    judge = NamedField(Judge.objects.none(), label="Judge")
    question = QuestionField()


def or_all(names: Iterable[str]) -> list[tuple[str, Any]]:
    """Return the choices of one of some names, or of all."""
    return [("", "all"), *((name, name) for name in names)]


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except ValueError:
        return text
    except RecursionError as error:
        raise forms.ValidationError("A value can't be stored: %(error)s.", params={"error": error}) from None


def _storable(options: dict[str, Any]) -> dict[str, Any]:
    """Refuse what no database stores as JSON, such as 1e400."""
    try:
        read_value(json.dumps(options))
    except (ValueError, RecursionError) as error:
        raise forms.ValidationError("A value can't be stored: %(error)s.", params={"error": error}) from None
    if (key := unstorable_key(options)) is not None:
        raise forms.ValidationError("%(key)s holds characters that can't be stored.", params={"key": key})
    return options


def _refuse_constant(name: str) -> None:
    # Neither JSON nor accepted by endpoints.
    raise forms.ValidationError("%(name)s is not a value that can be sent.", params={"name": name})
