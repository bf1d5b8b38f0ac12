"""Comparing two raters pair by pair: two judges, or a judge and people or gold labels.

All verdicts of a study are loaded as arrays in a constant number of queries; texts and rationales for one page only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from django.db.models import Prefetch

from analysis.agreement.confusion import confusions, kappa_from_confusions, majority, vote_sums
from analysis.types import FloatArray, IntArray
from annotation.models import Annotator, Assignment, Pair, Rating, Study
from annotation.questions.questions import MAIN
from judging.core.proportions import Proportion, proportion, statistic_of
from judging.models import Judge, Judgment
from judging.outcomes.gold import gold_by_pair
from judging.outcomes.judgments import verdicts_by_pair
from judging.outcomes.people import people_by_pair, rating_batches

PEOPLE, GOLD = "@people", "@gold"  # no judges' names: theirs are slugs
VERDICTS = (-1, 0, 1)
DRAWN = 100  # pairs to mark, as in the analysis by The Comparative Trap


def vote_table(votes: Sequence[Sequence[int]]) -> FloatArray:
    """Votes in columns, as wide as the most voted-on pair."""
    table = np.full((len(votes), max(map(len, votes), default=0)), np.nan)
    for row, votes_of_pair in enumerate(votes):
        table[row, : len(votes_of_pair)] = votes_of_pair
    return table


@dataclass(frozen=True)
class Vote:
    """An annotator's first vote on a pair, under the annotator's code. `scripted`: the annotator is a program."""

    rater: str
    verdict: int
    reason: str
    scripted: bool


@dataclass(frozen=True, eq=False)
class RatersCompared:
    """Verdicts of two raters on the pairs that both were asked about, in the order of the pairs.

    pair, instance : (n,) primary keys
    first, second  : (n,) -1, 0, +1; NaN without a verdict (for people: without a majority)
    votes          : (n, most votes on any pair) if the second rater is people; else no columns
    """

    pair: IntArray
    instance: IntArray
    first: FloatArray
    second: FloatArray
    votes: FloatArray
    label: str

    @property
    def asked(self) -> int:
        """Pairs that both were asked about."""
        return len(self.pair)

    @cached_property
    def counted(self) -> int:
        """Pairs on which both have a verdict."""
        return int((~np.isnan(self.first) & ~np.isnan(self.second)).sum())

    @cached_property
    def counts(self) -> list[list[int]]:
        """The confusion matrix: rows are the first rater's A, tie and B, columns the second's."""
        table: list[list[int]] = confusions(self.first, self.second).sum(axis=0).astype(int).tolist()
        return table

    @cached_property
    def agreement(self) -> Proportion:
        """Share of pairs with equal verdicts. A tie equals only a tie."""
        both = ~np.isnan(self.first) & ~np.isnan(self.second)
        sums = np.stack([both & (self.first == self.second), both], axis=1)
        return proportion(sums, self.instance, left_out=self.asked - self.counted)

    @cached_property
    def kappa(self) -> Proportion:
        """Cohen's kappa of the two."""
        cells, counts = confusions(self.first, self.second), {"n": self.counted, "left_out": self.asked - self.counted}
        return statistic_of(cells, self.instance, kappa_from_confusions, **counts)

    @cached_property
    def per_vote(self) -> Proportion | None:
        """Share of people's votes that equal the judge's verdict, or `None` between two judges."""
        if not self.votes.shape[1]:
            return None
        sums = vote_sums(self.first, self.votes)
        cast = int((~np.isnan(self.votes)).sum())
        return proportion(sums, self.instance, left_out=cast - int(sums[:, 1].sum()))

    @cached_property
    def order(self) -> IntArray:
        """Display order of the pairs: opposite verdicts, tie against preference, equal verdicts, missing verdicts.

        Within each group in the order of the study's pairs.
        """
        distance = np.abs(self.first - self.second)
        return np.argsort(np.where(np.isnan(distance), 3, 2 - distance), kind="stable").astype(np.int64)

    @cached_property
    def disagreements(self) -> int:
        """Pairs with different verdicts. They come first in `order`."""
        distance = np.abs(self.first - self.second)
        return int((distance > 0).sum())


def draw_wrong(compared: RatersCompared, *, seed: int) -> IntArray:
    """Draw at most `DRAWN` pairs with different verdicts by the seed."""
    wrong = np.sort(compared.order[: compared.disagreements])
    drawn: IntArray = np.random.default_rng(seed).permutation(wrong)[:DRAWN]
    return drawn


def compare(
    study: Study, first: Judge, second: Judge | str, *, dataset: str = "", question: int = MAIN
) -> RatersCompared:
    """Compare a judge with another one, with `PEOPLE`, or with the `GOLD`, on the pairs of a study or of one data set."""
    on: dict[str, Any] = {"dataset": dataset, "question": question}
    first_verdicts = verdicts_by_pair(study, first, **on)
    votes: Mapping[int, Sequence[int]] = {}
    second_verdicts: Mapping[int, object]
    if second == PEOPLE:
        second_verdicts = votes = people_by_pair(study, **on)
    elif isinstance(second, Judge):
        second_verdicts = verdicts_by_pair(study, second, **on)
    else:
        second_verdicts = gold_by_pair(study)
    pairs = sorted(first_verdicts.keys() & second_verdicts.keys())
    table = vote_table([votes.get(pair, ()) for pair in pairs])
    return RatersCompared(
        pair=np.array(pairs, dtype=np.int64),
        instance=_instances(study, pairs, dataset),
        first=_verdicts([first_verdicts[pair] for pair in pairs]),
        second=majority(table) if second == PEOPLE else _verdicts([second_verdicts[pair] for pair in pairs]),
        votes=table,
        label=f"{first.name} {second}",
    )


def votes_on(study: Study, pairs: Sequence[int], *, question: int = MAIN) -> dict[int, list[Vote]]:
    """Return the votes that `people_by_pair` counts on a few pairs, with annotator and reason."""
    # Start from the few displays, not the many assignments.
    counted = Assignment.objects.counted().filter(displays__pair__in=pairs, hit__batch__in=rating_batches(study))
    ratings = (
        Rating.objects.for_question(question)
        .filter(stage=Rating.Stage.FIRST, display__pair__in=pairs)
        .filter(display__assignment__in=list(counted.order_by().values_list("pk", flat=True)))
        .order_by("display__assignment_id", "display_id")
    )
    annotator = [f"display__assignment__annotator__{name}" for name in ("code", "kind")]
    by_pair: dict[int, dict[str, Vote]] = {}
    for pair, rater, kind, verdict, reason in ratings.values_list("display__pair_id", *annotator, "verdict", "reason"):
        vote = Vote(rater, verdict, reason, kind == Annotator.Kind.SCRIPTED)
        by_pair.setdefault(pair, {}).setdefault(rater, vote)
    return {pair: list(votes.values()) for pair, votes in by_pair.items()}


def judged_pairs(study: Study, judges: Sequence[Judge], pairs: Sequence[int], *, question: int = MAIN) -> list[Pair]:
    """Load a few pairs, in the given order, with their texts and these judges' judgments.

    `pair.judgments` holds all judgments of the question that were asked: every order, repeat, plain or negated.
    """
    judgments = (
        Judgment.objects.for_question(question)
        .filter(run__study=study, run__judge__in=judges)
        .exclude(status=Judgment.Status.PENDING)
        .select_related("run")
        .order_by("run__created_at", "repeat", "negated", "order")
    )
    related = ("matchup__instance", "matchup__system_a", "matchup__system_b", "generation_a", "generation_b")
    loaded = (
        Pair.objects.filter(pk__in=pairs)
        .select_related(*related)
        .prefetch_related(Prefetch("judgments", judgments))
        .in_bulk()
    )
    return [loaded[pk] for pk in pairs]


def _instances(study: Study, pairs: Sequence[int], dataset: str) -> IntArray:
    # For the whole study: too many keys for one query.
    rows = Pair.objects.filter(matchup__instance__study=study).order_by()
    if dataset:
        rows = rows.filter(matchup__instance__dataset=dataset)
    instance = dict(rows.values_list("pk", "matchup__instance_id"))
    return np.array([instance[pair] for pair in pairs], dtype=np.int64)


def _verdicts(votes: Sequence[object]) -> FloatArray:
    return np.array([np.nan if verdict is None else verdict for verdict in votes], dtype=np.float64)
