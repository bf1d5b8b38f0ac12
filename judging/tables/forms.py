"""The forms of the pages of comparison tables: the filter of the list, and making them."""

from typing import Any

from django import forms
from django.db.models import Exists, OuterRef, QuerySet

from annotation.core.names import pair_label
from annotation.models import ComparisonTable, Study
from judging.aspects.aspect_sets import current_aspects
from judging.calls.dry_run import CallsEstimate
from judging.core.fields import AskingForm, CapField, InFlightField, ParametersField, endpoint_field, or_all
from judging.methods.options import MOST_BUDGET, MOST_SAMPLES, OFFLINE, ONLINE
from judging.methods.sc2.bracket import EXACT, RANDOM, TOURNAMENT
from judging.models import Endpoint, Judge, JudgeRun
from judging.runs.estimates import RunEstimate, estimate
from judging.runs.forms import PairsForm
from judging.tables.checked_tables import standing_flags
from judging.tables.entailment_calls import estimate_entailment, require_tables
from judging.tables.making import SAMPLES, TableSettings, build_tables_judge, default_variant, start_tables


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
        self.by_name = {pair_label(a, b): (a, b) for _dataset, a, b in configurations}
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
    """The settings and pairs of a run that creates comparison tables."""

    endpoint = endpoint_field(empty_label=None)
    samples = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_SAMPLES,
        label="Tables per pair",
        help_text=f"Default: {SAMPLES}.",
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
    variant = forms.RegexField(
        r"^\S+$",
        required=False,
        max_length=40,
        error_messages={"invalid": "Write a name without spaces."},
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
        """Refuse samples beside a budget."""
        data = super().clean()
        if data.get("budget") and data.get("samples"):
            self.add_error("budget", "Give either the tables or the calls for each pair.")
        return data

    @property
    def made_with(self) -> dict[str, Any]:
        """The endpoint and the settings of the tables of a valid form. Offline aspects are those that hold now."""
        cleaned = self.cleaned_data
        settings = TableSettings(
            samples=cleaned["samples"] or SAMPLES,
            aspects=tuple(current_aspects(self.study)[0]) if cleaned["aspects"] == OFFLINE else ONLINE,
            **self.named("budget", "scheme", "params"),
        )
        return {"endpoint": cleaned["endpoint"], "settings": settings}

    def estimate(self, **judge: Any) -> RunEstimate:
        """Return what the tables of a valid form would take. `judge`: its name and seed."""
        return estimate(judge=self.judge(**judge), **self.pairs, limit=self.cleaned_data["limit"])

    def judge(self, **judge: Any) -> Judge:
        """Return the judge that creates the tables of a valid form, stored or not. `judge`: its name and seed."""
        return build_tables_judge(**self.made_with, **judge)

    def start(self, *, queued: bool = False, **judge: Any) -> JudgeRun:
        """Start the run of a valid form. `queued`: leave it to a worker; `judge`: its name and seed."""
        made_with = self.made_with
        variant = self.cleaned_data["variant"] or default_variant(made_with["settings"], current_aspects(self.study)[1])
        bounds = self.named("in_flight", "max_cost", "limit")
        return start_tables(**self.pairs, **made_with, **judge, variant=variant, queued=queued, **bounds)

    def queue(self) -> JudgeRun:
        """Leave the run to a worker."""
        return self.start(queued=True)


class CheckTablesForm(AskingForm):
    """A model that checks a study's comparison tables."""

    endpoint = endpoint_field()
    variant = forms.CharField(required=False, label="Variant", help_text="Only its tables. Default: all.")
    params = ParametersField(help_text="key=value, sent with each call, as max_tokens=300.")
    max_cost = CapField()
    in_flight = InFlightField()

    def estimate(self) -> CallsEstimate:
        """Return what the check of a valid form would take."""
        require_tables(self.study, self.cleaned_data["variant"])
        return estimate_entailment(self.study, **self.named("endpoint", "variant", "params"))
