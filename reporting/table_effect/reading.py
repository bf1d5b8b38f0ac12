"""Querysets to arrays: second votes of a study with their first votes."""

from collections.abc import Collection
from typing import Any

import numpy as np
from django.db.models import Count, Q, QuerySet

from annotation.core.errors import UnknownName
from annotation.models import Annotator, Assignment, Batch, Display, HitPair, Pair, Rating, Study
from annotation.questions.questions import MAIN
from annotation.studies.configurations import configurations
from annotation.studies.instances import gold_verdict, instance_clusters
from annotation.studies.outcomes import batches_named
from judging.models import Judgment, TableMaking
from reporting.core.instance_selection import selection_rows
from reporting.core.raters import count_exclusions
from reporting.table_effect.arrays import Collected, SecondVotes, TableEffectFilters, Vote, agreed_verdicts, arrays_of
from reporting.table_effect.effects import effect_of

EVERYTHING = TableEffectFilters()


def table_effect(study: Study, filters: TableEffectFilters = EVERYTHING) -> dict[str, Any]:
    """Compute what the second stage changed in each arm, and the differences between arms.

    Raises: as `second_votes`.
    """
    return effect_of(study.slug, second_votes(study, filters), filters, is_two_stage=study.is_two_stage)


def second_votes(study: Study, filters: TableEffectFilters = EVERYTHING) -> SecondVotes:
    """Read the second votes of a study with their first votes.

    As in all findings, only submitted, not excluded assignments for rating that fill a slot count; of several decisions
    of a person on one pair, the first.
    Raises: UnknownName for an unknown data set, system, pair of systems, or batch.
    """
    batches = batches_named(study, filters.batches or ())
    check(study, filters)
    pairs, rated = _pairs(study, filters), list(study.batches.for_rating() if batches is None else batches)
    collected = _read(rated, pairs)
    if filters.complete_only:
        pairs_of_hits = HitPair.objects.filter(hit__batch__in=rated).order_by().values_list("pair")
        collected.drop_incomplete(dict(pairs_of_hits.annotate(Count("hit__slots"))))  # raters that each pair is for
    revised = _second(study).filter(_on_pairs(filters, "display__pair__"))
    collected.excluded |= count_exclusions(revised, batches)
    makings = TableMaking.objects.filter(
        table__study=study,
        judgment__status=Judgment.Status.PARSED,
        judgment__question=MAIN,
        judgment__repeat=0,
        judgment__negated=False,
    )
    clusters = instance_clusters(study)
    names = study.instances.values_list("dataset", "instance_id")
    return arrays_of(
        collected,
        pairs,
        implied=agreed_verdicts(makings.order_by().values_list("table__pk", "judgment__verdict")),
        reasoned=set(_second(study).exclude(reason="").order_by().values_list("pk", flat=True)),
        scripted=frozenset(study.annotators.filter(kind=Annotator.Kind.SCRIPTED).values_list("pk", flat=True)),
        chosen=selection_rows(_batches_on(study, filters), batches),
        clusters=clusters
        and np.array([clusters.by_id[instance_id] for _, instance_id in sorted(names)], dtype=np.int64),
    )


def check(study: Study, filters: TableEffectFilters) -> None:
    """Check that the study has the selected data set and systems.

    Raises: UnknownName listing the existing ones.
    """
    if not filters.dataset and not filters.systems:
        return
    existing = configurations(study, checks=False)
    if not any(
        item.dataset == (filters.dataset or item.dataset)
        and {item.system_a.name, item.system_b.name}.issuperset(filters.systems)
        for item in existing
    ):
        requested = ", ".join(part for part in (filters.dataset, " / ".join(filters.systems)) if part)
        listed = "; ".join(map(str, existing)) or "none yet: import instances first"
        raise UnknownName(f"study {study.slug} has no {requested}; it has {listed}")


def _on_pairs(filters: TableEffectFilters, prefix: str = "") -> Q:
    """Return the condition on pairs, or on rows whose lookup to the pair is `prefix`."""
    condition = Q()
    if filters.dataset:
        condition &= Q(**{f"{prefix}matchup__instance__dataset": filters.dataset})
    for name in filters.systems:
        condition &= Q(**{f"{prefix}matchup__system_a__name": name}) | Q(**{f"{prefix}matchup__system_b__name": name})
    return condition


def _batches_on(study: Study, filters: TableEffectFilters) -> QuerySet[Batch]:
    """Return the batches for rating of the selected data set and systems."""
    batches = study.batches.for_rating()
    if filters.dataset:
        batches = batches.filter(dataset=filters.dataset)
    for name in filters.systems:
        batches = batches.filter(Q(system_a__name=name) | Q(system_b__name=name))
    return batches


def _pairs(study: Study, filters: TableEffectFilters) -> dict[int, tuple[int, int | None]]:
    """Return instance (its place by data set and ID) and gold of each selected pair, by the pair's primary key."""
    index_of = {
        pk: index for index, (*_, pk) in enumerate(sorted(study.instances.values_list("dataset", "instance_id", "pk")))
    }
    gold = dict(study.instances.exclude(gold=None).values_list("pk", "gold"))
    rows = Pair.objects.filter(_on_pairs(filters), matchup__instance__study=study).order_by()
    names = ("pk", "matchup__instance_id", "matchup__system_a__name", "matchup__system_b__name")
    return {
        pk: (index_of[instance], gold_verdict(gold.get(instance), a, b))
        for pk, instance, a, b in rows.values_list(*names)
    }


def _read(batches: list[Batch], pairs: Collection[int]) -> Collected:
    # Several queries instead of one join over five tables, which is slow on a planner without statistics.
    counted = Assignment.objects.counted().filter(hit__batch__in=batches).order_by()
    assignments = {pk: (annotator, arm) for pk, annotator, arm in counted.values_list("pk", "annotator_id", "arm")}
    first, second = (_votes(batches, stage) for stage in (Rating.Stage.FIRST, Rating.Stage.REVISED))
    if not second:
        return Collected()
    displays = Display.objects.filter(assignment__hit__batch__in=batches).order_by("assignment_id", "position")
    collected = Collected()
    for display, assignment, pair in displays.values_list("pk", "assignment_id", "pair_id"):
        if assignment in assignments and pair in pairs:
            collected.add(pair, *assignments[assignment], first.get(display), second.get(display))
    return collected


def _votes(batches: list[Batch], stage: str) -> dict[int, Vote]:
    """Return the votes of a stage by their display."""
    rows = Rating.objects.for_question(MAIN).filter(stage=stage, display__assignment__hit__batch__in=batches).order_by()
    values = rows.values_list("display_id", "pk", "verdict", "active_seconds", "arm", "table__pk")
    return {display: Vote(pk, verdict, seconds, arm, table) for display, pk, verdict, seconds, arm, table in values}


def _second(study: Study) -> QuerySet[Rating]:
    """Return all second votes of a study."""
    return Rating.objects.for_question(MAIN).filter(
        stage=Rating.Stage.REVISED, display__assignment__hit__batch__study=study
    )
