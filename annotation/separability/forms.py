"""The form of a separability computation."""

from django import forms
from django.utils.functional import lazy

from analysis.similarity import registry
from annotation.core.actions import TextsField
from annotation.models.separability import LONGEST_MODEL
from annotation.separability.encoders import KnownModel, list_models
from annotation.separability.jobs import SeparabilityRequest
from annotation.separability.measure import LEAST_SAMPLES, MOST_DRAWN, MOST_SEED, default_similarity

DEFAULT = "by meaning if a model is installed, else by words"
UNKNOWN = "Unknown similarity “%(value)s”. Allowed: {}."


class ComputeSeparability(forms.Form):
    """The computation to start. Every field is optional."""

    similarity = forms.ChoiceField(
        choices=lambda: [("", DEFAULT), *((name, name) for name in registry.names())],
        required=False,
        label="Similarity",
        help_text=f"Default: {DEFAULT}.",
        # Lazy: reading the names takes a look at each installed package.
        error_messages={"invalid_choice": lazy(lambda: UNKNOWN.format(", ".join(registry.names())), str)()},
    )
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
        initial="configuration",
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
    dataset = forms.CharField(required=False, max_length=100, label="Only this data set")
    systems = TextsField(required=False, exactly=2, label="Only these two systems")

    def request(self) -> SeparabilityRequest:
        """Return the request of a valid form."""
        cleaned = self.cleaned_data
        return SeparabilityRequest(
            similarity=cleaned["similarity"] or default_similarity(cleaned["model"]).similarity,
            group=cleaned["group"].replace(" ", "") or "configuration",
            cross_pairs=cleaned["cross"],
            **{name: cleaned[name] for name in ("model", "samples", "seed", "dataset", "systems")},
        )

    @staticmethod
    def known_models() -> list[KnownModel]:
        """List the installed models, as suggestions."""
        return list_models()
