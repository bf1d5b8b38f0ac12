"""The form of a separability computation."""

from typing import Any

from django import forms

from analysis import similarity as similarities
from annotation.models.separability import LONGEST_MODEL
from annotation.separability.encoders import KnownModel, list_models
from annotation.separability.jobs import SeparabilityRequest
from annotation.separability.measure import LEAST_SAMPLES, MOST_DRAWN, MOST_SEED, default_similarity


class SeparabilityForm(forms.Form):
    """The similarity and its settings, all of which have defaults."""

    similarity = forms.ChoiceField(required=False, label="Similarity")
    model = forms.CharField(
        required=False,
        max_length=LONGEST_MODEL,
        label="Model",
        widget=forms.TextInput(attrs={"list": "known-models"}),
        help_text="For BERTScore, cosine and entities. Default: the installed one.",
    )
    group = forms.CharField(
        required=False,
        max_length=60,
        label="Normalised over",
        help_text="configuration, study, or two numbers as 0,1.",
    )
    samples = forms.IntegerField(
        required=False,
        min_value=LEAST_SAMPLES,
        max_value=MOST_DRAWN,
        label="Generations of each system",
        help_text="Drawn at random. Default: all.",
    )
    cross = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_DRAWN,
        label="Pairs of A and B",
        help_text="Drawn at random for each instance. Default: all.",
    )
    seed = forms.IntegerField(required=False, min_value=0, max_value=MOST_SEED, label="Seed of the draws")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [
            ("", "by meaning if a model is installed, else by words"),
            *((n, n) for n in similarities.names()),
        ]
        self.fields["similarity"] = forms.ChoiceField(required=False, choices=choices, label="Similarity")

    def known_models(self) -> list[KnownModel]:
        """List the installed models, as suggestions."""
        return list_models()

    def request(self) -> SeparabilityRequest:
        """Return the request of a valid form."""
        sent = self.cleaned_data
        return SeparabilityRequest(
            similarity=sent["similarity"] or default_similarity(sent["model"]).similarity,
            group=sent["group"].replace(" ", "") or "configuration",
            model=sent["model"],
            samples=sent["samples"],
            cross_pairs=sent["cross"],
            seed=sent["seed"],
        )
