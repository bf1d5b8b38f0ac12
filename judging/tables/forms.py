"""The filter of a study's list of comparison tables."""

from typing import Any

from django import forms
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext_lazy as _

from annotation.models import ComparisonTable, Study
from judging.core.fields import or_all
from judging.tables.checked_tables import standing_flags


class TableFilterForm(forms.Form):
    """By variant, data set, systems, and whether raters flagged a row."""

    variant = forms.ChoiceField(required=False, label=_("Variant"))
    dataset = forms.ChoiceField(required=False, label=_("Data set"))
    systems = forms.ChoiceField(required=False, label=_("Systems"))
    flagged = forms.BooleanField(required=False, label=_("Only with a row that raters flagged"))

    def __init__(self, *args: Any, study: Study, variants: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        matchups = ("pair__matchup__system_a__name", "pair__matchup__system_b__name")
        found = study.tables.order_by().values_list("pair__matchup__instance__dataset", *matchups).distinct()
        configurations = sorted(found)
        self.study = study
        self.by_name = {f"{a} / {b}": (a, b) for _dataset, a, b in configurations}
        fields: dict[str, Any] = self.fields
        fields["variant"].choices = or_all(variants)
        fields["dataset"].choices = or_all(sorted({dataset for dataset, _a, _b in configurations}))
        fields["systems"].choices = or_all(self.by_name)

    def narrow(self, tables: QuerySet[ComparisonTable]) -> QuerySet[ComparisonTable]:
        """Filter the tables; invalid values are ignored."""
        self.is_valid()
        chosen: dict[str, Any] = self.cleaned_data
        if variant := chosen.get("variant"):
            tables = tables.filter(variant=variant)
        if dataset := chosen.get("dataset"):
            tables = tables.filter(pair__matchup__instance__dataset=dataset)
        if names := self.by_name.get(chosen.get("systems") or ""):
            tables = tables.filter(pair__matchup__system_a__name=names[0], pair__matchup__system_b__name=names[1])
        if chosen.get("flagged"):
            tables = tables.filter(Exists(standing_flags(self.study).filter(table=OuterRef("pk"))))
        return tables
