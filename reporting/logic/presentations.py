"""Answers of a judge or of people with order, repeat and negation, as arrays."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.database.columns import places
from annotation.studies.instances import gold_verdict
from annotation.studies.votes import RatedPairs

Target = dict[tuple[int, int], float]  # by two texts: -1 the first is better, 0 a tie, +1 the second


@dataclass(frozen=True, eq=False)
class Presentations:
    """Answers of one rater. Items are the texts that it was shown, in the study's order, as in `Preferences`.

    generation, instance, instances : as of `Preferences`
    dataset                         : (n_instances,) codes into `datasets`
    clusters                        : (n_instances,) codes of clusters; None where each instance is its own
    first, second                   : (n,) items, the one that was shown first first
    repeat, negated                 : (n,) which repeat of the question, and whether it was the negated one
    verdict                         : (n,) -1 the first is preferred, 0 a tie, +1 the second (also by a negated question);
                                      NaN where there is none
    probability                     : (n,) that the first is better, where the endpoint gave it; else NaN
    target                          : (n,) as `verdict`, by gold, else by the majority of the people; NaN where there is neither
    pooled                          : whether they are votes of several people, whose sides were drawn for each
    sided                           : (n,) whether it is known which text was shown first
    ordered                         : whether the text that stands first was shown first; not by a jury, whose verdicts are on pairs
    """

    generation: IntArray
    instance: IntArray
    instances: IntArray
    dataset: IntArray
    datasets: tuple[str, ...]
    first: IntArray
    second: IntArray
    repeat: IntArray
    negated: BoolArray
    verdict: FloatArray
    probability: FloatArray
    target: FloatArray
    pooled: bool
    sided: BoolArray
    ordered: bool = True
    clusters: IntArray | None = None


@dataclass(frozen=True, eq=False)
class Items:
    """Texts that were shown, in the study's order.

    generation, instance, instances : as of `Presentations`
    shown                           : (n, 2) items
    """

    generation: IntArray
    instance: IntArray
    instances: IntArray
    shown: IntArray


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts of a study, in its order: by instance, system and index.

    generation, instance : (n_texts,) primary keys of the texts and of their instances
    """

    generation: IntArray
    instance: IntArray

    def items(self, values: IntArray) -> Items:
        """Number the texts that were shown. Shown : (n, 2) primary keys."""
        is_kept = np.isin(self.generation, values)
        generation = self.generation[is_kept]
        instances, first, code = np.unique(self.instance[is_kept], return_index=True, return_inverse=True)
        by_place = np.argsort(first)
        order = np.argsort(generation)
        items = order[np.searchsorted(generation, values, sorter=order)].reshape(-1, 2)
        return Items(generation, np.argsort(by_place)[code], instances[by_place], items)


@dataclass(frozen=True, eq=False)
class TextPairs:
    """The texts of a study, with its pairs.

    dataset    : of each instance, by its primary key
    clusters   : of each instance, by its primary key; None where each is its own
    pair, a, b : (n_pairs,) primary keys, ascending, and those of the two texts
    """

    texts: Texts
    dataset: Mapping[int, str]
    pair: IntArray
    a: IntArray
    b: IntArray
    clusters: Mapping[int, int] | None = None


def judge_presentations(pairs: TextPairs, answers: FloatArray, target: Target, *, ordered: bool) -> Presentations:
    """Arrange a judge's answers.

    answers : (n, 6) of pair, whether A was first, repeat, whether the question was negated, verdict in study order, probability
              of B; each presentation once
    """
    pair, a_first, repeat, negated, verdict, p_b = answers.T
    row, turned = places(pairs.pair, pair), a_first == 0
    a, b = pairs.a[row], pairs.b[row]
    sides = [np.where(turned, b, a), np.where(turned, a, b)]
    verdicts = [np.where(turned, -verdict, verdict), np.where(turned, p_b, 1 - p_b)]
    return _presentations(
        pairs, np.column_stack([*sides, repeat, negated, *verdicts]), target, pooled=False, ordered=ordered
    )


def people_presentations(pairs: TextPairs, votes: FloatArray, gold: Target) -> Presentations:
    """Arrange people's votes. Those on two texts in one order count as repeats of one question.

    votes : (n, 4) as of `as_shown`
    """
    sides = votes[:, :2].astype(np.int64)
    order = np.lexsort((sides[:, 1], sides[:, 0]))
    starts = np.flatnonzero(np.any(np.diff(sides[order], axis=0, prepend=-1) != 0, axis=1))
    repeat = np.zeros(len(sides), dtype=np.int64)
    repeat[order] = np.arange(len(sides)) - np.repeat(starts, np.diff([*starts.tolist(), len(sides)]))
    rows = np.column_stack([sides, repeat, np.zeros(len(sides)), votes[:, 2], np.full(len(sides), np.nan)])
    return _presentations(pairs, rows, gold, pooled=True, sided=votes[:, 3] > 0)


def _presentations(
    pairs: TextPairs,
    rows: FloatArray,
    target: Target,
    *,
    pooled: bool,
    sided: BoolArray | None = None,
    ordered: bool = True,
) -> Presentations:
    """Build the arrays from (n, 6) rows: two texts, repeat, negated, verdict, probability."""
    sides = rows[:, :2].astype(np.int64)
    items = pairs.texts.items(sides)
    codes: dict[str, int] = {}
    dataset = [codes.setdefault(pairs.dataset[pk], len(codes)) for pk in items.instances.tolist()]
    return Presentations(
        generation=items.generation,
        instance=items.instance,
        instances=items.instances,
        dataset=np.array(dataset, dtype=np.int64),
        datasets=tuple(codes),
        first=items.shown[:, 0],
        second=items.shown[:, 1],
        repeat=rows[:, 2].astype(np.int64),
        negated=rows[:, 3].astype(bool),
        verdict=rows[:, 4] + 0.0,
        probability=rows[:, 5],
        target=np.array([target.get((item, second), np.nan) for item, second in sides.tolist()], dtype=np.float64),
        pooled=pooled,
        sided=np.ones(len(rows), dtype=bool) if sided is None else sided,
        ordered=ordered,
        clusters=None
        if pairs.clusters is None
        else np.array([pairs.clusters[pk] for pk in items.instances.tolist()], dtype=np.int64),
    )


def as_shown(rated: RatedPairs, texts: Mapping[tuple[int, int], tuple[int, int]]) -> FloatArray:
    """(n, 4) first text, second text, verdict by place, and 1 where the order is known.

    Without a verdict it is NaN; where it is not known which was first, A comes first.

    texts : those of A and B, by the code of the pair's instance and its index
    """
    units = zip(rated.outcomes.instance.tolist(), rated.outcomes.pair.tolist(), strict=True)
    texts_shown = np.array([texts[unit] for unit in units], dtype=np.float64).reshape(-1, 2)
    turned = rated.first_is_a == 0
    texts_shown[turned] = texts_shown[turned][:, ::-1]
    verdict = np.where(turned, -rated.outcomes.verdict, rated.outcomes.verdict) + 0.0
    return np.column_stack([texts_shown, verdict, ~np.isnan(rated.first_is_a)])


def gold_target(rows: Iterable[tuple[int, int, dict[str, Any] | None, str, str]]) -> Target:
    """Return the gold verdict of each pair that has one, by its two texts in both orders.

    rows : the texts of A and B, the instance's gold, the names of the systems
    """
    targets: Target = {}
    for first, second, gold, a, b in rows:
        if (verdict := gold_verdict(gold, a, b)) is not None:
            targets |= {(first, second): float(verdict), (second, first): -float(verdict)}
    return targets


def majority_target(votes: FloatArray) -> Target:
    """Return the majority of the votes on each two texts, in both orders. An even split is a tie.

    votes : as of `people_presentations`
    """
    balance: Target = {}
    for first, vote, verdict in zip(*votes[:, :2].astype(np.int64).T.tolist(), votes[:, 2].tolist(), strict=True):
        for key, value in (((first, vote), verdict), ((vote, first), -verdict)):
            balance[key] = balance.get(key, 0.0) + value
    return {key: float(np.sign(value)) for key, value in balance.items()}
