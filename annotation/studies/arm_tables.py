"""Checks that a two-stage study has the comparison tables that its arms show."""

from collections.abc import Iterable

from django.conf import settings
from django.db.models import QuerySet

from annotation.core.arms import Arm
from annotation.core.errors import InvalidSelection
from annotation.models import Batch, ComparisonTable, HitPair, Pair, Study

MOST_NAMED = 10  # variants in a refusal
SHOWN_IN = (Batch.Purpose.RATING, Batch.Purpose.GOLD)  # a qualification has no second stage


def pairs_shown(batches: QuerySet[Batch]) -> QuerySet[Pair]:
    """Return the pairs on HITs of those batches that have a second stage."""
    placed = HitPair.objects.filter(hit__batch__in=batches.filter(purpose__in=SHOWN_IN))
    return Pair.objects.filter(pk__in=placed.values("pair_id"))


def refuse_missing_tables(study: Study, arms: Iterable[str], pairs: QuerySet[Pair]) -> None:
    """Refuse pairs without the comparison table that an arm would show.

    `table:VARIANT` needs this table of every pair, `placebo:VARIANT` one of a pair of another instance.
    Raises: InvalidSelection with the number of pairs that lack each variant.
    """
    arms_with_table = [arm for arm in map(Arm.parse, arms) if arm.shows_table]
    if not arms_with_table:
        return
    instances = dict(pairs.values_list("pk", "matchup__instance_id"))
    lacking = []
    for arm in arms_with_table:
        tables = ComparisonTable.objects.filter(study=study, variant=arm.variant)
        if arm.kind == "table":
            missing = len(instances.keys() - set(tables.values_list("pair_id", flat=True)))
            problem = f"{missing} of {len(instances)} pairs have no comparison table of variant {arm.variant}"
        else:
            having = set(tables.order_by().values_list("pair__matchup__instance_id", flat=True).distinct())
            missing = sum(not having - {instance} for instance in instances.values())
            problem = f"for {missing} of {len(instances)} pairs no other instance has a table of variant {arm.variant}"
        if missing:
            lacking.append(f"{problem} (arm {arm.name})")
    if lacking:
        variants = ComparisonTable.objects.filter(study=study).order_by("variant").values_list("variant", flat=True)
        there = ", ".join(f"table:{variant}" for variant in variants.distinct()[:MOST_NAMED])
        raise InvalidSelection(
            f"{'; '.join(lacking)}. Import the tables first, with {settings.COMMAND} import_tables or on the study's page."
            + (f" Or change the arms in the settings: the study has tables for {there}." if there else "")
        )
