"""The form for sampling a system's texts."""

from typing import Any

from django import forms

from annotation.core.actions import TextsField
from annotation.importing.formats.study_file import LONGEST_SYSTEM
from annotation.models import Study
from judging.core.errors import BadSettings
from judging.core.fields import (
    CapField,
    InFlightField,
    NarrowingForm,
    ParametersField,
    SeedField,
    StartLimitField,
    endpoint_field,
    or_all,
)
from judging.generation.instances import InstanceSelection
from judging.generation.prompt_templates import (
    LONGEST,
    TEMPLATES,
    Wording,
    default_template,
    find_template,
    own_template,
)
from judging.generation.services import MAX_TEMPERATURE, MOST_SAMPLES, SAMPLES, TEMPERATURE, Sampling


class GenerateForm(NarrowingForm):
    """The system, its sampling settings, and the instances."""

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
    template = forms.ChoiceField(required=False, label="Template", help_text="What is asked. Their texts are below.")
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
    dataset = forms.ChoiceField(required=False, label="Data set")
    instances = TextsField(required=False, label="Ids of the instances", help_text="One per line. Default: all.")
    limit = StartLimitField(label="Most instances this time")
    in_flight = InFlightField()

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        fields: dict[str, Any] = self.fields
        usual = default_template(study.task_kind).version
        fields["template"].choices = [(name, find_template(name).version) for name in TEMPLATES]
        fields["template"].initial = usual.rpartition(".v")[0]
        datasets = study.instances.order_by("dataset").values_list("dataset", flat=True).distinct()
        fields["dataset"].choices = or_all(datasets)

    def clean_wording(self) -> Wording:
        """Return the template to ask by: the researcher's own, or else a built-in one."""
        name = self.cleaned_data.get("template")
        try:
            if self.cleaned_data["wording"].strip():
                return own_template(self.cleaned_data["wording"])
            return find_template(name) if name else default_template(self.study.task_kind)
        except BadSettings as error:
            raise forms.ValidationError(str(error)) from error

    def clean(self) -> dict[str, Any]:
        """Build the sampling settings and the selection."""
        data = super().clean() or {}
        if self.errors:
            return data
        try:
            sampling = Sampling(
                template=data["wording"],
                **{name: data[name] for name in ("endpoint", "samples", "temperature", "top_p", "max_tokens", "seed")},
                system_prompt=data["system_prompt"].replace("\r\n", "\n"),
                params=data["params"],
                keep_refusals=data["keep_refusals"],
            )
            sampling.check()
        except BadSettings as error:
            self.add_error(None, str(error))
            return data
        data["sampling"] = sampling
        data["selection"] = InstanceSelection(data["dataset"], tuple(data["instances"]), data["limit"])
        return data
