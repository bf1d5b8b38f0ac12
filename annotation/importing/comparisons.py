"""Storing comparisons made elsewhere: their instances, and the votes of people."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from annotation.core.database.bulk_sql import chunked
from annotation.core.files.lines import FileData
from annotation.core.names import trim
from annotation.importing.content import StoredInstances, stage_instances
from annotation.importing.formats.comparisons import Comparison
from annotation.importing.formats.study_file import InstanceRow
from annotation.importing.formats.votes import parse_votes
from annotation.importing.rating_rows import RatedPair, RatingRow, default_batch
from annotation.importing.ratings import PARTS, StoredRatings, stage_ratings
from annotation.importing.staging import Target, open_import
from annotation.models import Pair, Study
from annotation.questions.questions import MAIN


def import_votes(
    *, data: FileData, name: str, texts: FileData, texts_name: str, slug: str, dataset: str, **settings: Any
) -> tuple[Study, StoredInstances, StoredRatings]:
    """Import votes with a winner, and their texts, whole or not at all.

    Raises: BadFile listing the bad lines.
    """
    dataset = trim(dataset)
    instances, votes = parse_votes(data, name, texts, texts_name, dataset=dataset)
    with open_import(slug, rows=len(votes), parts=PARTS, settings=settings) as target:
        stored = stage_instances(target=target, rows=instances, name=texts_name)
        ratings = stage_people(target=target, instances=instances, comparisons=votes, name=name)
        if stored.added or ratings.added:
            counts = {"instances": stored.added, "ratings": ratings.added}
            target.record(kind="votes", name=name, data=data, counts=counts, dataset=dataset)
    return target.study, stored, ratings


def stage_people(
    *, target: Target, instances: Sequence[InstanceRow], comparisons: Sequence[Comparison], name: str
) -> StoredRatings:
    """Add the ratings of people among comparisons, whose instances were added, to the target of an import.

    Raises: BadFile listing the bad lines.
    """
    by_people = [item for item in comparisons if not item.by_judge and item.verdict is not None]
    if not by_people:
        return StoredRatings(0, 0)
    pairs = dict(stored_pairs(target, {row.instance_id for row in instances}))
    asks_tie_kind = target.study.questions[MAIN].tie_kinds
    rows = []
    for comparison in by_people:
        first, second = comparison.systems
        instance_id, index, verdict = comparison.instance_id, comparison.index, comparison.verdict or 0
        a_is_left = (instance_id, first, second, index) in pairs
        a, b = (first, second) if a_is_left else (second, first)
        pair = pairs[instance_id, a, b, index]
        row = RatingRow(
            number=comparison.number,
            batch=default_batch(pair.dataset, a, b),
            hit=comparison.hit or f"{instance_id[:100]}/{pair.system_a_id}/{pair.system_b_id}",
            pair=pair,
            rater=comparison.rater,
            verdict=verdict if a_is_left else -verdict,
            a_is_left=a_is_left if comparison.order_known else None,
            reason=comparison.reason,
            rated_at=comparison.rated_at,
            tie_kind=comparison.tie_kind if asks_tie_kind and verdict == 0 else "",
        )
        rows.append(row)
    return stage_ratings(target=target, rows=rows, name=name)


def stored_pairs(
    target: Target, instance_ids: Collection[str]
) -> Iterator[tuple[tuple[str, str, str, int], RatedPair]]:
    """Yield the pairs of some instances of an import's target, each after its instance, systems A and B, and index."""
    names = ("instance__instance_id", "system_a__name", "system_b__name")
    keys = ("pk", "instance__dataset", "system_a_id", "system_b_id")
    columns = ("index", "pk", *(f"matchup__{column}" for column in (*names, *keys)))
    for some in chunked(sorted(instance_ids)):
        pairs = Pair.objects.filter(
            matchup__instance__study__in=target.studies, matchup__instance__instance_id__in=some
        )
        for index, pk, instance, a, b, *rest in pairs.order_by().values_list(*columns):
            yield (instance, a, b, index), RatedPair(pk, *rest)
