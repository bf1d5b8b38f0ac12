"""Forms for selecting instances, and for making and extending batches."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.functional import cached_property

from analysis import similarity as similarities
from annotation.batches import designs
from annotation.batches.changes import LONGEST_REASON
from annotation.batches.sampling import (
    LONGEST_LEASE,
    MOST_CHECKS,
    MOST_HITS,
    MOST_PAIRS,
    MOST_RATERS,
    MOST_SEED,
    BatchSpec,
    SelectionSpec,
    ids_of,
    most_pairs,
    own_settings,
)
from annotation.core.keys import new_seed
from annotation.core.measured import names_of
from annotation.models import Batch, Study
from annotation.studies.configurations import Configuration, configurations
from annotation.studies.presets import batch_defaults

ALL, RANDOM, TOP, STRATIFIED, IMPORTANCE, IDS = "all", "random", "top", "stratified", "importance", "ids"
HOW: list[tuple[str, str]] = [
    (ALL, "All of them"),
    (RANDOM, "Some, at random"),
    (TOP, "The most separable ones"),
    (STRATIFIED, "As many from every bin of separability"),
    (IMPORTANCE, "At random, more separable ones more often"),
    (IDS, "Those on a list of ids"),
]
DESIGNS: list[tuple[str, str]] = [
    ("", "One: the pair above"),
    (designs.ALL, "Every pair on every instance"),
    (designs.BALANCED, "Some pairs on each instance, all equally often"),
    (designs.SWISS, "Neighbours in people’s ranking so far"),
]
NUMBERED = (RANDOM, TOP, STRATIFIED, IMPORTANCE)


class SelectionForm(forms.Form):
    """How instances are selected; fields that the chosen method does not use are ignored."""

    how = forms.ChoiceField(choices=HOW, initial=ALL, label="Which instances")
    number = forms.IntegerField(
        min_value=1,
        max_value=MOST_HITS - 1,
        required=False,
        label="How many",
        help_text="Of every bin, if by bin.",
    )
    bins = forms.IntegerField(
        min_value=1,
        max_value=9999,
        initial=4,
        required=False,
        label="Bins",
        help_text="Of one width each, from the least separability to the greatest.",
    )
    ids = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        label="Ids of the instances",
        help_text="One a line.",
    )
    ids_file = forms.FileField(
        required=False, label="Or a file of ids", help_text="Text in UTF-8, one id a line; added to those above."
    )
    similarity = forms.ChoiceField(
        required=False,
        label="Separability by",
        help_text=(
            "The similarity that the histogram shows, and by which is chosen. Of one that was computed several times, the "
            "latest run counts that drew nothing."
        ),
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=MOST_SEED,
        required=False,
        label="Seed",
        help_text="Determines the draw, and is recorded. Clear it for another draw.",
    )
    fee = forms.DecimalField(
        min_value=0,
        max_value=1000,
        max_digits=6,
        decimal_places=2,
        required=False,
        label="Fee of the channel, in %",
        help_text="For the cost shown here; nothing else depends on it.",
    )

    def offer_similarities(self, study: Study) -> None:
        """Offer all similarities, and the labels of the study's runs."""
        names = dict.fromkeys([*similarities.names(), *names_of(study.separability_runs.all())])
        field = cast(forms.ChoiceField, self.fields["similarity"])
        field.choices = [("", "computed last"), *((name, name) for name in names)]

    def clean_ids_file(self) -> "UploadedFile[Any] | None":
        """Refuse a file too large to be read within a web request."""
        file: UploadedFile[Any] | None = self.cleaned_data["ids_file"]
        if file is not None and (file.size or 0) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 2**20
            raise forms.ValidationError(f"Larger than {limit} MB.")
        return file

    def clean(self) -> dict[str, Any]:
        """Require what the method of selection needs."""
        cleaned = super().clean() or {}
        how = cleaned.get("how")
        if how in NUMBERED and cleaned.get("number") is None and "number" not in self.errors:
            self.add_error("number", "Say how many.")
        if how == STRATIFIED and cleaned.get("bins") is None and "bins" not in self.errors:
            self.add_error("bins", "Say how many bins.")
        file = cleaned.get("ids_file")
        text = file.read().decode("utf-8-sig", errors="replace") if file else ""
        cleaned["instance_ids"] = list(dict.fromkeys(ids_of(f"{cleaned.get('ids', '')}\n{text}")))
        if how == IDS and not cleaned["instance_ids"] and "ids_file" not in self.errors:
            self.add_error("ids", "Name the instances.")
        return cleaned

    @cached_property
    def drawn_seed(self) -> int:
        """The given seed, or one drawn now."""
        named: int | None = self.cleaned_data["seed"]
        return new_seed() if named is None else named

    @property
    def selection(self) -> SelectionSpec:
        """The selection that a valid form asks for."""
        cleaned = self.cleaned_data
        how, number = cleaned["how"], cleaned["number"]
        spec = {STRATIFIED: f"{STRATIFIED}:{cleaned['bins']}x{number}", ALL: ALL, IDS: IDS}.get(how, f"{how}:{number}")
        ids = tuple(cleaned["instance_ids"]) if how == IDS else ()
        return SelectionSpec(spec, ids, cleaned["similarity"] or None)

    @property
    def fee_percent(self) -> Decimal:
        """The channel's fee on top of the pay."""
        return Decimal(self.cleaned_data["fee"] or 0)

    @property
    def redisplay_values(self) -> dict[str, Any]:
        """Initial values for a form that shows a valid one again: with the drawn seed and a file's ids in the text field."""
        cleaned = self.cleaned_data
        return {**cleaned, "ids": "\n".join(cleaned["instance_ids"]), "ids_file": None, "seed": self.drawn_seed}


class ForecastForm(SelectionForm):
    """All settings that a forecast of a batch depends on."""

    configuration = forms.ChoiceField(label="Data set and systems")
    purpose = forms.ChoiceField(
        choices=Batch.Purpose.choices,
        initial=Batch.Purpose.RATING,
        required=False,
        label="What the answers are for",
        help_text=(
            "A qualification and hidden checks take instances whose gold prefers one of the two systems, "
            "and go to every rater."
        ),
    )
    design = forms.ChoiceField(
        choices=DESIGNS,
        required=False,
        label="Pairs of systems",
        help_text="A design makes one batch for each pair of systems in the data set of the choice above; raters meet the pairs mixed.",
    )
    per_instance = forms.IntegerField(
        min_value=1, max_value=9999, initial=1, required=False, label="Pairs of systems on each instance"
    )
    pairs = forms.IntegerField(min_value=1, max_value=MOST_PAIRS, label="Pairs per HIT")
    raters = forms.IntegerField(
        min_value=1, max_value=MOST_RATERS, label="Raters per HIT", help_text="Of a batch for ratings."
    )
    most_hits_per_rater = forms.IntegerField(
        min_value=1,
        max_value=MOST_HITS,
        required=False,
        label="HITs for one rater at most",
        help_text="Of this batch. Empty: no limit but the study’s.",
    )
    gold_rate = forms.FloatField(
        min_value=0,
        max_value=MOST_CHECKS,
        required=False,
        initial=0,
        label="Hidden gold HITs",
        help_text="Share of a rater’s HITs, as 0.1; of a batch for ratings. They come from the study’s gold batches.",
    )
    repeat_rate = forms.FloatField(
        min_value=0,
        max_value=MOST_CHECKS,
        required=False,
        initial=0,
        label="Hidden repeats",
        help_text="Share of a rater’s HITs that are an earlier one once more, sides swapped. Both together: 0.5 at most.",
    )
    lease_minutes = forms.IntegerField(
        min_value=1,
        max_value=LONGEST_LEASE,
        required=False,
        initial=60,
        label="Minutes for a HIT",
        help_text="How long a HIT stays claimed without activity; then others may claim it.",
    )

    def __init__(
        self, data: Any = None, files: Any = None, *, study: Study, initial: dict[str, Any] | None = None
    ) -> None:
        plan = batch_defaults(study)
        names = set(study.batches.values_list("name", flat=True))
        name = next(free for n in range(1, len(names) + 2) if (free := f"batch-{n}") not in names)
        begin = {
            "name": name,
            "pairs": min(plan.pairs, most_pairs(study) or plan.pairs),
            "raters": plan.raters,
            "seed": new_seed(),
            **_fields_of_spec(plan.select),
        }
        super().__init__(data, files, initial={**begin, **(initial or {})})
        self.offer_similarities(study)
        self.known: list[Configuration] = configurations(study)
        self.fields["configuration"] = forms.ChoiceField(choices=self._places(), label="Data set and systems")
        if not designs.datasets_with_designs(study):
            del self.fields["design"], self.fields["per_instance"]

    def _places(self) -> list[tuple[str, str]]:
        return [(str(place), str(one)) for place, one in enumerate(self.known)]

    def clean_configuration(self) -> Configuration:
        """Return the configuration object."""
        return self.known[int(self.cleaned_data["configuration"])]

    def clean_lease_minutes(self) -> int:
        """Default to 60 minutes."""
        return self.cleaned_data["lease_minutes"] or 60

    def clean_purpose(self) -> str:
        """Default to rating."""
        return self.cleaned_data["purpose"] or Batch.Purpose.RATING

    @property
    def asked_design(self) -> str:
        """The design that a valid form asks for; empty for a batch of one pair of systems."""
        named: str = self.cleaned_data.get("design", "")
        return f"{named}:{self.cleaned_data['per_instance'] or 1}" if named == designs.BALANCED else named

    @property
    def spec(self) -> BatchSpec:
        """The batch that a valid form asks for."""
        cleaned = self.cleaned_data
        return BatchSpec(
            **{key: cleaned[key] for key in ("configuration", "pairs", "raters", "purpose", "lease_minutes")},
            seed=self.drawn_seed,
            selection=self.selection,
            gold_rate=cleaned["gold_rate"] or 0.0,
            repeat_rate=cleaned["repeat_rate"] or 0.0,
            most_hits_per_rater=cleaned["most_hits_per_rater"],
        )

    @property
    def redisplay_values(self) -> dict[str, Any]:
        """As in the base class, with the configuration by its index in the list."""
        values = super().redisplay_values
        return {**values, "configuration": str(self.known.index(values["configuration"]))}


class BatchForm(ForecastForm):
    """A batch to be made."""

    name = forms.CharField(max_length=200, label="Name")

    field_order = [
        "name",
        "configuration",
        "design",
        "per_instance",
        "purpose",
        "pairs",
        "raters",
        "most_hits_per_rater",
        "how",
    ]

    @property
    def settings(self) -> dict[str, Any]:
        """Keyword arguments for `create_batch`."""
        spec = self.spec
        return {
            "name": self.cleaned_data["name"],
            "dataset": spec.configuration.dataset,
            "systems": (spec.configuration.system_a.name, spec.configuration.system_b.name),
            **spec.selection.arguments,
            "pairs": spec.pairs,
            "raters": spec.raters,
            **own_settings(spec),
            "seed": self.cleaned_data["seed"],  # if empty, an existing batch keeps its own
        }


def initial_of(settings_of_batch: dict[str, Any], known: list[Configuration]) -> dict[str, Any]:
    """Return a form's initial values from arguments of `create_batch`."""
    return {
        **{name: value for name, value in settings_of_batch.items() if name in ForecastForm.base_fields},
        **_fields_of_spec(settings_of_batch["select"]),
        "configuration": _place(known, settings_of_batch["dataset"], *settings_of_batch["systems"]),
        "ids": "\n".join(settings_of_batch["instance_ids"]),
        "similarity": settings_of_batch["similarity"] or "",
    }


def _fields_of_spec(spec: str) -> dict[str, Any]:
    """Return a selection's parts as values of the form's fields."""
    match = SelectionSpec(spec).match
    how = match["kind"] or (STRATIFIED if match["bins"] else spec)
    return {"how": how, "number": match["count"] or match["per_bin"], "bins": match["bins"] or 4}


def initial_from_query(query: Mapping[str, str], known: list[Configuration]) -> dict[str, Any]:
    """Return a form's initial values from a link's query: the method of selection and the configuration.

    `dataset`, `a` and `b` name the configuration; invalid values are ignored.
    """
    place = _place(known, *(query.get(name) for name in ("dataset", "a", "b")))
    kept: dict[str, Any] = {name: query[name] for name in ("number", "similarity") if name in query}
    if query.get("how") in dict(HOW):
        kept["how"] = query["how"]
    return {**kept, **({"configuration": place} if place else {})}


def _place(known: list[Configuration], *names: str | None) -> str | None:
    """Return the value of the configuration with this data set, A and B in the form's list."""
    places = (
        str(place) for place, one in enumerate(known) if (one.dataset, one.system_a.name, one.system_b.name) == names
    )
    return next(places, None)


NONE = "none"


class ExtendForm(SelectionForm):
    """More raters or more HITs for a batch, and why."""

    how = forms.ChoiceField(choices=[], initial=NONE, label="Further instances")
    more_raters = forms.IntegerField(
        min_value=0, max_value=MOST_RATERS, required=False, initial=0, label="More raters per HIT"
    )
    reason = forms.CharField(
        max_length=LONGEST_REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
        label="Why",
        help_text="Logged, and shown with the results.",
    )
    known_raters = forms.IntegerField(required=False, widget=forms.HiddenInput, label="Raters per HIT")
    known_hits = forms.IntegerField(required=False, widget=forms.HiddenInput, label="HITs")

    def __init__(
        self, data: Any = None, files: Any = None, *, batch: Batch, initial: dict[str, Any] | None = None
    ) -> None:
        begin = {"seed": new_seed(), "known_raters": batch.raters_per_hit, "known_hits": batch.hits.count()}
        super().__init__(data, files, initial={**begin, **(initial or {})})
        self.offer_similarities(batch.study)
        choices = [(NONE, "None"), *((value, label) for value, label in HOW if value != IMPORTANCE)]
        self.fields["how"] = forms.ChoiceField(choices=choices, initial=NONE, label="Further instances")
        if batch.purpose != Batch.Purpose.RATING:
            del self.fields["more_raters"]

    @property
    def more(self) -> int:
        """Number of further raters per HIT."""
        return self.cleaned_data.get("more_raters") or 0

    @property
    def further_selection(self) -> SelectionSpec | None:
        """The selection of further instances, if any."""
        return None if self.cleaned_data["how"] == NONE else self.selection

    @property
    def settings(self) -> dict[str, Any]:
        """Keyword arguments for `extend_batch`."""
        names = {name: self.cleaned_data[name] for name in ("reason", "seed", "known_raters", "known_hits")}
        selection = self.further_selection
        return {**names, **(selection.arguments if selection else {}), "more_raters": self.more}
