"""Settings of creating, extending, copying and changing batches, for pages, API and commands."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar, cast

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.utils.functional import cached_property

from analysis.similarity import registry
from annotation.batches import designs
from annotation.batches.changes import copy_batch, extend_batch
from annotation.batches.forecast import BatchForecast, ExtensionForecast, extension_forecast, forecast
from annotation.batches.sampling import (
    LONGEST_LEASE,
    MOST_CHECKS,
    MOST_HITS,
    MOST_PAIRS,
    MOST_RATERS,
    MOST_SEED,
    ONE_DRAW,
    SELECTIONS,
    SETTINGS,
    BatchSpec,
    SelectionSpec,
    ids_of,
)
from annotation.batches.services import create_batch, set_batch_status
from annotation.batches.stop_rules import ALLOWED, NO_RULE, refuse_stop_rule, validate_stop_rule
from annotation.core.actions import TextsField, stored
from annotation.core.errors import InvalidSelection
from annotation.core.keys import new_seed
from annotation.models import Batch, Study
from annotation.models.separability import LONGEST_LABEL, names_of
from annotation.planning.frozen_plans import content_today, frozen_plan
from annotation.studies.configurations import Configuration, configuration, configuration_of_dataset, configurations
from annotation.studies.presets import batch_defaults
from annotation.studies.settings_form import LONGEST_REASON

ALL, RANDOM, TOP, STRATIFIED, IMPORTANCE, ACTIVE, DISAGREE, IDS = (
    *("all", "random", "top", "stratified", "importance", "active", "disagree", "ids"),
)
NONE = "none"
HOW: list[tuple[str, str]] = [
    (ALL, "All of them"),
    (RANDOM, "Some, at random"),
    (TOP, "The most separable ones"),
    (STRATIFIED, "The same number from each bin of separability"),
    (IMPORTANCE, "At random, more separable ones more often"),
    (ACTIVE, "At random, those of which judges are less sure more often"),
    (DISAGREE, "At random from those on which judges disagree"),
    (IDS, "Those on a list of ids"),
]
DESIGNS: list[tuple[str, str]] = [
    ("", "One: the pair above"),
    (designs.ALL, "Every pair on every instance"),
    (designs.BALANCED, "Some pairs on each instance, all equally often"),
    (designs.SWISS, "Neighbours in people’s ranking so far"),
]
INITIAL_STATUSES = [choice for choice in Batch.Status.choices if choice[0] in (Batch.Status.OPEN, Batch.Status.DRAFT)]
NUMBERED = (RANDOM, TOP, STRATIFIED, IMPORTANCE, ACTIVE, DISAGREE)


class DrawForm(forms.Form):
    """A draw of instances, by `select`, `instance_ids` and `similarity`.

    OPTIONAL_IN_PREVIEW : may be left out where nothing is created
    """

    OPTIONAL_IN_PREVIEW: ClassVar[tuple[str, ...]] = ()

    seed = stored(Batch, "seed", required=False, initial=None, min_value=0, max_value=MOST_SEED)
    fee_percent = forms.DecimalField(
        min_value=0,
        max_value=1000,
        max_digits=6,
        decimal_places=2,
        required=False,
        label="Fee of the channel, in %",
        help_text="For the cost shown here; nothing else depends on it.",
    )

    def for_preview(self) -> None:
        """Require no more than a preview needs."""
        for name in self.OPTIONAL_IN_PREVIEW:
            self.fields[name].required = False

    @cached_property
    def drawn_seed(self) -> int:
        """The given seed, or one drawn now."""
        named: int | None = self.cleaned_data["seed"]
        return new_seed() if named is None else named

    @property
    def fee(self) -> Decimal:
        """The channel's fee on top of the pay."""
        return Decimal(self.cleaned_data["fee_percent"] or 0)

    @property
    def selection(self) -> SelectionSpec | None:
        """The selection that a valid form asks for, if any."""
        cleaned = self.cleaned_data
        select = cleaned["select"] or (IDS if cleaned["instance_ids"] else "")
        return SelectionSpec(select, cleaned["instance_ids"], cleaned["similarity"] or None) if select else None


class SelectionForm(DrawForm):
    """A selection of instances. Fields that the method does not use are ignored."""

    how = forms.ChoiceField(choices=HOW, initial=ALL, label="Which instances")
    number = forms.IntegerField(
        min_value=1,
        max_value=MOST_HITS - 1,
        required=False,
        label="How many",
        help_text="From each bin, if drawn by bins.",
    )
    bins = forms.IntegerField(
        min_value=1,
        max_value=9999,
        initial=4,
        required=False,
        label="Bins",
        help_text="Equally wide, from the lowest to the highest separability.",
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
        help_text=("For the histogram and the choice of instances. Of several runs, the latest without draws counts."),
    )

    def offer_similarities(self, study: Study) -> None:
        """Offer all similarities, and the labels of the study's runs."""
        names = dict.fromkeys([*registry.names(), *names_of(study.separability_runs.all())])
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
        ids = list(dict.fromkeys(ids_of(f"{cleaned.get('ids', '')}\n{text}")))
        if how == IDS and not ids and "ids_file" not in self.errors:
            self.add_error("ids", "Name the instances.")
        number = cleaned.get("number")
        selects = {ALL: ALL, IDS: IDS, NONE: "", STRATIFIED: f"{STRATIFIED}:{cleaned.get('bins')}x{number}"}
        select = selects.get(str(how), f"{how}:{number}")
        return {**cleaned, "select": select, "ids": "\n".join(ids), "instance_ids": ids if how == IDS else []}

    @property
    def redisplay_values(self) -> dict[str, Any]:
        """Initial values for a form that shows a valid one again: with the drawn seed and a file's ids in the text field."""
        sent = {name: self[name].value() for name in self.fields}
        return {**sent, "ids": self.cleaned_data["ids"], "ids_file": None, "seed": self.drawn_seed}


class NamedSelectionForm(DrawForm):
    """A selection as the API and commands write it."""

    select = forms.CharField(
        required=False,
        max_length=60,
        label="Which instances",
        help_text=f"{SELECTIONS}, or ids (with instance_ids).",
    )
    instance_ids = TextsField(required=False, label="Ids of the instances")
    similarity = forms.CharField(
        required=False,
        max_length=LONGEST_LABEL,
        label="Separability by",
        help_text="A similarity, or the label of a run; computed last when left out.",
    )
    preview = forms.BooleanField(required=False, label="Only show the workload; store nothing.")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.is_bound and self["preview"].value():
            self.for_preview()


def of_study() -> None:
    """Stand for the study's own value where no study is known."""


class BatchSettings(DrawForm):
    """The settings of a batch, whichever way its systems and instances are named."""

    OPTIONAL_IN_PREVIEW = ("name",)

    name = stored(Batch, "name")
    purpose = stored(Batch, "purpose", required=False)
    pairs = stored(Batch, "pairs_per_hit", initial=of_study, min_value=1, max_value=MOST_PAIRS)
    raters = stored(Batch, "raters_per_hit", initial=of_study, min_value=1, max_value=MOST_RATERS)
    most_hits_per_rater = stored(Batch, "most_hits_per_rater", min_value=1, max_value=MOST_HITS)
    gold_rate = stored(Batch, "gold_rate", required=False, min_value=0, max_value=MOST_CHECKS)
    repeat_rate = stored(Batch, "repeat_rate", required=False, min_value=0, max_value=MOST_CHECKS)
    lease_minutes = stored(Batch, "lease_minutes", required=False, min_value=1, max_value=LONGEST_LEASE)
    stop_rule = stored(Batch, "stop_rule", required=False, validators=[validate_stop_rule])
    status = forms.ChoiceField(choices=INITIAL_STATUSES, initial=Batch.Status.OPEN, required=False, label="Status")

    def __init__(
        self, data: Any = None, files: Any = None, *, study: Study, initial: Mapping[str, Any] | None = None
    ) -> None:
        self.study, self.defaults = study, batch_defaults(study)
        numbers = {"pairs": self.defaults.pairs, "raters": self.defaults.raters}
        super().__init__(data, files, initial={**numbers, **(initial or {})})

    def clean_stop_rule(self) -> str:
        """Refuse a stop rule that could never hold, and any for a batch that is not for rating."""
        rule = str(self.cleaned_data["stop_rule"])
        if rule:
            try:
                refuse_stop_rule(self.study, rule)
            except InvalidSelection as error:
                raise forms.ValidationError(str(error)) from None
            if self.cleaned_data.get("purpose") not in ("", None, Batch.Purpose.RATING):
                raise forms.ValidationError("Only a batch for ratings can have a stop rule.")
        return rule

    @property
    def configuration(self) -> Configuration:
        """The data set and systems. Only the data set of a design counts."""
        raise NotImplementedError

    @property
    def asked_design(self) -> str:
        """The design that a valid form asks for, or an empty string for a batch of one pair of systems."""
        return str(self.cleaned_data.get("design", ""))

    @property
    def spec(self) -> BatchSpec:
        """The batch that a valid form asks for."""
        cleaned = self.cleaned_data
        settings_of_batch = {name: cleaned[name] for name in SETTINGS if cleaned[name] not in (None, "")}
        selection = self.selection or SelectionSpec()
        return BatchSpec(self.configuration, seed=self.drawn_seed, selection=selection, **settings_of_batch)

    def forecast(self) -> BatchForecast:
        """Forecast the batch, or those of a design."""
        if self.asked_design:
            return designs.design_forecast(self.spec, self.asked_design, fee_percent=self.fee)
        return forecast(self.spec, fee_percent=self.fee)

    def run(self, *, by: User | None = None) -> tuple[list[Batch], bool]:
        """Create the batch, or those of a design. Return them and whether they are new."""
        cleaned = self.cleaned_data
        arguments: dict[str, Any] = {
            "spec": self.spec,
            "name": cleaned["name"],
            "status": cleaned["status"] or Batch.Status.OPEN,
            "by": by,
            "drawn": cleaned["seed"] is None,
        }
        if self.asked_design:
            return designs.create_design(design=self.asked_design, **arguments)
        batch, created = create_batch(**arguments)
        return [batch], created


class CreateBatch(NamedSelectionForm, BatchSettings):
    """A batch to be made. `pairs`, `raters` and `select` are the study's own when left out."""

    dataset = stored(Batch, "dataset")
    systems = TextsField(required=False, exactly=2, label="The two systems")
    design = forms.CharField(
        required=False,
        max_length=20,
        label="Instead of systems, one batch for each pair of them",
        help_text=f"{designs.DESIGNS}.",
    )

    def clean(self) -> dict[str, Any]:
        """Require two systems or a design. Take the study's own selection when none is named."""
        cleaned = super().clean() or {}
        if not cleaned.get("instance_ids"):
            cleaned["select"] = cleaned.get("select") or self.defaults.select
        if not self.errors and bool(cleaned["systems"]) == bool(cleaned["design"]):
            self.add_error("systems", "Give two systems, or a design over all of them.")
        return cleaned

    @property
    def configuration(self) -> Configuration:
        """The data set and systems.

        Raises: UnknownName.
        """
        dataset, systems = self.cleaned_data["dataset"], self.cleaned_data["systems"]
        if not systems:
            return configuration_of_dataset(self.study, dataset)
        return configuration(self.study, dataset=dataset, systems=systems)


class BatchForm(SelectionForm, BatchSettings):
    """The page of a batch to be made, which offers what there is to choose from."""

    design = forms.ChoiceField(
        choices=DESIGNS,
        required=False,
        label="Pairs of systems",
        help_text=(
            "A design creates one batch for each pair of systems in the data set chosen above. Raters get HITs of "
            "all of them."
        ),
    )
    per_instance = forms.IntegerField(
        min_value=1, max_value=9999, initial=1, required=False, label="Pairs of systems on each instance"
    )

    def __init__(
        self, data: Any = None, files: Any = None, *, study: Study, initial: Mapping[str, Any] | None = None
    ) -> None:
        names = set(study.batches.values_list("name", flat=True))
        plan = frozen_plan(study)
        planned = content_today(study, plan) if plan else {}
        begin = {
            "name": next(free for n in range(1, len(names) + 2) if (free := f"batch-{n}") not in names),
            "seed": new_seed(),
            **_fields_of_spec(batch_defaults(study).select),
            **{name: planned[name] for name in ("pairs", "raters", "stop_rule") if planned.get(name)},
        }
        super().__init__(data, files, study=study, initial={**begin, **(initial or {})})
        self.offer_similarities(study)
        self.known: list[Configuration] = configurations(study)
        options = [(str(index), str(named)) for index, named in enumerate(self.known)]
        self.fields["configuration"] = forms.ChoiceField(choices=options, label="Data set and systems")
        datasets = [named.dataset for named in self.known]
        if len(set(datasets)) == len(datasets):  # of none more than two systems are compared
            del self.fields["design"], self.fields["per_instance"]

    @property
    def details(self) -> list[forms.BoundField]:
        """The fields that are folded away."""
        names = [name for name in SETTINGS if name not in ("purpose", "pairs", "raters")]
        return [self[name] for name in (*names, "fee_percent")]

    def clean_configuration(self) -> Configuration:
        """Return the configuration object."""
        return self.known[int(self.cleaned_data["configuration"])]

    def clean(self) -> dict[str, Any]:
        """Name the number of pairs of a balanced design."""
        cleaned = super().clean()
        if cleaned.get("design") == designs.BALANCED:
            cleaned["design"] = f"{designs.BALANCED}:{cleaned.get('per_instance') or 1}"
        return cleaned

    @property
    def configuration(self) -> Configuration:
        """The chosen data set and systems."""
        return cast(Configuration, self.cleaned_data["configuration"])


def initial_of(spec: BatchSpec, configurations: list[Configuration]) -> dict[str, Any]:
    """Return a form's initial values from the specification of a batch."""
    named, selection = spec.configuration, spec.selection
    return {
        **{name: getattr(spec, name) for name in SETTINGS},
        **_fields_of_spec(selection.spec),
        "configuration": _place(configurations, named.dataset, named.system_a.name, named.system_b.name),
        "ids": "\n".join(selection.instance_ids),
        "similarity": selection.similarity or "",
    }


def _fields_of_spec(spec: str) -> dict[str, Any]:
    """Return a selection's parts as values of the form's fields."""
    match = SelectionSpec(spec).match
    how = match["kind"] or (STRATIFIED if match["bins"] else spec)
    return {"how": how, "number": match["count"] or match["per_bin"], "bins": match["bins"] or 4}


def initial_from_query(query: Mapping[str, str], configurations: list[Configuration]) -> dict[str, Any]:
    """Return a form's initial values from a link's query: the method of selection and the configuration.

    `dataset`, `a` and `b` name the configuration; invalid values are ignored.
    """
    index = _place(configurations, *(query.get(name) for name in ("dataset", "a", "b")))
    initial: dict[str, Any] = {name: query[name] for name in ("number", "similarity") if name in query}
    if query.get("how") in dict(HOW):
        initial["how"] = query["how"]
    return {**initial, **({"configuration": index} if index else {})}


def _place(configurations: list[Configuration], *names: str | None) -> str | None:
    """Return the value of the configuration with this data set, A and B in the form's list."""
    indexes = (
        str(index)
        for index, configuration in enumerate(configurations)
        if (configuration.dataset, configuration.system_a.name, configuration.system_b.name) == names
    )
    return next(indexes, None)


class ExtensionSettings(DrawForm):
    """The settings of an extension, whichever way its instances are named."""

    OPTIONAL_IN_PREVIEW = ("reason",)

    more_raters = forms.IntegerField(
        min_value=0, max_value=MOST_RATERS, required=False, initial=0, label="More raters per HIT"
    )
    reason = forms.CharField(
        max_length=LONGEST_REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
        label="Why",
        help_text="Logged, and shown with the results.",
    )
    known_raters = forms.IntegerField(
        required=False,
        widget=forms.HiddenInput,
        label="Raters per HIT",
        help_text="Refused when the batch has another number by now.",
    )
    known_hits = forms.IntegerField(
        required=False,
        widget=forms.HiddenInput,
        label="HITs",
        help_text="Refused when the batch has another number by now.",
    )

    @property
    def more(self) -> int:
        """Number of further raters per HIT."""
        return self.cleaned_data.get("more_raters") or 0

    def forecast(self, batch: Batch) -> ExtensionForecast:
        """Forecast the extension."""
        return extension_forecast(batch, self.more, self.selection, self.drawn_seed, fee_percent=self.fee)

    def run(self, batch: Batch, *, by: User | None = None) -> Batch:
        """Extend the batch."""
        names = ("reason", "seed", "known_raters", "known_hits")
        values = {name: self.cleaned_data[name] for name in names}
        return extend_batch(batch=batch, more_raters=self.more, selection=self.selection, by=by, **values)


class ExtendBatch(NamedSelectionForm, ExtensionSettings):
    """An extension of a batch, and why."""


class ExtendForm(SelectionForm, ExtensionSettings):
    """The page of an extension."""

    how = forms.ChoiceField(
        choices=[(NONE, "None"), *((value, label) for value, label in HOW if value not in ONE_DRAW)],
        initial=NONE,
        label="More instances",
    )

    def __init__(
        self, data: Any = None, files: Any = None, *, batch: Batch, initial: dict[str, Any] | None = None
    ) -> None:
        begin = {"seed": new_seed(), "known_raters": batch.raters_per_hit, "known_hits": batch.hits.count()}
        super().__init__(data, files, initial={**begin, **(initial or {})})
        self.offer_similarities(batch.study)
        if batch.purpose != Batch.Purpose.RATING:
            del self.fields["more_raters"]


class CopyBatch(forms.Form):
    """A copy of a batch."""

    name = stored(Batch, "name")
    dataset = stored(Batch, "dataset", required=False)
    systems = TextsField(required=False, exactly=2, label="The two systems")
    seed = DrawForm.base_fields["seed"]
    status = forms.ChoiceField(choices=INITIAL_STATUSES, initial=Batch.Status.DRAFT, required=False, label="Status")

    def run(self, batch: Batch, *, by: User | None = None) -> tuple[Batch, bool]:
        """Copy the batch, to the same data set and systems where no others are named."""
        cleaned = self.cleaned_data
        target = configuration(
            batch.study,
            dataset=cleaned["dataset"] or batch.dataset,
            systems=cleaned["systems"] or (batch.system_a.name, batch.system_b.name),
        )
        values = {name: cleaned[name] for name in ("name", "seed")}
        return copy_batch(
            batch=batch, configuration=target, status=cleaned["status"] or Batch.Status.DRAFT, by=by, **values
        )


class SetBatch(forms.Form):
    """The new status of a batch, its new stop rule, or both; of one batch, or all of its design."""

    status = forms.ChoiceField(choices=[("", "as it is"), *Batch.Status.choices[1:]], required=False, label="Status")
    stop_rule = forms.CharField(
        required=False,
        max_length=200,
        label="Stop when",
        help_text=f"{ALLOWED}; {NO_RULE}: no stop rule. Default: as it is.",
    )
    reason = forms.CharField(
        required=False, max_length=LONGEST_REASON, label="Why", help_text="Kept in the study’s log."
    )
    design = forms.BooleanField(required=False, label="Change all batches of the design")

    def clean_stop_rule(self) -> str:
        """Refuse an unknown stop rule."""
        rule = str(self.cleaned_data["stop_rule"])
        if rule not in ("", NO_RULE):
            validate_stop_rule(rule)
        return rule

    def clean(self) -> dict[str, Any]:
        """Require a change."""
        cleaned = super().clean() or {}
        if not self.errors and not (cleaned["status"] or cleaned["stop_rule"]):
            self.add_error("status", "Give a status, or a stop rule.")
        return cleaned

    def run(self, batch: Batch, *, by: User | None = None) -> list[Batch]:
        """Change the batch, or those of its design. Return them."""
        values = {name: self.cleaned_data[name] for name in ("status", "stop_rule", "reason")}
        if self.cleaned_data["design"]:
            return designs.set_design_status(study=batch.study, name=designs.design_of(batch), by=by, **values)
        return [set_batch_status(batch=batch, by=by, **values)]
