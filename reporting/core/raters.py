"""People and judges as raters of one configuration, and votes by unit (a pair of an instance), in one form for both."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from hashlib import sha256

import numpy as np
from django.db.models import Count, Q, QuerySet

from analysis.agreement.coefficients import majority_of_counts
from analysis.agreement.consistency import RatingSets, consistency_and_strength, rating_sets
from analysis.errors import DuplicateRating
from analysis.grouping import groups_of_rows
from analysis.planning.weighting import set_probabilities
from analysis.types import BoolArray, FloatArray, IntArray, Outcomes
from annotation.models import Annotator, Assignment, Batch, Rating, Study
from annotation.questions.questions import MAIN
from annotation.studies.outcomes import Answers, Selection, human_answers
from annotation.studies.votes import RatedPairs, first_votes
from judging.models import Judge, JudgeRun
from judging.outcomes.judgments import Judged, judgments
from reporting.core.text import JUDGE


@dataclass(frozen=True, eq=False)
class Units:
    """Votes by unit, counted: which rater gave which one no agreement measure here needs.

    instance, pair : (n_units,) the unit, ascending
    counts         : (n_units, n_values) votes for each value, ascending
    """

    instance: IntArray
    pair: IntArray
    counts: FloatArray

    @cached_property
    def sizes(self) -> FloatArray:
        """(n_units,) the number of votes on each unit."""
        sizes: FloatArray = self.counts.sum(axis=1)
        return sizes

    @cached_property
    def majority(self) -> FloatArray:
        """(n_units,) the verdict with the most votes, NaN for a draw."""
        return majority_of_counts(self.counts)


def units(outcomes: Outcomes, values: FloatArray | None = None, *, limit: int = 1) -> Units:
    """Count verdicts, or other whole numbers from -`limit` to `limit` on the same rows, by unit."""
    (instance, pair), row = groups_of_rows(outcomes.instance, outcomes.pair)
    votes, n_values = outcomes.verdict if values is None else values, 2 * limit + 1
    rows = np.flatnonzero(~np.isnan(votes))
    cell = n_values * row[rows] + votes[rows].astype(np.int64) + limit
    counts = np.bincount(cell, minlength=n_values * len(instance)).astype(np.float64)
    return Units(instance, pair, counts.reshape(-1, n_values))


def verdicts_beside(judge: Outcomes, people: Units | Outcomes) -> FloatArray:
    """Return the judge's verdict on each of the people's units or votes, NaN where it has none."""
    width = 1 + max(int(judge.pair.max(initial=0)), int(people.pair.max(initial=0)))
    keys, first = np.unique(judge.instance * width + judge.pair, return_index=True)
    keys_of_people = people.instance * width + people.pair
    verdicts = np.full(len(keys_of_people), np.nan)
    if len(keys):
        at = np.searchsorted(keys, keys_of_people).clip(0, len(keys) - 1)
        verdicts = np.where(keys[at] == keys_of_people, judge.verdict[first[at]], np.nan)
    return verdicts


def drop_repeats(rated: RatedPairs) -> tuple[RatedPairs, int]:
    """Keep a rater's first verdict on a pair. Return how many later ones (from other batches) were dropped."""
    outcomes = rated.outcomes
    first = first_votes(outcomes)
    repeated = len(outcomes) - len(first)
    if not repeated:
        return rated, 0
    return rated.at(first), repeated


def by_position(verdict: FloatArray, first_is_a: np.ndarray) -> FloatArray:
    """Convert verdicts from study order to positions: -1 the text shown first was preferred, +1 the second.

    first_is_a : 1 or 0; NaN where not known, as is then the position, also of a tie
    """
    return (2.0 * first_is_a - 1.0) * verdict + 0.0


PEOPLE = "people"


def without_baselines(judges: Iterable[str], baselines: Collection[str]) -> list[str]:
    """Return the names of judges without baselines, or all of them if each is a baseline."""
    every = list(judges)
    return [judge for judge in every if judge.removeprefix("judge:") not in baselines] or every


@dataclass(frozen=True, eq=False)
class Positions:
    """Preferences by position, one row per presentation: -1 the text shown first, +1 the second, NaN failed.

    rater : codes of the persons; None for a judge
    """

    instance: IntArray
    preferred: FloatArray
    rater: IntArray | None = None


@dataclass(frozen=True, eq=False)
class Rater:
    """People together, or one judge, on one configuration.

    rated        : their verdicts; `rated.raters` are the persons, or the judge itself
    sets         : the rating sets in use: complete ones, and with them incomplete ones of two ratings or more if asked for
    consistency, strength : one value per set in use
    every, chance : all rating sets, and the inclusion probability of each one's instance; NaN where unknown or ambiguous
    in_use       : per rating set
    sizes        : numbers of ratings that a set can hold, for the list of possible values
    incomplete   : rating sets that lack a rating, in use or not
    exclusions   : verdicts that were excluded, by reason
    p_b          : a judge's probability of B beside each verdict; NaN for none. None where it has none at all
    status       : counts of a judge's presentations by status
    family       : of a judge's model, as it is named on systems; empty where not stated
    """

    name: str
    kind: str
    rated: RatedPairs
    positions: Positions
    sets: RatingSets
    consistency: FloatArray
    strength: FloatArray
    every: RatingSets
    chance: FloatArray
    in_use: BoolArray
    sizes: tuple[int, ...]
    incomplete: int
    exclusions: dict[str, int]
    p_b: FloatArray | None = None
    status: dict[str, int] = field(default_factory=dict)
    family: str = ""

    @property
    def left_out(self) -> int:
        """Rating sets that are not in use."""
        return int((~self.in_use).sum())


def rater(
    name: str,
    kind: str,
    rated: RatedPairs,
    positions: Positions,
    exclusions: dict[str, int],
    *,
    with_incomplete: bool = False,
    pairs: IntArray | None = None,
) -> Rater:
    """Group a rater's verdicts into rating sets. Repeated verdicts of a person on a pair are dropped.

    with_incomplete : whether incomplete sets are in use too; one of a single rating never is, as it can't be inconsistent
    pairs           : (n_instances,) pairs of a complete set on each instance; those that the rater was asked about when left out
    """
    repeated = 0
    try:
        rating_sets_found = rating_sets(rated.outcomes)
    except DuplicateRating:  # rare, and looking for them beforehand would take as long as grouping
        rated, repeated = drop_repeats(rated)
        rating_sets_found = rating_sets(rated.outcomes)
    chance = np.full(len(rating_sets_found), np.nan)
    if not np.isnan(rated.chance).all():
        chance = set_probabilities(rated.outcomes, rated.chance)
    if pairs is not None:
        rating_sets_found = replace(rating_sets_found, n_pairs=pairs[rating_sets_found.instance])
    most_pairs = int(rating_sets_found.n_pairs.max(initial=0))
    in_use = (rating_sets_found.present > 1) | ((rating_sets_found.present == 1) & (most_pairs == 1))
    if not with_incomplete:
        in_use &= ~rating_sets_found.incomplete
    sets = RatingSets(**{column.name: getattr(rating_sets_found, column.name)[in_use] for column in fields(RatingSets)})
    steadiness, strength = consistency_and_strength(sets.ratings)
    return Rater(
        name=name,
        kind=kind,
        rated=rated,
        positions=positions,
        sets=sets,
        consistency=steadiness,
        strength=strength,
        every=rating_sets_found,
        chance=chance,
        in_use=in_use,
        sizes=tuple(np.unique(np.concatenate([sets.present, sets.n_pairs])).tolist()),
        incomplete=int(rating_sets_found.incomplete.sum()),
        exclusions={**exclusions, "repeated": repeated},
    )


def people_rater(selection: Selection, batches: Iterable[Batch] | None, *, question: int = MAIN) -> Rater:
    """Read people's counted first answers to a question on a selection."""
    return rater_of_people(human_answers(selection, batches, question=question))


def rater_of_people(answers: Answers, *, with_incomplete: bool = False) -> Rater:
    """Return people as a rater, from their answers on a selection."""
    outcomes = answers.rated.outcomes
    positions = Positions(outcomes.instance, by_position(outcomes.verdict, answers.rated.first_is_a), outcomes.rater)
    return rater(PEOPLE, "person", answers.rated, positions, answers.exclusions, with_incomplete=with_incomplete)


def count_exclusions(ratings: QuerySet[Rating], batches: Iterable[Batch] | None) -> dict[str, int]:
    """Count the excluded ratings in these batches by the reasons of `annotation.studies.votes.EXCLUSIONS`."""
    if batches is not None:
        ratings = ratings.filter(display__assignment__hit__batch__in=list(batches))
    reasons = {
        "withdrawn": Q(display__assignment__annotator__withdrawn_at__isnull=False),
        "check": ~Q(display__assignment__purpose=Assignment.Purpose.RATING),
        "excluded": Q(display__assignment__excluded=True) | Q(display__assignment__annotator__excluded=True),
        "not_submitted": ~Q(display__assignment__state=Assignment.State.SUBMITTED),
        "surplus": Q(display__assignment__slot__isnull=True),
    }
    counts, before = {}, Q()
    for name, reason in reasons.items():
        counts[name] = Count("pk", filter=before & reason)
        before &= ~reason
    return ratings.aggregate(**counts)


def scripted_codes(study: Study) -> set[str]:
    """Return the codes of annotators that are programs."""
    return set(study.annotators.filter(kind=Annotator.Kind.SCRIPTED).values_list("code", flat=True))


def departures(study: Study) -> str:
    """Return a digest of the raters who withdrew or were erased, whom no result that is kept may show."""
    has_left = Q(withdrawn_at__isnull=False) | Q(erased_at__isnull=False)
    raters = Annotator.objects.filter(has_left, study=study).order_by("pk")
    return sha256(repr(list(raters.values_list("pk", "withdrawn_at", "erased_at"))).encode()).hexdigest()[:32]


def judge_raters(selection: Selection, runs: Sequence[JudgeRun], *, question: int = MAIN) -> tuple[Rater, ...]:
    """Read the answers of each run's judge to a question on a selection. A pair whose calls failed has none.

    A judge that was asked the question on none of these pairs is left out.
    """
    judged_by = ((run.judge, judgments(selection, run, question=question)) for run in runs)
    return raters_of_judges(selection, judged_by)


def raters_of_judges(
    selection: Selection, judged_by: Iterable[tuple[Judge, Judged]], *, with_incomplete: bool = False
) -> tuple[Rater, ...]:
    """Return judges as raters of a selection, without those that were asked nothing."""
    pairs = selection.pairs_by_instance()
    return tuple(
        _judge_rater(judge, judged, pairs, with_incomplete=with_incomplete)
        for judge, judged in judged_by
        if judged.counts["asked"] or judged.counts["pending"]
    )


def _judge_rater(judge: Judge, judged: Judged, pairs: IntArray, *, with_incomplete: bool) -> Rater:
    # By presentation, not by pair: a judge asked in both orders that always prefers the first text has only ties by pair.
    # A jury's verdicts are on pairs, which have no order.
    rated, ordered = judged.shown, not judge.is_jury
    positions = Positions(
        rated.outcomes.instance[: None if ordered else 0],
        by_position(rated.outcomes.verdict, rated.first_is_a)[: None if ordered else 0],
    )
    name = f"judge:{judge.name}"
    judge_rater = rater(name, "judge", judged.rated, positions, {}, with_incomplete=with_incomplete, pairs=pairs)
    p_b = None if np.isnan(judged.p_b).all() else judged.p_b
    return replace(judge_rater, p_b=p_b, status=judged.counts, family=judge.family)


def everyone_of(study: Study) -> list[str]:
    """Return the names of people and of all judges with a run on the study. Pictures give each name a look by this list."""
    return [PEOPLE, *sorted({f"{JUDGE}{name}" for name in study.judge_runs.values_list("judge__name", flat=True)})]
