"""The form for sampling a system's texts."""

from typing import Any

from django import forms
from django.db import transaction

from annotation.core.actions import TextsField
from annotation.core.http import attempt
from annotation.importing.formats.study_file import LONGEST_SYSTEM
from annotation.models import Study
from judging.core.errors import BadSettings
from judging.core.fields import (
    CapField,
    DatasetField,
    InFlightField,
    JobForm,
    ParametersField,
    SeedField,
    StartLimitField,
    endpoint_field,
)
from judging.core.pricing import check_cap
from judging.generation.estimates import ON_A_PAGE, GenerationEstimate, estimate_generating
from judging.generation.instances import InstanceSelection, check_selection, count_instances
from judging.generation.prompt_templates import (
    LONGEST,
    TEMPLATES,
    Wording,
    default_template,
    find_template,
    own_template,
)
from judging.generation.services import (
    MAX_TEMPERATURE,
    MOST_SAMPLES,
    SAMPLES,
    TEMPERATURE,
    Sampling,
    build_run,
    start_generating,
)
from judging.models import GenerationRun


class GenerateForm(JobForm):
    """The system, its sampling settings, and the instances."""

    kind = GenerationRun
    NARROWING = ("dataset", "instances", "limit")
    BESIDE = ("in_flight",)
    fold_title = "Only a part of the instances"

    system = forms.CharField(
        max_length=LONGEST_SYSTEM,
        label="System",
        help_text="A name for this model with these settings; another temperature is another system.",
    )
    endpoint = endpoint_field(help_text="Added by a site admin.")
    samples = forms.IntegerField(min_value=1, max_value=MOST_SAMPLES, initial=SAMPLES, label="Texts of each instance")
    temperature = forms.FloatField(
        required=False,
        min_value=0,
        max_value=MAX_TEMPERATURE,
        initial=TEMPERATURE,
        label="Temperature",
        help_text="Default: the endpoint’s own.",
    )
    top_p = forms.FloatField(
        required=False, min_value=0, max_value=1, label="Top-p", help_text="Default: the endpoint’s own."
    )
    max_tokens = forms.IntegerField(
        required=False, min_value=1, label="Longest text, in tokens", help_text="Default: the endpoint’s own."
    )
    seed = SeedField(initial=0, help_text="Of the seeds sent with each call.")
    template = forms.ChoiceField(
        choices=lambda: [(name, find_template(name).version) for name in TEMPLATES],
        required=False,
        label="Template",
        help_text="What is asked. Default: by the study’s task.",
    )
    wording = forms.CharField(
        required=False,
        max_length=LONGEST,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        label="Or a template of your own",
        help_text="$source stands for the source text; $$ for a dollar sign.",
    )
    system_prompt = forms.CharField(
        required=False,
        max_length=LONGEST,
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
        label="System prompt",
        help_text="Sent before the prompt. Default: none.",
    )
    params = ParametersField(
        help_text="key=value, one per line, sent with each call. null removes one, such as seed=null."
    )
    keep_refusals = forms.BooleanField(
        required=False,
        label="Keep refusals",
        help_text="An answer that declines in words is a text like any other.",
    )
    max_cost = CapField()
    dataset = DatasetField()
    instances = TextsField(required=False, label="Ids of the instances", help_text="One per line. Default: all.")
    limit = StartLimitField(label="Most instances this time")
    in_flight = InFlightField()

    def __init__(self, *args: Any, study: Study, wording_name: str = "own", **kwargs: Any) -> None:
        super().__init__(*args, study=study, **kwargs)
        self.wording_name = wording_name
        self.fields["template"].initial = default_template(study.task_kind).version.rpartition(".v")[0]

    def clean_wording(self) -> Wording:
        """Return the template to ask by: the researcher's own, or else a built-in one."""
        name = self.cleaned_data.get("template")
        try:
            if self.cleaned_data["wording"].strip():
                return own_template(self.cleaned_data["wording"], self.wording_name)
            return find_template(name) if name else default_template(self.study.task_kind)
        except BadSettings as error:
            raise forms.ValidationError(str(error)) from error

    def clean(self) -> dict[str, Any]:
        """Refuse sampling settings that can't be sent."""
        data = super().clean() or {}
        if not self.errors:
            attempt(self, self.sampling.check)
        return data

    @property
    def sampling(self) -> Sampling:
        """The sampling settings of a valid form."""
        names = ("endpoint", "samples", "temperature", "top_p", "max_tokens", "seed", "params", "keep_refusals")
        system_prompt = self.cleaned_data["system_prompt"].replace("\r\n", "\n")
        return Sampling(template=self.cleaned_data["wording"], system_prompt=system_prompt, **self.named(*names))

    @property
    def selection(self) -> InstanceSelection:
        """The instances of a valid form."""
        return InstanceSelection(instances=tuple(self.cleaned_data["instances"]), **self.named("dataset", "limit"))

    def build(self, *, by: str = "") -> GenerationRun:
        """Return the run of a valid form, stored or not, whose bounds can be kept."""
        check_cap(self.cleaned_data["max_cost"], self.cleaned_data["endpoint"])
        check_selection(self.study, self.selection)
        return build_run(self.study, self.cleaned_data["system"], self.sampling, by=by)

    def estimate(self) -> GenerationEstimate:
        """Return what the sampling of a valid form would take."""
        return estimate_generating(self.build(), self.selection, limit=ON_A_PAGE)

    def start(self, **by: Any) -> GenerationRun:
        """Start the sampling of a valid form. `by`: who asks for it."""
        return start_generating(
            self.study,
            self.cleaned_data["system"],
            self.sampling,
            selection=self.selection,
            **self.named("in_flight", "max_cost"),
            **by,
        )

    def queue(self, **by: Any) -> tuple[GenerationRun, bool]:
        """Leave the sampling to a worker.

        Raises: BadSettings if there is nothing to sample
        """
        name = self.cleaned_data["system"]
        with transaction.atomic():
            run, is_queued = super().queue(**by)
            if count_instances(self.study, name, self.selection).open == 0:
                raise BadSettings(f"nothing to sample: every chosen instance has texts of {name}, or no source")
        return run, is_queued
