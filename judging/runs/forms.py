"""The forms of the judges' pages."""

from itertools import combinations
from typing import Any

from django import forms
from django.core.validators import ProhibitNullCharactersValidator
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.html import format_html

from analysis.judges.juries import DAWID_SKENE, MAJORITY, WEIGHTED
from annotation.core.actions import TextsField
from annotation.core.names import pair_label
from annotation.models import Batch, Study
from annotation.models.studies import TaskKind
from annotation.studies.questions import named_questions
from judging.core.errors import BadPrompt, JudgingError, UnknownJudge
from judging.core.fields import (
    AskingForm,
    CapField,
    DatasetField,
    InFlightField,
    NamedField,
    NameField,
    ParametersField,
    QuestionsField,
    SeedField,
    StartLimitField,
    endpoint_field,
    judge_name_field,
    or_all,
    unknown_name,
)
from judging.core.visibility import prompt_files_of
from judging.methods import AskingMethod, Baseline, find_method, method_names
from judging.models import Judge, JudgeRun, Judgment, PromptFile
from judging.runs.estimates import RunEstimate, estimate
from judging.runs.judges import MOST_REPEATS, check_fit
from judging.runs.method_groups import RECOMMENDED, method_choices
from judging.runs.pair_filters import PairFilter
from judging.runs.provider_batches.files import MOST_REQUESTS
from judging.runs.services import queue_run, start_run
from judging.wordings.prompt_files import find_prompt
from judging.wordings.prompt_text import LONGEST


def runnable_methods() -> list[str]:
    """List the methods that can be run. `imported` only holds verdicts made elsewhere."""
    return [name for name in method_names() if isinstance(find_method(name), AskingMethod | Baseline)]


class PromptField(forms.ModelChoiceField[PromptFile]):
    """A prompt file, as NAME.vVERSION, or NAME for its latest version."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(PromptFile.objects.all(), **settings)

    def for_study(self, study: Study) -> None:
        """Offer the prompt files that a study's group may use."""
        self.queryset = prompt_files_of(study.group)

    def prepare_value(self, value: Any) -> Any:
        """Return the name of a prompt file with its version."""
        return str(value) if isinstance(value, PromptFile) else value

    def to_python(self, value: Any) -> Any:
        """Return the prompt file."""
        ProhibitNullCharactersValidator()(value)  # which PostgreSQL does not look for
        try:
            return find_prompt(str(value), self.queryset) if value else None
        except (UnknownJudge, BadPrompt) as error:
            raise forms.ValidationError(str(error), code="invalid_choice") from None


class PromptsField(forms.ModelMultipleChoiceField[PromptFile]):
    """Several prompt files, each as NAME.vVERSION, or NAME for its latest version. Not shown where there are none."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(PromptFile.objects.all(), **settings)

    def for_study(self, study: Study) -> None:
        """Offer the prompt files that a study's group may use."""
        self.queryset = prompt_files_of(study.group)
        if not self.queryset.exists():
            self.widget = forms.MultipleHiddenInput()

    def prepare_value(self, value: Any) -> Any:
        """Return the name of a prompt file with its version."""
        return str(value) if isinstance(value, PromptFile) else value

    def clean(self, value: Any) -> Any:
        """Return the prompt files."""
        one = PromptField()
        one.queryset = self.queryset
        return [one.clean(name) for name in value or ()]


class JudgeSettings(forms.Form):
    """A new judge."""

    name = judge_name_field(help_text="Shown in findings.")
    method = forms.ChoiceField(
        choices=lambda: [(name, name) for name in method_names()],
        label="Method",
        help_text="What is asked, and how it is read.",
    )
    endpoint = endpoint_field(required=False, empty_label="none (baselines)", help_text="A baseline needs none.")
    order = forms.ChoiceField(
        choices=Judge.OrderPolicy.choices, initial=Judge.OrderPolicy.RANDOM, label="Order of the texts"
    )
    combine = forms.ChoiceField(
        choices=Judge.Combine.choices,
        initial=Judge.Combine.TIE,
        label="When both orders are asked",
        help_text="Averaging needs a method and an endpoint with probabilities. A pair without them has no verdict.",
    )
    repeats = forms.IntegerField(
        label="Repeats",
        min_value=1,
        max_value=MOST_REPEATS,
        initial=1,
        help_text=(
            "How often each presentation is asked, at temperature 0.7 where the method would ask at 0, unless the parameters "
            "say otherwise. Findings count the first; the others show self-agreement."
        ),
    )
    negated = forms.BooleanField(
        required=False,
        label="Ask the negated question too",
        help_text="“Which text is worse?” measures negation invariance. Findings count the plain question only.",
    )
    task = forms.ChoiceField(
        choices=[("", "the study’s own"), *TaskKind.choices],
        required=False,
        label="Task",
        help_text="Whose wording is used.",
    )
    prompt_file = PromptField(
        required=False,
        label="Prompt of your own",
        empty_label="none: the method’s own",
        help_text="By name, or as NAME.vVERSION.",
    )
    family = forms.CharField(
        max_length=100, required=False, label="Family", help_text="The model's family, as on systems."
    )
    system_prompt = forms.CharField(
        max_length=LONGEST,
        required=False,
        label="System prompt",
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Sent before each call, as the system’s message.",
    )
    table_endpoint = endpoint_field(
        required=False,
        label="Endpoint of the tables",
        empty_label="none: the judge’s own",
        help_text="SC²: for aspects, tables and their comparison. The judge’s own endpoint gives the verdict.",
    )
    table_variant = forms.CharField(
        max_length=40,
        required=False,
        label="Tables of a variant",
        help_text="SC²: use stored tables of this study, and create none.",
    )
    params = ParametersField(
        help_text=(
            "key=value, one per line, such as temperature=0.7. Options of the method; all others are sent with "
            "each call. null removes a default."
        ),
    )
    seed = SeedField(help_text="Of orders and samples. Default: drawn, and recorded.")

    def __init__(
        self,
        *args: Any,
        judges: QuerySet[Judge] | None = None,
        prompts: QuerySet[PromptFile] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.judges = Judge.objects.all() if judges is None else judges
        if prompts is not None:
            fields: dict[str, Any] = self.fields
            fields["prompt_file"].queryset = prompts

    def clean_name(self) -> str:
        """Refuse the name of another group's judge."""
        return free_name(str(self.cleaned_data["name"]), self.judges)


class JudgeForm(JudgeSettings):
    """A new judge, on the page of a study."""

    FIRST = ("name", "method", "endpoint", "order")

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, prompts=prompt_files_of(study.group), **kwargs)
        fields: dict[str, Any] = self.fields
        fields["method"].choices, fields["method"].initial = method_choices, RECOMMENDED
        if len(endpoints := list(fields["endpoint"].queryset[:2])) == 1:
            fields["endpoint"].initial = endpoints[0].name
        where = format_html('<a href="{}">{}</a>', reverse("judging:endpoints"), "Endpoints")
        fields["endpoint"].help_text = format_html("Site admins set them up under {}. A baseline needs none.", where)

    @property
    def first(self) -> list[forms.BoundField]:
        """The fields that a judge needs."""
        return [self[name] for name in self.FIRST]

    @property
    def further(self) -> list[forms.BoundField]:
        """The fields with a default."""
        return [self[name] for name in self.fields if name not in self.FIRST]

    @property
    def is_further_wrong(self) -> bool:
        """Tell whether a field that is folded has errors."""
        return any(field.errors for field in self.further)

    def clean(self) -> dict[str, Any]:
        """Refuse settings that don't fit together."""
        data = super().clean() or {}
        if not self.errors:
            try:
                check_fit(**{name: value for name, value in data.items() if name not in ("name", "seed")})
            except JudgingError as error:
                self.add_error("endpoint" if data["endpoint"] is None else None, str(error))
        return data


class JuryForm(forms.Form):
    """A new jury of judges that have run on a study."""

    name = judge_name_field(help_text="Shown in findings.")
    members = forms.MultipleChoiceField(
        choices=[],
        label="Members",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose two judges or more."},
    )
    rule = forms.ChoiceField(
        choices=[
            (MAJORITY, "Majority: most votes"),
            (WEIGHTED, "Weighted by agreement with people on other instances"),
            (DAWID_SKENE, "Dawid and Skene’s model (three members or more)"),
        ],
        label="Rule",
        help_text="An equal split is a tie. A member without a verdict abstains.",
    )

    def __init__(self, *args: Any, study: Study, judges: QuerySet[Judge], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.judges = judges
        ran = settled(judges).filter(runs__study=study).exclude(method=Judge.JURY).distinct().order_by("name")
        fields: dict[str, Any] = self.fields
        fields["members"].choices = [(name, name) for name in ran.values_list("name", flat=True)]

    def clean_name(self) -> str:
        """Refuse the name of another group's judge."""
        return free_name(str(self.cleaned_data["name"]), self.judges)


def settled(judges: QuerySet[Judge]) -> QuerySet[Judge]:
    """Leave out the judges that are only tried while another is tuned."""
    return judges.exclude(tuned__has_key="candidate_of")


def free_name(name: str, judges: QuerySet[Judge]) -> str:
    """Refuse the name of a judge that is not among these."""
    if not judges.filter(name=name).exists() and Judge.objects.filter(name__iexact=name).exists():
        raise forms.ValidationError("This name is taken. Please choose another.", code="taken")
    return name


class SystemsField(NameField):
    """Two systems of a study, all if empty: one choice on a page, two names elsewhere."""

    json_shape = list
    exactly = 2

    def for_study(self, study: Study) -> None:
        """Offer each pair of a study's systems."""
        self.pairs = list(combinations(study.systems.order_by("position").values_list("name", flat=True), 2))
        self.by_label = {pair_label(*pair, " – "): pair for pair in self.pairs}
        self.offer(self.by_label)

    def clean(self, value: Any) -> tuple[str, ...]:
        """Return the two names, in the order of the study."""
        if not isinstance(value, list | tuple) or not value:
            return self.by_label.get(super().clean(value or ""), ())
        names = list(map(str, value))
        for pair in self.pairs:
            if sorted(pair) == sorted(names):
                return pair
        raise unknown_name(" – ".join(names), self.names)


class BatchField(NamedField):
    """A batch of a study, by its name."""

    def for_study(self, study: Study) -> None:
        """Offer the batches of a study."""
        self.queryset = study.batches.all()


class PairsForm(AskingForm):
    """Work on the pairs of a study, of one batch of it, or of a part of either."""

    NARROWING = ("dataset", "systems", "tags", "instances")

    batch = BatchField(
        Batch.objects.none(),
        required=False,
        label="Batch",
        empty_label="every pair that is on a HIT (while there is no batch: every pair)",
    )
    off_hits = forms.BooleanField(
        required=False,
        label="Include pairs on no HIT",
        help_text="Verdicts on pairs that people don’t rate make people’s win rates more precise.",
    )
    in_flight = InFlightField(is_kept=True)
    max_cost = CapField(default="the run’s cap, or none")
    limit = StartLimitField()

    dataset = DatasetField()
    systems = SystemsField(required=False, label="Systems")
    tags = TextsField(required=False, label="Tags", help_text="Only instances with one of these tags. One a line.")
    instances = TextsField(required=False, label="Ids of the instances", help_text="One a line.")

    def clean(self) -> dict[str, Any]:
        """Refuse pairs off the HITs of a batch: its pairs are all on them."""
        data = super().clean() or {}
        if data.get("off_hits") and data.get("batch"):
            self.add_error("off_hits", "All pairs of a batch are on its HITs: choose one of the two.")
        return data

    @property
    def pairs(self) -> dict[str, Any]:
        """The pairs of a valid form, as arguments of services."""
        narrowing: dict[str, Any] = {name: tuple(self.cleaned_data[name]) for name in ("systems", "tags", "instances")}
        only = PairFilter(**self.named("dataset", "off_hits"), **narrowing)
        return {"study": self.study, "batch": self.cleaned_data["batch"], "only": only}


class RunForm(PairsForm):
    """A judge to be run on the pairs of a study, of one batch, or of a part of either."""

    judge = NamedField(Judge.objects.none(), label="Judge")
    questions = QuestionsField(
        label="Questions",
        help_text="Each in a call of its own. Judges with the option together ask all in one call.",
    )
    way = forms.ChoiceField(
        choices=JudgeRun.Way.choices,
        initial=JudgeRun.Way.CALLS,
        required=False,
        label="Way of asking",
        help_text="A Batch API, if the endpoint has one, answers within a day at a lower price.",
    )
    batch_size = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_REQUESTS,
        label="Most requests in a provider’s batch",
        help_text="For accounts with a small queue. Default: the run’s number, or as many as the provider takes.",
    )
    field_order = ("judge", "questions", "batch", "off_hits", "way", "batch_size")

    def askable(self, judges: QuerySet[Judge]) -> QuerySet[Judge]:
        """Return the judges that can run, and juries."""
        return settled(judges).filter(method__in=[*runnable_methods(), Judge.JURY])

    def clean_way(self) -> str:
        """Default to calls."""
        return self.cleaned_data["way"] or JudgeRun.Way.CALLS

    @property
    def asked(self) -> dict[str, Any]:
        """Who is asked what, and how, of a valid form."""
        return {**self.pairs, **self.named("judge", "questions", "way")}

    def estimate(self) -> RunEstimate:
        """Return what the run of a valid form would take."""
        return estimate(**self.asked, limit=self.cleaned_data["limit"])

    def start(self) -> JudgeRun:
        """Start the run of a valid form, new or again."""
        return start_run(**self.asked, **self.named("in_flight", "max_cost", "batch_size"))

    def queue(self) -> JudgeRun:
        """Leave the run to a worker."""
        return queue_run(**self.asked, **self.named("in_flight", "max_cost", "batch_size", "limit"))


class JudgmentFilterForm(forms.Form):
    """A filter of a run's judgments."""

    outcome = forms.ChoiceField(
        required=False,
        label="Outcome",
        choices=[
            ("", "all asked"),
            ("a", "A preferred"),
            ("tie", "tie"),
            ("b", "B preferred"),
            *((status.value, status.label) for status in Judgment.Status if status != Judgment.Status.PARSED),
        ],
    )
    order = forms.ChoiceField(required=False, label="Order", choices=[("", "any"), *Judgment.Order.choices])
    asked = forms.ChoiceField(
        required=False,
        label="Question",
        choices=[
            ("", "all"),
            ("plain", "plain, first time"),
            ("repeat", "repeats"),
            ("negated", "negated"),
        ],
    )
    dataset = forms.ChoiceField(required=False, label="Data set")

    question = forms.ChoiceField(required=False, label="Question")

    def __init__(self, *args: Any, study: Study, datasets: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        fields["dataset"].choices = or_all(datasets)
        self.numbers = {question.key: number for number, question in named_questions(study).items()}
        if self.numbers:
            fields["question"].choices = or_all(self.numbers)
            fields["asked"].label = "Presentation"
        else:
            del fields["question"]

    def filters(self) -> dict[str, Any]:
        """Return the filter of the rows. Invalid values are ignored."""
        self.is_valid()
        cleaned: dict[str, Any] = self.cleaned_data
        outcome = cleaned.get("outcome")
        by_verdict = outcome in ("a", "tie", "b")
        values = {
            "verdict": ("a", "tie", "b").index(outcome) - 1 if by_verdict else None,
            "status": None if by_verdict else outcome,
            "order": cleaned.get("order"),
            "pair__matchup__instance__dataset": cleaned.get("dataset"),
            "question": self.numbers.get(cleaned.get("question") or ""),
        }
        filters_of_choice: dict[str, dict[str, Any]] = {
            "plain": {"repeat": 0, "negated": False},
            "repeat": {"repeat__gt": 0},
            "negated": {"negated": True},
        }
        filled = {name: value for name, value in values.items() if value not in (None, "")}
        return {**filled, **filters_of_choice.get(cleaned.get("asked") or "", {})}
