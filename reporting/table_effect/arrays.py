"""Querysets to arrays: votes before and after a comparison table, with gold, table's verdict, arm and time."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Count, Q, QuerySet

from analysis.revision import Decisions, agreement_with_others
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.arms import Arm, BadArm
from annotation.core.errors import UnknownName
from annotation.models import Annotator, Assignment, Batch, Display, HitPair, Pair, Rating, Study
from annotation.questions.questions import MAIN
from annotation.studies.configurations import configurations
from annotation.studies.gold import gold_verdict
from judging.models import Judgment, TableMaking
from reporting.core.estimates import IntervalSettings
from reporting.core.people import count_exclusions
from reporting.core.selected_batches import selection_rows

NO_ARM = ""  # of imported second votes without an arm
KINDS = ("none", "placebo", "table")  # in the order in which arms are shown: controls first


@dataclass(frozen=True)
class TableEffectFilters:
    """Which part of a study to show, and the bootstrap settings; an empty filter selects all.

    systems : one system, or a pair of them in any order
    complete_only : only pairs of which every rater that they were for has decided, in every arm
    """

    dataset: str = ""
    systems: tuple[str, ...] = ()
    batches: tuple[Batch, ...] | None = None
    rounds: int = 1000
    seed: int = 0
    complete_only: bool = False

    @property
    def intervals(self) -> IntervalSettings:
        """How intervals are made."""
        return IntervalSettings(seed=self.seed, rounds=self.rounds)

    def as_json(self) -> dict[str, Any]:
        """Return the filters as a JSON object."""
        return {
            "dataset": self.dataset or None,
            "systems": list(self.systems) or None,
            "batches": None if self.batches is None else [batch.name for batch in self.batches],
            "rounds": self.rounds,
            "level": self.intervals.level,
            "seed": self.seed,
            "complete_only": self.complete_only,
        }

    def check(self, study: Study) -> None:
        """Check that the study has the selected data set and systems.

        Raises: UnknownName listing the existing ones.
        """
        if not self.dataset and not self.systems:
            return
        known = configurations(study, checks=False)
        if not any(
            one.dataset == (self.dataset or one.dataset)
            and {one.system_a.name, one.system_b.name}.issuperset(self.systems)
            for one in known
        ):
            asked = ", ".join(part for part in (self.dataset, " / ".join(self.systems)) if part)
            listed = "; ".join(map(str, known)) or "none yet: import instances first"
            raise UnknownName(f"study {study.slug} has no {asked}; it has {listed}")

    def pairs(self, prefix: str = "") -> Q:
        """Return the condition on pairs, or on rows whose lookup to the pair is `prefix`."""
        found = Q()
        if self.dataset:
            found &= Q(**{f"{prefix}matchup__instance__dataset": self.dataset})
        for name in self.systems:
            found &= Q(**{f"{prefix}matchup__system_a__name": name}) | Q(**{f"{prefix}matchup__system_b__name": name})
        return found

    def batches_for_rating(self, study: Study) -> QuerySet[Batch]:
        """Return the selected batches for rating."""
        found = study.batches.for_rating()
        if self.dataset:
            found = found.filter(dataset=self.dataset)
        for name in self.systems:
            found = found.filter(Q(system_a__name=name) | Q(system_b__name=name))
        return found


@dataclass(frozen=True, eq=False)
class SecondVotes:
    """One row per decision: a person's first and second vote on a pair. Only those that findings count.

    arms                          : names of the arms that have decisions, controls first; `arm` (n,) indexes them
    rating                        : (n,) primary key of the second vote
    instance, pair, annotator     : (n,) primary keys
    votes                         : before, after, gold and the shown table's verdict
    first_seconds, second_seconds : (n,) active seconds of each vote; NaN where not recorded
    shown                         : (n,) whether a table was shown
    reasoned                      : (n,) whether a reason was given
    others_before, others_after   : (n,) agreement with the others' first votes on the pair
    excluded                      : second votes that were left out, by reason
    scripted                      : annotators that are programs
    chosen                        : how instances were selected, see `reporting.core.instance_selection`
    """

    arms: tuple[str, ...]
    arm: IntArray
    rating: IntArray
    instance: IntArray
    pair: IntArray
    annotator: IntArray
    votes: Decisions
    first_seconds: FloatArray
    second_seconds: FloatArray
    shown: BoolArray
    reasoned: BoolArray
    others_before: FloatArray
    others_after: FloatArray
    excluded: dict[str, int]
    scripted: frozenset[int]
    chosen: list[dict[str, Any]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rating)

    def rows_of(self, arm: str) -> IntArray:
        """Return the indices of an arm's decisions."""
        found: IntArray = np.flatnonzero(self.arm == self.arms.index(arm))
        return found


class _Vote(NamedTuple):
    rating: int
    verdict: int
    seconds: float | None
    arm: str
    table: int | None


class _Decision(NamedTuple):
    pair: int
    annotator: int
    arm: str
    first: _Vote
    second: _Vote


@dataclass
class _Collected:
    """First votes and decisions by (pair, annotator)."""

    firsts: dict[tuple[int, int], int] = field(default_factory=dict)
    decisions: dict[tuple[int, int], _Decision] = field(default_factory=dict)
    excluded: dict[str, int] = field(default_factory=lambda: {"without_first_vote": 0, "repeated": 0})


def second_votes(study: Study, filters: TableEffectFilters) -> SecondVotes:
    """Read the second votes of a study with their first votes.

    As in all findings, only submitted, not excluded assignments for rating that fill a slot count; of several decisions
    of a person on one pair, the first.
    Raises: UnknownName for an unknown data set, system or pair of systems.
    """
    filters.check(study)
    pairs = _pairs(study, filters)
    collected = _read(study, filters, pairs)
    if filters.complete_only:
        _drop_incomplete(collected, _slots(_batches(study, filters)))
    revised = Rating.objects.of_question(MAIN).filter(
        stage=Rating.Stage.REVISED, display__pair__matchup__instance__study=study
    )
    collected.excluded |= count_exclusions(revised.filter(filters.pairs("display__pair__")), filters.batches)
    return replace(
        _arrays(study, collected, pairs), chosen=selection_rows(filters.batches_for_rating(study), filters.batches)
    )


def arm_sort_key(name: str) -> tuple[int, str, int, str]:
    """Sort key of arms: none, placebos, tables; variants by name and number (c1, c8, c16)."""
    try:
        arm = Arm.parse(name)
    except BadArm:
        return len(KINDS), name, 0, ""
    words = arm.variant.rstrip("0123456789")
    digits = arm.variant[len(words) :]
    return KINDS.index(arm.kind), words, int(digits or 0), arm.variant


def table_verdicts(study: Study) -> dict[int, int]:
    """Return the verdicts that judges reached with the tables they made, by the table's primary key.

    Only parsed, not negated judgments of the first repeat count. Tables with conflicting verdicts (from both orders, or
    from several runs) are left out.
    """
    by_table: dict[int, set[int]] = {}
    makings = TableMaking.objects.filter(
        table__study=study,
        judgment__status=Judgment.Status.PARSED,
        judgment__question=MAIN,
        judgment__repeat=0,
        judgment__negated=False,
    )
    for table, verdict in makings.order_by().values_list("table__pk", "judgment__verdict"):
        if verdict is not None:
            by_table.setdefault(table, set()).add(verdict)
    return {table: verdicts.pop() for table, verdicts in by_table.items() if len(verdicts) == 1}


def _pairs(study: Study, filters: TableEffectFilters) -> dict[int, tuple[int, int | None]]:
    """Return instance (its place by data set and ID) and gold of each selected pair, by the pair's primary key."""
    place = {
        pk: place for place, (*_, pk) in enumerate(sorted(study.instances.values_list("dataset", "instance_id", "pk")))
    }
    gold = dict(study.instances.exclude(gold=None).values_list("pk", "gold"))
    rows = Pair.objects.filter(filters.pairs(), matchup__instance__study=study).order_by()
    names = ("pk", "matchup__instance_id", "matchup__system_a__name", "matchup__system_b__name")
    return {
        pk: (place[instance], gold_verdict(gold.get(instance), a, b)) for pk, instance, a, b in rows.values_list(*names)
    }


def _batches(study: Study, filters: TableEffectFilters) -> list[Batch]:
    return list(Batch.objects.for_rating().filter(study=study) if filters.batches is None else filters.batches)


def _slots(batches: list[Batch]) -> dict[int, int]:
    """Return how many raters each pair is for: the slots of its HITs."""
    rows = HitPair.objects.filter(hit__batch__in=batches).order_by()
    return dict(rows.values_list("pair").annotate(Count("hit__slots")))


def _read(study: Study, filters: TableEffectFilters, pairs: Collection[int]) -> _Collected:
    # Several queries instead of one join over five tables, which is slow on a planner without statistics.
    batches = _batches(study, filters)
    counted = Assignment.objects.counted().filter(hit__batch__in=batches).order_by()
    assignments = {pk: (annotator, arm) for pk, annotator, arm in counted.values_list("pk", "annotator_id", "arm")}
    first, second = (_votes(batches, stage) for stage in (Rating.Stage.FIRST, Rating.Stage.REVISED))
    displays = Display.objects.filter(assignment__hit__batch__in=batches).order_by("assignment_id", "position")
    collected = _Collected()
    for display, assignment, pair in displays.values_list("pk", "assignment_id", "pair_id"):
        if assignment in assignments and pair in pairs:
            _add(collected, pair, *assignments[assignment], first.get(display), second.get(display))
    return collected


def _votes(batches: list[Batch], stage: str) -> dict[int, _Vote]:
    """Return the votes of a stage by their display."""
    rows = Rating.objects.of_question(MAIN).filter(stage=stage, display__assignment__hit__batch__in=batches).order_by()
    found = rows.values_list("display_id", "pk", "verdict", "active_seconds", "arm", "table__pk")
    return {display: _Vote(pk, verdict, seconds, arm, table) for display, pk, verdict, seconds, arm, table in found}


def _add(collected: _Collected, pair: int, annotator: int, arm: str, first: _Vote | None, second: _Vote | None) -> None:
    key = (pair, annotator)
    if first:
        collected.firsts.setdefault(key, first.verdict)
    if second and not first:
        collected.excluded["without_first_vote"] += 1
    elif second and key in collected.decisions:
        collected.excluded["repeated"] += 1
    elif second and first:
        collected.decisions[key] = _Decision(pair, annotator, second.arm or arm or NO_ARM, first, second)


def _drop_incomplete(collected: _Collected, slots: Mapping[int, int]) -> None:
    """Leave out the decisions on pairs that lack one of some slot, or in some arm.

    source : Predicting Text Preference Via Structured Comparative Reasoning, §6.5, which keeps the questions with useful
             responses from all annotators that they were given to
    """
    arms: dict[int, list[str]] = {}
    for one in collected.decisions.values():
        arms.setdefault(one.pair, []).append(one.arm)
    every = set().union(*arms.values())
    complete = {pair for pair, found in arms.items() if set(found) == every and len(found) >= slots.get(pair, 0)}
    kept = {key: one for key, one in collected.decisions.items() if one.pair in complete}
    collected.excluded["pair_incomplete"] = len(collected.decisions) - len(kept)
    collected.decisions = kept


def _arrays(study: Study, collected: _Collected, pairs: Mapping[int, tuple[int, int | None]]) -> SecondVotes:
    rows = list(collected.decisions.values())
    arms = tuple(sorted({row.arm for row in rows}, key=arm_sort_key))
    implied = table_verdicts(study)
    pair, annotator = _codes(row.pair for row in rows), _codes(row.annotator for row in rows)
    votes = Decisions(
        _numbers(row.first.verdict for row in rows),
        _numbers(row.second.verdict for row in rows),
        _numbers(pairs[row.pair][1] for row in rows),
        _numbers(implied.get(row.second.table or 0) for row in rows),
    )
    reasoned = set(_with_reason(study).values_list("pk", flat=True))
    others = {
        "first": _numbers(collected.firsts.values()),
        "first_pair": _codes(key[0] for key in collected.firsts),
        "first_rater": _codes(key[1] for key in collected.firsts),
    }
    return SecondVotes(
        arms=arms,
        arm=_codes(arms.index(row.arm) for row in rows),
        rating=_codes(row.second.rating for row in rows),
        instance=_codes(pairs[row.pair][0] for row in rows),
        pair=pair,
        annotator=annotator,
        votes=votes,
        first_seconds=_numbers(row.first.seconds for row in rows),
        second_seconds=_numbers(row.second.seconds for row in rows),
        shown=np.array([row.second.table is not None for row in rows], dtype=bool),
        reasoned=np.array([row.second.rating in reasoned for row in rows], dtype=bool),
        others_before=agreement_with_others(votes.before, pair, annotator, **others),
        others_after=agreement_with_others(votes.after, pair, annotator, **others),
        excluded=collected.excluded,
        scripted=frozenset(study.annotators.filter(kind=Annotator.Kind.SCRIPTED).values_list("pk", flat=True)),
    )


def _with_reason(study: Study) -> QuerySet[Rating]:
    of_study = Rating.objects.of_question(MAIN).filter(
        stage=Rating.Stage.REVISED, display__assignment__hit__batch__study=study
    )
    return of_study.exclude(reason="").order_by()


def _codes(values: Iterable[int]) -> IntArray:
    return np.array(list(values), dtype=np.int64)


def _numbers(values: Iterable[float | None]) -> FloatArray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
