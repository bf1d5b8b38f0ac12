"""The pairs of one page with their texts, all votes of people and all judgments, in a fixed number of queries."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Prefetch, Q

from annotation.core.database.aggregates import grouped
from annotation.models import Assignment, Batch, Pair, Rating, Study
from annotation.questions.questions import MAIN
from judging.models import Judgment
from judging.outcomes.judgments import judges_of
from reporting.disagreements.pair_table import OfConfiguration

RELATED = ("matchup__instance", "matchup__system_a", "matchup__system_b", "generation_a", "generation_b")


@dataclass(frozen=True)
class PersonVotes:
    """One person's votes on a pair by stage, and the side that showed A."""

    rater: str
    a_is_left: bool | None
    arm: str
    first: Rating | None
    revised: Rating | None


@dataclass(frozen=True)
class OpenedPair:
    """A pair with all that was said of it."""

    pair: Pair
    people: list[PersonVotes]
    judges: dict[str, list[Judgment]] = field(default_factory=dict)


def opened(
    study: Study,
    positions: Sequence[tuple[OfConfiguration, int, int]],
    *,
    question: int = MAIN,
    batches: Sequence[str] | None = None,
    judges: Sequence[str] | None = None,
) -> list[OpenedPair | None]:
    """Load pairs in this order, with counted votes and judgments. A deleted pair is `None`.

    positions : configuration, code of the instance there, and index of the pair
    """
    if not positions:
        return []
    keys = [
        (configuration.instance_ids[instance], *configuration.systems, index)
        for configuration, instance, index in positions
    ]
    conditions = reduce(or_, (_is(*key) for key in keys))
    judgments = (
        Judgment.objects.for_question(question)
        .filter(run__study=study)
        .exclude(status=Judgment.Status.PENDING)
        .select_related("run__judge")
        .order_by("run__judge__name", "run__created_at", "repeat", "negated", "order")
    )
    if judges is not None:
        judgments = judgments.filter(run__judge__name__in=judges)
    pairs = (
        Pair.objects.filter(conditions, matchup__instance__study=study)
        .select_related(*RELATED)
        .prefetch_related(Prefetch("judgments", judgments, to_attr="said"))
    )
    by_key: dict[tuple[str, str, str, int], Any] = {
        (pair.matchup.instance.instance_id, pair.matchup.system_a.name, pair.matchup.system_b.name, pair.index): pair
        for pair in pairs
    }
    juries = _juries(study, question, judges)
    votes = _votes(study, [pair.pk for pair in by_key.values()], question, batches)
    return [
        pair
        and OpenedPair(
            pair,
            votes.get(pair.pk, []),
            grouped((configuration.run.judge.name, configuration) for configuration in pair.said) | juries,
        )
        for pair in map(by_key.get, keys)
    ]


def _juries(study: Study, question: int, judges: Sequence[str] | None) -> dict[str, list[Judgment]]:
    """Name the juries of a study, which have no judgments of their own."""
    names = [run.judge.name for run in judges_of(study, question=question) if run.judge.is_jury]
    return {name: [] for name in names if judges is None or name in judges}


def _is(instance_id: str, system_a: str, system_b: str, index: int) -> Q:
    return Q(
        matchup__instance__instance_id=instance_id,
        matchup__system_a__name=system_a,
        matchup__system_b__name=system_b,
        index=index,
    )


def _votes(
    study: Study, pairs: Sequence[int], question: int, batches: Sequence[str] | None
) -> dict[int, list[PersonVotes]]:
    """Return people's counted votes on each pair, by their codes."""
    rating = Batch.objects.for_rating().filter(study=study)
    if batches is not None:
        rating = rating.filter(name__in=batches)
    # Start from the few displays, not the many assignments.
    counted = Assignment.objects.counted().filter(displays__pair__in=pairs, hit__batch__in=rating)
    ratings = (
        Rating.objects.filter(question__in=[question, MAIN], display__pair__in=pairs)
        .filter(display__assignment__in=list(counted.order_by().values_list("pk", flat=True)))
        .select_related("display__assignment__annotator")
        .order_by("display__assignment__annotator__code", "display__assignment_id", "display_id", "question")
    )
    by_display = grouped((row.display_id, row) for row in ratings)
    return grouped(
        (rows[0].display.pair_id, _of_person(rows, question))
        for rows in by_display.values()
        if any(row.question == question for row in rows)
    )


def _of_person(ratings: list[Rating], question: int) -> PersonVotes:
    display = ratings[0].display
    by_stage = {rating.stage: rating for rating in ratings if rating.question == question}
    main = {rating.stage: rating for rating in ratings if rating.question == MAIN}
    for stage, rating in by_stage.items():  # reasons are kept with the main question
        if stage in main:
            rating.reason = main[stage].reason
    return PersonVotes(
        rater=display.assignment.annotator.code,
        a_is_left=display.a_is_left,
        arm=display.assignment.arm,
        first=by_stage.get(Rating.Stage.FIRST),
        revised=by_stage.get(Rating.Stage.REVISED),
    )
