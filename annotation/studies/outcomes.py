"""Ratings → arrays for `analysis`: the pairs of configurations, and people's counted answers on them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from django.db.models import QuerySet

from analysis.grouping import groups
from analysis.types import BoolArray, FloatArray, IntArray, Outcomes
from annotation.core.database.columns import number_columns, places
from annotation.core.errors import UnknownName
from annotation.models import Batch, Hit, HitPair, Matchup, Pair, Study
from annotation.questions.questions import MAIN
from annotation.studies.configurations import Configuration, without_checks
from annotation.studies.votes import EVERYONE, EXCLUSIONS, HumanVotes, RatedPairs, Whose, read_votes


@dataclass(frozen=True, eq=False)
class Selection:
    """The matchups and pairs of one configuration that findings cover, in the order of the instances.

    chance         : (n_instances,) inclusion probability, if all HITs of the matchup record the same one; else NaN
    pair           : (n_pairs,) primary keys of all pairs of the configuration, ascending
    instance, index: (n_pairs,) code of the instance, -1 where the pair is not selected; index within the matchup
    """

    configuration: Configuration
    matchup_ids: tuple[int, ...]
    instance_ids: tuple[str, ...]
    chance: FloatArray
    pair: IntArray
    instance: IntArray
    index: IntArray

    @cached_property
    def pair_ids(self) -> frozenset[int]:
        """Primary keys of the selected pairs."""
        return frozenset(self.pair[self.instance >= 0].tolist())

    def pairs_by_instance(self) -> IntArray:
        """(n_instances,) number of the selected pairs."""
        return np.bincount(self.instance[self.instance >= 0], minlength=len(self.instance_ids))


def select(configuration: Configuration, batches: Iterable[Batch] | None = None) -> Selection:
    """Select the pairs on the HITs of `batches`, or, without any batch, every pair that serves more than checks.

    batches : by default all batches for rating
    """
    selected_batches = list(batches_for_rating(configuration) if batches is None else batches)
    return _select([configuration], configuration.matchups(), selected_batches, [bool(selected_batches)])[0]


def select_each(
    study: Study, configurations: Sequence[Configuration], batches: Iterable[Batch] | None = None
) -> list[Selection]:
    """Return the selections of several configurations of a study, each as `select` would."""
    selected_batches = list(study.batches.for_rating() if batches is None else batches)
    batched = {(batch.dataset, batch.system_a_id, batch.system_b_id) for batch in selected_batches}
    has_batch = [
        configuration.key in batched if batches is None else bool(selected_batches) for configuration in configurations
    ]
    return _select(configurations, Matchup.objects.filter(instance__study=study), selected_batches, has_batch)


def select_unplaced(study: Study, configurations: Sequence[Configuration]) -> list[Selection]:
    """Return the selections of the instances without a HIT for rating, except those that serve checks only."""
    placed = Hit.objects.filter(batch__in=study.batches.for_rating().order_by()).order_by()
    matchups = Matchup.objects.filter(instance__study=study).exclude(pk__in=placed.values("matchup_id"))
    return _select(configurations, matchups, (), [False] * len(configurations))


def _select(
    configurations: Sequence[Configuration],
    matchups: QuerySet[Matchup],
    batches: Sequence[Batch],
    has_batch: Sequence[bool],
) -> list[Selection]:
    """Return the selections of some configurations from these matchups. Those without a batch have all their pairs."""
    if not configurations:
        return []
    code = {configuration.key: number for number, configuration in enumerate(configurations)}
    names = ("pk", "instance__instance_id", "instance__dataset", "system_a_id", "system_b_id")
    listed = [row for row in matchups.order_by("instance__position").values_list(*names) if row[2:] in code]
    matchup = np.array([row[0] for row in listed], dtype=np.int64)
    of = np.array([code[row[2:]] for row in listed], dtype=np.int64)
    is_placed = np.array(has_batch, dtype=bool)[of]

    stored = Pair.objects.filter(matchup__in=matchups.order_by()).order_by()
    columns = number_columns(stored, "pk", "matchup_id", "index").astype(np.int64)
    pair, of_matchup, index = columns[:, np.argsort(columns[0], kind="stable")]
    by_key = np.argsort(matchup)
    row = places(matchup[by_key], of_matchup)
    pair, index, row = pair[row >= 0], index[row >= 0], by_key[row[row >= 0]]

    on_hits = number_columns(HitPair.objects.filter(hit__batch__in=batches).order_by(), "pair_id")[0].astype(np.int64)
    is_chosen = np.zeros(len(matchup), dtype=bool)
    if not is_placed.all():
        free = number_columns(without_checks(configurations[0].study, matchups.order_by()), "pk")[0]
        is_chosen = ~is_placed & np.isin(matchup, free)
    pair_is_chosen = np.where(is_placed[row], np.isin(pair, on_hits), is_chosen[row])
    is_chosen[row[pair_is_chosen]] = True

    chance, instance, each = _chances(matchup[by_key], by_key, batches), np.full(len(matchup), -1), []
    for number, configuration in enumerate(configurations):
        selected, pairs = np.flatnonzero(is_chosen & (of == number)), np.flatnonzero(of[row] == number)
        instance[selected] = np.arange(len(selected))
        each.append(
            Selection(
                configuration=configuration,
                matchup_ids=tuple(matchup[selected].tolist()),
                instance_ids=tuple(listed[position][1] for position in selected.tolist()),
                chance=chance[selected],
                pair=pair[pairs],
                instance=np.where(pair_is_chosen[pairs], instance[row[pairs]], -1),
                index=index[pairs],
            )
        )
    return each


def _chances(matchups: IntArray, places_of: IntArray, batches: Sequence[Batch]) -> FloatArray:
    """Return the inclusion probability of each matchup whose HITs agree on it, or NaN for the others.

    matchups, places_of : primary keys, ascending, and the place of each in the result
    """
    hits = number_columns(Hit.objects.filter(batch__in=batches).order_by(), "matchup_id", "inclusion_probability")
    row = places(matchups, hits[0])
    at, chance = places_of[row[row >= 0]], hits[1][row >= 0]
    smallest, largest = np.full(len(matchups), np.inf), np.full(len(matchups), -np.inf)
    unknown = np.isnan(chance)
    np.minimum.at(smallest, at, np.where(unknown, -np.inf, chance))  # no matchup with an unknown one has equal bounds
    np.maximum.at(largest, at, np.where(unknown, np.inf, chance))
    return np.where(smallest == largest, smallest, np.nan)


@dataclass(frozen=True, eq=False)
class ConfigurationRows:
    """Rows of one configuration: where they are among all, with the instance (-1: not selected) and index of their pairs."""

    at: IntArray
    instance: IntArray
    index: IntArray

    def among(self, rows: IntArray | BoolArray) -> "ConfigurationRows":
        """Return some of them."""
        return ConfigurationRows(self.at[rows], self.instance[rows], self.index[rows])

    def selected(self) -> "ConfigurationRows":
        """Return those of selected pairs."""
        return self.among(self.instance >= 0)


def rows_on_each(selections: Sequence[Selection], *pairs: IntArray) -> list[list[ConfigurationRows]]:
    """Return for each column of pairs the rows of each selection's configuration, in their order.

    pairs : (n_rows,) primary key of each row's pair
    """
    if not selections:
        return [[] for _ in pairs]
    columns = [
        (selection.pair, np.full(len(selection.pair), number), selection.instance, selection.index)
        for number, selection in enumerate(selections)
    ]
    key, *known_keys = (np.concatenate(column) for column in zip(*columns, strict=True))
    by_key = np.argsort(key, kind="stable")
    key, (of, instance, index) = key[by_key], (column[by_key] for column in known_keys)
    return [_rows_on_each(places(key, ids), of, instance, index, len(selections)) for ids in pairs]


def _rows_on_each(
    positions: IntArray, of: IntArray, instance: IntArray, index: IntArray, n: int
) -> list[ConfigurationRows]:
    """Split rows by configuration. `positions` are the places of each row's pair in the other columns, or -1."""
    at = np.flatnonzero(positions >= 0)
    row = positions[at]
    owner = of[row].astype(np.uint16 if n < 1 << 16 else np.int64)  # small numbers are sorted by counting
    order = np.argsort(owner, kind="stable")
    bounds = np.append(0, np.cumsum(np.bincount(owner, minlength=n))).tolist()
    mine = [order[low:high] for low, high in pairwise(bounds)]
    return [ConfigurationRows(at[rows], instance[row[rows]], index[row[rows]]) for rows in mine]


@dataclass(frozen=True, eq=False)
class Answers:
    """People's answers on a selection: those that count, and the numbers of those left out, by reason."""

    rated: RatedPairs
    exclusions: dict[str, int]


def human_ratings(
    selection: Selection, batches: Iterable[Batch] | None = None, *, stage: str = "first", question: int = MAIN
) -> RatedPairs:
    """Return human answers to a question on a selection, of counted assignments only (see `AssignmentQuerySet.counted`).

    Every pair of an answered HIT is a row; a pair without an answer has a missing verdict, so that its rating set
    counts as incomplete.
    """
    return human_answers(selection, batches, stage=stage, question=question).rated


def human_answers(
    selection: Selection, batches: Iterable[Batch] | None = None, *, stage: str = "first", question: int = MAIN
) -> Answers:
    """Return `human_ratings` with the numbers of the answers that they leave out."""
    configuration = selection.configuration
    hits = Hit.objects.filter(matchup__in=configuration.matchups().order_by())
    return _answers(configuration.study, hits, [selection], batches, stage=stage, question=question)[0]


def human_answers_on_each(
    study: Study,
    selections: Sequence[Selection],
    batches: Iterable[Batch] | None = None,
    *,
    stage: str = "first",
    question: int = MAIN,
    raters: Whose = EVERYONE,
    timed: bool = True,
) -> list[Answers]:
    """Return `human_answers` on several selections of a study. `timed` as for `read_votes`."""
    hits = Hit.objects.filter(batch__study=study)
    return _answers(study, hits, selections, batches, stage=stage, question=question, raters=raters, timed=timed)


def _answers(
    study: Study,
    hits: QuerySet[Hit],
    selections: Sequence[Selection],
    batches: Iterable[Batch] | None,
    *,
    stage: str,
    question: int,
    raters: Whose = EVERYONE,
    timed: bool = True,
) -> list[Answers]:
    batch_ids = [batch.pk for batch in (study.batches.for_rating() if batches is None else batches)]
    if batches is not None:
        hits = hits.filter(batch__in=batch_ids)
    asked_question = study.questions[question]
    votes = read_votes(
        study, hits.order_by(), batch_ids, stage=stage, question=asked_question, raters=raters, timed=timed
    )
    counted, left_out = rows_on_each(selections, votes.pair, votes.left_out)
    rated = [_rated(votes, rows.selected()) for rows in counted]
    if asked_question.strength or asked_question.tie_kinds:
        rated = [replace(rated_pairs, asked=asked_question) for rated_pairs in rated]
    return [
        Answers(rated_pairs, _count(votes.reason[rows.at])) for rated_pairs, rows in zip(rated, left_out, strict=True)
    ]


def _count(reasons: IntArray) -> dict[str, int]:
    counts = np.bincount(reasons, minlength=len(EXCLUSIONS)).tolist()
    return dict(zip(EXCLUSIONS, counts, strict=True))


def _rated(votes: HumanVotes, rows: ConfigurationRows) -> RatedPairs:
    at = rows.at
    people, person = groups(votes.person[at])
    codes = [votes.codes[index] for index in people.tolist()]
    by_code = sorted(range(len(codes)), key=codes.__getitem__)
    rank = np.empty(len(codes), dtype=np.int64)
    rank[by_code] = np.arange(len(codes))
    return RatedPairs(
        outcomes_on(rows, votes.verdict[at], rank[person]),
        first_is_a=votes.first_is_a[at],
        raters=tuple(codes[position] for position in by_code),
        chance=votes.chance[at],
        seconds=votes.seconds[at],
        shown=votes.shown[at],
        strength=votes.strength[at],
        tie_kind=votes.tie_kind[at].astype(np.int64),
    )


def outcomes_on(rows: ConfigurationRows, verdict: FloatArray, rater: IntArray) -> Outcomes:
    """Return verdicts on one selection. A has the code 0, B 1."""
    n = len(rows.at)
    zeros, weights = np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64)
    return Outcomes(rows.instance, rows.index, zeros, weights, verdict, rater)


def batches_for_rating(configuration: Configuration) -> QuerySet[Batch]:
    """Return a configuration's batches for rating."""
    return Batch.objects.for_rating().filter(
        study=configuration.study,
        dataset=configuration.dataset,
        system_a=configuration.system_a,
        system_b=configuration.system_b,
    )


def batches_named(study: Study, names: Sequence[str]) -> tuple[Batch, ...] | None:
    """Find batches by name. No name stands for all. Qualifications and hidden checks enter no findings.

    Raises: UnknownName listing those that exist.
    """
    if not names:
        return None
    batches_by_name = {batch.name: batch for batch in study.batches.for_rating()}
    if strangers := [name for name in names if name not in batches_by_name]:
        listed = ", ".join(batches_by_name) or "none"
        raise UnknownName(f"study {study.slug} has no batch {', '.join(strangers)} for rating; it has {listed}")
    return tuple(batches_by_name[name] for name in dict.fromkeys(names))
