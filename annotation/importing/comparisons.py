"""Storing comparisons made elsewhere: their instances, and the votes of people."""

from collections.abc import Sequence

from annotation.importing.content import StoredInstances, stage_instances
from annotation.importing.formats.comparisons import Comparison, instances_of
from annotation.importing.rating_rows import RatedPair, RatingRow, default_batch
from annotation.importing.ratings import StoredRatings, stage_ratings
from annotation.importing.staging import Target
from annotation.models import Pair
from annotation.questions.questions import MAIN

PairKey = tuple[str, frozenset[str], int]


def stage_comparisons(
    *, target: Target, comparisons: Sequence[Comparison], name: str
) -> tuple[StoredInstances, StoredRatings]:
    """Add the instances of all comparisons and the ratings of people among them to the target of an import.

    Raises: BadFile listing the bad lines.
    """
    instances = instances_of(comparisons, name)
    stored = stage_instances(target=target, rows=instances, name=name)
    pairs = pairs_by_systems(target, {row.instance_id for row in instances})
    asks_tie_kind = target.study.questions[MAIN].tie_kinds
    rows = [
        _rating(
            comparison,
            pairs[comparison.instance_id, frozenset(comparison.systems), comparison.index],
            asks_tie_kind=asks_tie_kind,
        )
        for comparison in comparisons
        if not comparison.by_judge and comparison.verdict is not None
    ]
    ratings = stage_ratings(target=target, rows=rows, name=name) if rows else StoredRatings(0, 0)
    return stored, ratings


def pairs_by_systems(target: Target, instance_ids: set[str]) -> dict[PairKey, Pair]:
    """Return the pairs of some instances by instance, systems and index."""
    related = Pair.objects.filter(matchup__instance__study__in=target.studies).select_related(
        "matchup__instance", "matchup__system_a", "matchup__system_b"
    )
    pairs = {}
    for pair in related.defer("matchup__instance__source").iterator(chunk_size=2000):
        matchup = pair.matchup
        if matchup.instance.instance_id in instance_ids:
            systems = frozenset((matchup.system_a.name, matchup.system_b.name))
            pairs[matchup.instance.instance_id, systems, pair.index] = pair
    return pairs


def _rating(comparison: Comparison, pair: Pair, *, asks_tie_kind: bool) -> RatingRow:
    matchup = pair.matchup
    a_is_left = matchup.system_a.name == comparison.systems[0]
    verdict = comparison.verdict or 0
    return RatingRow(
        number=comparison.number,
        batch=default_batch(matchup.instance.dataset, matchup.system_a.name, matchup.system_b.name),
        hit=f"{comparison.instance_id}"[:100] + f"/{matchup.system_a_id}/{matchup.system_b_id}",
        pair=RatedPair.of(pair),
        rater=comparison.rater,
        verdict=verdict if a_is_left else -verdict,
        a_is_left=a_is_left if comparison.order_known else None,
        reason=comparison.reason,
        rated_at=comparison.rated_at,
        tie_kind=comparison.tie_kind if asks_tie_kind and verdict == 0 else "",
    )
