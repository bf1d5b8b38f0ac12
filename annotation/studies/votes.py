"""People's answers to a question as columns, over any number of configurations, and verdicts as arrays."""

from collections.abc import Collection
from dataclasses import dataclass, fields, replace

import numpy as np
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from analysis.grouping import first_rows
from analysis.types import BoolArray, FloatArray, IntArray, Outcomes
from annotation.core.database.columns import (
    code_of,
    flags_of,
    number_columns,
    packed,
    places,
    places_of_two,
    unpacked,
)
from annotation.models import Assignment, Hit, HitPair, Rating, Study
from annotation.questions.questions import MAIN, Question

GOOD, BAD = 1, 2  # kinds of ties
# Why an answer is left out, under the first that applies:
# withdrawn     : the annotator withdrew consent
# check         : of a qualification or a hidden check
# excluded      : the assignment or the annotator was excluded manually
# not_submitted : the assignment was not submitted, or was returned
# surplus       : another assignment had already filled the slot
EXCLUSIONS = ("withdrawn", "check", "excluded", "not_submitted", "surplus")


@dataclass(frozen=True)
class Whose:
    """The raters whose answers are read, with or without manually excluded ones.

    people, arms : codes of people and names of arms; None for all
    """

    people: tuple[str, ...] | None = None
    arms: tuple[str, ...] | None = None
    with_excluded: bool = False


EVERYONE = Whose()

# Columns of an answer that are read: always, of its time, and where a question asks for more than a verdict.
OF_ANSWER = (
    (F("verdict") + 1, 3),
    (code_of({1: Q(display__a_is_left=True), 2: Q(display__a_is_left=False)}), 3),
)
_FIRST_IS_A = np.array([np.nan, 1.0, 0.0])  # by the code of the side
OF_TIME = ("active_seconds", "display__position")
OF_DEGREE = ("strength", code_of({GOOD: Q(tie_kind="good"), BAD: Q(tie_kind="bad")}))


@dataclass(frozen=True, eq=False)
class HumanVotes:
    """People's answers to a question, one row per pair of an answered HIT, in the order of the assignments.

    codes      : of all people of the study
    pair       : (n,) primary key of the pair
    person     : (n,) index into `codes`
    verdict    : (n,) -1 A, 0, +1 B; NaN for a pair of the HIT without an answer
    first_is_a : (n,) 1 if A's text was shown first, 0 if B's; NaN where not known, and for a pair without an answer
    chance     : (n,) inclusion probability that the HIT records; NaN where none is
    seconds    : (n,) active seconds on the pair; NaN where not recorded or not read
    shown      : (n,) ascends in the order in which a person was shown the pairs; NaN for a pair without an answer, or not read
    strength   : (n,) 1 slightly, 2 much; NaN where not known. Read where the question asks for more than a verdict
    tie_kind   : (n,) `GOOD`, `BAD`; 0 where not known. Likewise
    left_out   : (n_left,) primary keys of the pairs of answers that are left out
    reason     : (n_left,) index into `EXCLUSIONS`
    """

    codes: tuple[str, ...]
    pair: IntArray
    person: IntArray
    verdict: FloatArray
    first_is_a: FloatArray
    chance: FloatArray
    seconds: FloatArray
    shown: FloatArray
    strength: FloatArray
    tie_kind: FloatArray
    left_out: IntArray
    reason: IntArray


@dataclass(frozen=True, eq=False)
class _Assignments:
    """One row per assignment, by primary key. `reasons` is (len(EXCLUSIONS), n). `is_wanted` follows `Whose`.

    hit, chance : primary key of its HIT, and the inclusion probability that this records
    """

    key: IntArray
    hit: IntArray
    chance: FloatArray
    person: IntArray
    reasons: BoolArray
    is_wanted: BoolArray
    is_counted: BoolArray
    codes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Answers:
    """One row per answer: its assignment's row (`of`), the pair's position on the HIT, and the rest as in `HumanVotes`."""

    of: IntArray
    pair: IntArray
    verdict: FloatArray
    first_is_a: FloatArray
    strength: FloatArray
    tie_kind: FloatArray
    seconds: FloatArray
    position: FloatArray


def read_votes(
    study: Study,
    hits: QuerySet[Hit],
    batches: Collection[int],
    *,
    stage: str,
    question: Question,
    raters: Whose = EVERYONE,
    timed: bool = True,
) -> HumanVotes:
    """Read the answers on some HITs of a study, of counted assignments only (see `AssignmentQuerySet.counted`).

    batches : primary keys of the batches whose answers count
    timed   : whether `seconds` and `shown` are read
    """
    hit_ids, batch = number_columns(hits.order_by("pk"), "pk", "batch_id").astype(np.int64)
    has_most = 2 * len(hit_ids) > Hit.objects.count()  # reading all rows takes less time than joining those of the HITs
    assignments = _assignments(study, hits, hit_ids, np.isin(batch, list(batches)), raters, has_most=has_most)
    stored = Rating.objects.for_question(question.number).filter(stage=stage)
    if not has_most:
        stored = stored.filter(display__assignment__hit__in=hits)
    answers = _answers(stored, assignments, question, timed=timed)
    out = (assignments.is_wanted & ~assignments.is_counted & assignments.reasons.any(axis=0))[answers.of]

    on_hits = HitPair.objects.all() if has_most else HitPair.objects.filter(hit__in=hits)
    of, asked_pair, chance = _asked(on_hits, assignments)
    answer = places_of_two((answers.of, answers.pair), (of, asked_pair))
    is_answered = answer >= 0
    is_kept = (np.bincount(of[is_answered], minlength=len(assignments.key)) > 0)[
        of
    ]  # an assignment without answers has no rows
    if stage != Rating.Stage.FIRST:
        is_kept &= is_answered
    if not is_kept.all():
        of, asked_pair, chance, answer = of[is_kept], asked_pair[is_kept], chance[is_kept], answer[is_kept]
    # What is appended is the value of pairs without an answer, whose place is -1.
    position = np.append(answers.position, np.nan)[answer]
    if timed and question.number != MAIN:
        seconds = _seconds_on_pairs(hits, stage, assignments, of, asked_pair)
    else:
        seconds = np.append(answers.seconds, np.nan)[answer]
    return HumanVotes(
        codes=assignments.codes,
        pair=asked_pair,
        person=assignments.person[of],
        verdict=np.append(answers.verdict, np.nan)[answer],
        first_is_a=np.append(answers.first_is_a, np.nan)[answer],
        chance=chance,
        seconds=seconds,
        shown=of * (1 + np.max(position, initial=0, where=~np.isnan(position))) + position,
        strength=np.append(answers.strength, np.nan)[answer],
        tie_kind=np.append(answers.tie_kind, 0.0)[answer],
        left_out=answers.pair[out],
        reason=assignments.reasons[:, answers.of[out]].argmax(axis=0),
    )


def _answers(stored: QuerySet[Rating], assignments: _Assignments, question: Question, *, timed: bool) -> _Answers:
    """Read the ratings of some assignments. Others are left out."""
    has_degree = question.strength or question.tie_kinds
    times, degrees = OF_TIME if timed else (), OF_DEGREE if has_degree else ()
    displayed = packed("display__pair_id", *OF_ANSWER)
    columns = number_columns(stored.order_by(), "display__assignment_id", displayed, *degrees, *times)
    of = places(assignments.key, columns[0])
    if (of < 0).any():  # of other HITs
        columns, of = columns[:, of >= 0], of[of >= 0]
    pair, verdict, side = unpacked(columns[1], *(n for _, n in OF_ANSWER))
    unread = np.full(len(of), np.nan)
    strength, tie_kind = columns[2:4] if has_degree else (unread, np.zeros(len(of)))
    seconds, position = columns[-2:] if timed else (unread, unread)
    return _Answers(
        of, pair, (verdict - 1).astype(np.float64), _FIRST_IS_A[side], strength, tie_kind, seconds, position
    )


def _seconds_on_pairs(
    hits: QuerySet[Hit], stage: str, assignments: _Assignments, of: IntArray, asked_pair: IntArray
) -> FloatArray:
    """Return the active seconds on pairs, which are kept with the main question."""
    recorded = Rating.objects.for_question(MAIN).filter(stage=stage, display__assignment__hit__in=hits)
    spent = number_columns(recorded.order_by(), "display__assignment_id", "display__pair_id", "active_seconds")
    rows = places_of_two((places(assignments.key, spent[0]), spent[1].astype(np.int64)), (of, asked_pair))
    return np.append(spent[2], np.nan)[rows]


def _assignments(
    study: Study, hits: QuerySet[Hit], hit_ids: IntArray, is_chosen: BoolArray, raters: Whose, *, has_most: bool
) -> _Assignments:
    """Read the assignments on some HITs (ascending primary keys). `is_chosen` marks those whose answers count."""
    people = list(study.annotators.order_by("pk").values_list("pk", "code", "withdrawn_at", "excluded"))
    keys = np.array([person_row[0] for person_row in people], dtype=np.int64)
    has_withdrawn = np.array([person_row[2] is not None for person_row in people], dtype=bool)
    is_excluded = np.array([person_row[3] for person_row in people], dtype=bool)
    arms = raters.arms
    # Imported ones have their arm at the second votes.
    second = Rating.objects.filter(display__assignment=OuterRef("pk"), arm__in=arms or ())
    flags = flags_of(
        Q(excluded=True),
        ~Q(purpose=Assignment.Purpose.RATING),
        ~Q(state=Assignment.State.SUBMITTED),
        Q(slot=None),
        Q(pk__isnull=False) if arms is None else Q(arm__in=arms) | Q(Exists(second)),
    )
    stored = Assignment.objects.all() if has_most else Assignment.objects.filter(hit__in=hits)
    columns = number_columns(stored.order_by(), "pk", "annotator_id", packed("hit_id", (flags, 32)))
    key, annotator, hit_and_flags = columns[:, np.argsort(columns[0], kind="stable")]
    key, (hit, flag) = key.astype(np.int64), unpacked(hit_and_flags, 32)
    of_hit = places(hit_ids, hit)
    if (of_hit < 0).any():  # of other HITs
        key, annotator, hit, flag, of_hit = (column[of_hit >= 0] for column in (key, annotator, hit, flag, of_hit))
    drawn, chance = number_columns(
        hits.exclude(inclusion_probability=None).order_by("pk"), "pk", "inclusion_probability"
    )
    person = places(keys, annotator)
    excluded, check, not_submitted, surplus, is_wanted = (flag & (1 << bit) > 0 for bit in range(5))
    excluded = (excluded | is_excluded[person]) & (not raters.with_excluded)
    reasons = np.stack([has_withdrawn[person], check, excluded, not_submitted, surplus])
    if raters.people is not None:
        is_wanted &= np.array([person_row[1] in raters.people for person_row in people], dtype=bool)[person]
    return _Assignments(
        key,
        hit,
        np.append(chance, np.nan)[places(drawn.astype(np.int64), hit)],
        person,
        reasons,
        is_wanted,
        is_wanted & ~reasons.any(axis=0) & is_chosen[of_hit],
        tuple(person_row[1] for person_row in people),
    )


def _asked(on_hits: QuerySet[HitPair], assignments: _Assignments) -> tuple[IntArray, IntArray, FloatArray]:
    """Return a row for each pair of each counted assignment: the assignment's row, the pair, the HIT's chance."""
    hit, pair = number_columns(on_hits.order_by("hit_id", "position"), "hit_id", "pair_id")
    listed, start, size = np.unique(hit.astype(np.int64), return_index=True, return_counts=True)
    counted = np.flatnonzero(assignments.is_counted)
    at = places(listed, assignments.hit[counted])
    counted, at = counted[at >= 0], at[at >= 0]
    sizes = size[at]
    first = np.cumsum(sizes) - sizes
    position = np.arange(sizes.sum()) + np.repeat(start[at] - first, sizes)
    return np.repeat(counted, sizes), pair[position].astype(np.int64), np.repeat(assignments.chance[counted], sizes)


@dataclass(frozen=True, eq=False)
class RatedPairs:
    """Verdicts as arrays, with columns that `Outcomes` doesn't have.

    outcomes      : one row per verdict; `instance` counts matchups of the selection, `rater` indexes `raters`
    first_is_a    : (n,) 1 if A's text was shown first (left), 0 if B's; NaN where not known
    raters        : the raters' codes
    chance        : (n,) inclusion probability of the instance, recorded by the HIT of the verdict (for a judge: by all
                    HITs of the instance); NaN where none is recorded
    seconds       : (n,) active seconds that the rater spent on the pair; NaN where not recorded, and for judges
    shown         : (n,) ascends in the order in which a person was shown the pairs, over all configurations; NaN where not
                    recorded, and for judges
    strength      : (n,) of preferences, 1 slightly and 2 much; NaN where not known or not asked
    tie_kind      : (n,) of ties, `GOOD` or `BAD`; 0 where not known or not asked
    asked         : of people, where it asks for strengths or kinds of ties: the question
    """

    outcomes: Outcomes
    first_is_a: FloatArray
    raters: tuple[str, ...]
    chance: FloatArray
    seconds: FloatArray
    shown: FloatArray
    strength: FloatArray
    tie_kind: IntArray
    asked: Question | None = None

    def at(self, rows: IntArray) -> "RatedPairs":
        """Return some of the rows."""
        return replace(
            self,
            outcomes=rows_of(self.outcomes, rows),
            first_is_a=self.first_is_a[rows],
            chance=self.chance[rows],
            seconds=self.seconds[rows],
            shown=self.shown[rows],
            strength=self.strength[rows],
            tie_kind=self.tie_kind[rows],
        )


def first_votes(outcomes: Outcomes) -> IntArray:
    """Return the rows of a rater's first vote on each pair. Several batches may have the same pair."""
    return first_rows(outcomes.instance, outcomes.pair, outcomes.rater)


def rows_of(outcomes: Outcomes, rows: IntArray) -> Outcomes:
    """Return some rows of the outcomes."""
    return Outcomes(**{field.name: getattr(outcomes, field.name)[rows] for field in fields(Outcomes)})
