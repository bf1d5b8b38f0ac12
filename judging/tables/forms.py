"""The forms of the pages of comparison tables: the filter of the list, and making them."""

from typing import Any

from django import forms
from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import ComparisonTable, Study
from judging.aspects.aspect_sets import current_aspects
from judging.core.fields import ParametersField, endpoint_field, or_all
from judging.methods.options import MOST_BUDGET, MOST_SAMPLES, OFFLINE, ONLINE
from judging.methods.sc2.bracket import EXACT, RANDOM, TOURNAMENT
from judging.models import Endpoint
from judging.runs.forms import PairsForm
from judging.tables.checked_tables import standing_flags
from judging.tables.making import TableSettings, default_variant


class TableFilterForm(forms.Form):
    """By variant, data set, systems, and whether raters flagged a row."""

    variant = forms.ChoiceField(required=False, label="Variant")
    dataset = forms.ChoiceField(required=False, label="Data set")
    systems = forms.ChoiceField(required=False, label="Systems")
    flagged = forms.BooleanField(required=False, label="Only with a row that raters flagged")

    def __init__(self, *args: Any, study: Study, variants: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        matchups = ("pair__matchup__system_a__name", "pair__matchup__system_b__name")
        rows = study.tables.order_by().values_list("pair__matchup__instance__dataset", *matchups).distinct()
        configurations = sorted(rows)
        self.study = study
        self.by_name = {f"{a} / {b}": (a, b) for _dataset, a, b in configurations}
        fields: dict[str, Any] = self.fields
        fields["variant"].choices = or_all(variants)
        fields["dataset"].choices = or_all(sorted({dataset for dataset, _a, _b in configurations}))
        fields["systems"].choices = or_all(self.by_name)

    def narrow(self, tables: QuerySet[ComparisonTable]) -> QuerySet[ComparisonTable]:
        """Filter the tables. Invalid values are ignored."""
        self.is_valid()
        cleaned: dict[str, Any] = self.cleaned_data
        if variant := cleaned.get("variant"):
            tables = tables.filter(variant=variant)
        if dataset := cleaned.get("dataset"):
            tables = tables.filter(pair__matchup__instance__dataset=dataset)
        if names := self.by_name.get(cleaned.get("systems") or ""):
            tables = tables.filter(pair__matchup__system_a__name=names[0], pair__matchup__system_b__name=names[1])
        if cleaned.get("flagged"):
            tables = tables.filter(Exists(standing_flags(self.study).filter(table=OuterRef("pk"))))
        return tables


class MakeTablesForm(PairsForm):
    """The settings and pairs of a run that creates tables."""

    endpoint = endpoint_field(empty_label=None)
    samples = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_SAMPLES,
        initial=8,
        label="Tables per pair",
    )
    budget = forms.IntegerField(
        required=False,
        min_value=2,
        max_value=MOST_BUDGET,
        label="Or: calls per pair",
        help_text="As many tables as fit. Leave “Tables per pair” empty.",
    )
    scheme = forms.ChoiceField(
        initial=TOURNAMENT,
        label="Choice of the most consistent table",
        choices=[
            (TOURNAMENT, "Tournament: one comparison fewer than tables"),
            (EXACT, "All pairs of tables in both orders: many comparisons"),
            (RANDOM, "At random: no comparison"),
        ],
    )
    aspects = forms.ChoiceField(
        initial=OFFLINE,
        label="Aspects",
        choices=[(OFFLINE, "The same for all pairs"), (ONLINE, "New for each pair")],
    )
    variant = forms.CharField(
        required=False,
        max_length=40,
        label="Variant",
        help_text="The name of these tables in the arms of a two-stage study. Default: by the settings, such as c8.",
    )
    params = ParametersField(
        help_text="key=value, one per line. Options of the judge; all others are sent with each call."
    )
    field_order = ("endpoint", "samples", "budget", "scheme", "aspects", "variant", "params", "batch")

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, study=study, **kwargs)
        if not self.is_bound:
            first = Endpoint.objects.order_by("name").values_list("name", flat=True).first()
            self.fields["endpoint"].initial = first

    def clean(self) -> dict[str, Any]:
        """Build the table settings: samples or a budget, and the current aspects."""
        data = super().clean() or {}
        budget, samples = data.pop("budget", None), data.pop("samples", None)
        if budget and samples:
            self.add_error("budget", "Give either the tables or the calls for each pair.")
        elif not budget and not samples and not self.errors:
            self.add_error("samples", "Give the number of tables per pair.")
        aspects = data.pop("aspects", OFFLINE)
        current, name = current_aspects(self.study)
        offline = tuple(current) if aspects == OFFLINE else ONLINE
        settings = TableSettings(
            samples=samples or 1,
            budget=budget,
            scheme=data.pop("scheme", TOURNAMENT),
            aspects=offline,
            params=data.pop("params", {}),
        )
        data["settings"] = settings
        data["variant"] = data.get("variant") or default_variant(settings, name)
        return data
