"""The paginated list of one configuration's instances, sorted by separability, with their texts."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from django.core.paginator import Page, Paginator
from django.db.models import F, Q, QuerySet

from analysis.similarity.scenarios import Thresholds, scenarios
from annotation.core.database.aggregates import grouped
from annotation.models import Alignment, Generation
from reporting.core.estimates import number
from reporting.separability.arrays import ConfigurationAlignments, RunAlignments
from reporting.separability.distributions import SCENARIOS

PAGE_SIZE = 20
ORDERS = ("high", "low")


@dataclass(frozen=True)
class ListedInstance:
    """One instance with its alignments on the run's scale, its scenario, and its texts."""

    instance: int
    instance_id: str
    separability: float | None
    own_a: float | None
    own_b: float | None
    cross: float | None
    scenario: str
    texts: tuple[tuple[str, tuple[str, ...]], ...]


def instance_page(
    alignments: ConfigurationAlignments, main: RunAlignments, *, kind: str, order: str, scenario: str, page: str | None
) -> tuple[Page[Any], list[ListedInstance]]:
    """Return a page of instances, the most or the least separable first, those without a separability last.

    kind     : of the thresholds that define the scenarios
    scenario : only the instances in this one of `SCENARIOS`; all when empty
    """
    thresholds = main.raw_thresholds(kind)
    rows = Alignment.objects.filter(run=main.run).select_related("matchup__instance")
    if scenario:
        rows = rows.filter(_in_scenario(scenario, thresholds))
    by = F("separability").asc(nulls_last=True) if order == "low" else F("separability").desc(nulls_last=True)
    page_of_rows = Paginator(rows.order_by(by, "matchup__instance__position"), PAGE_SIZE).get_page(page)
    return page_of_rows, _instance_rows(list(page_of_rows), alignments, main, thresholds)


def examples(main: RunAlignments, kind: str) -> dict[str, tuple[int, str]]:
    """Return one instance of each scenario, the median one by separability, as (key, id)."""
    by_scenario, stored = {}, Alignment.objects.filter(run=main.run)
    for name in SCENARIOS:
        rows = stored.filter(_in_scenario(name, main.raw_thresholds(kind))).order_by("separability", "pk")
        middle = rows.count() // 2
        named = rows.values_list("matchup__instance_id", "matchup__instance__instance_id")[middle : middle + 1]
        for key, instance_id in named:
            by_scenario[name] = (key, instance_id)
    return by_scenario


def _in_scenario(name: str, thresholds: Thresholds) -> Q:
    """Return the condition that `analysis.similarity.scenarios.scenarios` applies, on raw alignments."""
    high_a, high_b = Q(self_a__gte=thresholds.own), Q(self_b__gte=thresholds.own)
    low_cross = Q(cross__lt=thresholds.cross)
    is_known = Q(self_a__isnull=False) & Q(self_b__isnull=False)
    both, neither = high_a & high_b, ~high_a & ~high_b
    return {
        "missing": ~is_known,
        "apart": is_known & both & low_cross,
        "scattered": is_known & neither & low_cross,
        "one_steady": is_known & ~both & ~neither & low_cross,
        "alike": is_known & both & ~low_cross,
        "other": is_known & ~both & ~low_cross,
    }[name]


def _instance_rows(
    alignments: list[Alignment], compared: ConfigurationAlignments, main: RunAlignments, thresholds: Thresholds
) -> list[ListedInstance]:
    columns = [[getattr(row, name) for row in alignments] for name in ("self_a", "self_b", "cross")]
    raw = np.array(columns, dtype=np.float64).reshape(3, -1)
    own_a, own_b, cross = raw
    codes = scenarios(own_a, own_b, cross, thresholds).tolist()
    names = {int(code): name for name, code in SCENARIOS.items()}
    systems = (compared.configuration.system_a.name, compared.configuration.system_b.name)
    instances = [alignment.matchup.instance_id for alignment in alignments]
    rows: QuerySet[Generation] = Generation.objects.filter(instance__in=instances, system__name__in=systems)
    in_order = rows.order_by("index").values_list("instance_id", "system__name", "text")
    texts = grouped(((instance, system), text) for instance, system, text in in_order)
    listed = []
    for alignment, code, values in zip(alignments, codes, ((raw - main.run.low) / main.scale).T.tolist(), strict=True):
        instance = alignment.matchup.instance
        texts_of_systems = tuple((name, tuple(texts.get((instance.pk, name), ()))) for name in systems)
        of_a, of_b, between = (number(value) for value in values)
        name, delta = instance.instance_id, alignment.separability
        listed.append(ListedInstance(instance.pk, name, delta, of_a, of_b, between, names[code], texts_of_systems))
    return listed
