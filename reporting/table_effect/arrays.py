"""Votes before and after a comparison table as arrays, with gold, table's verdict, arm and time."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from analysis.bias.revision import Decisions, agreement_with_others
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.arms import Arm, BadArm
from reporting.core.estimates import IntervalSettings

NO_ARM = ""  # of imported second votes without an arm
KINDS = ("none", "placebo", "table")  # in the order in which arms are shown: controls first


@dataclass(frozen=True)
class TableEffectFilters:
    """A part of a study, and the bootstrap settings. An empty filter selects all.

    systems : one system, or a pair of them in any order
    batches : names
    complete_only : only pairs of which every rater that they were for has decided, in every arm
    """

    dataset: str = ""
    systems: tuple[str, ...] = ()
    batches: tuple[str, ...] | None = None
    rounds: int = 1000
    seed: int = 0
    complete_only: bool = False

    @property
    def intervals(self) -> IntervalSettings:
        """Settings of intervals."""
        return IntervalSettings(seed=self.seed, rounds=self.rounds)

    def as_json(self) -> dict[str, Any]:
        """Return the filters as a JSON object."""
        return {
            "dataset": self.dataset or None,
            "systems": list(self.systems) or None,
            "batches": None if self.batches is None else list(self.batches),
            "rounds": self.rounds,
            "level": self.intervals.level,
            "seed": self.seed,
            "complete_only": self.complete_only,
        }


@dataclass(frozen=True, eq=False)
class SecondVotes:
    """One row per decision: a person's first and second vote on a pair. Only those that findings count.

    arms                          : names of the arms that have decisions, controls first; `arm` (n,) indexes them
    rating                        : (n,) primary key of the second vote
    instance, pair, annotator     : (n,) place of the instance by data set and id; primary keys
    clusters                      : the cluster of each instance by its place; None where each instance is its own
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
    clusters: IntArray | None = None

    def __len__(self) -> int:
        return len(self.rating)

    def rows_of(self, arm: str) -> IntArray:
        """Return the indices of an arm's decisions."""
        values: IntArray = np.flatnonzero(self.arm == self.arms.index(arm))
        return values


class Vote(NamedTuple):
    """A first or second vote. `rating` and `table` are keys, of the rating and of the shown table."""

    rating: int
    verdict: float
    seconds: float | None
    arm: str
    table: int | None


class _Decision(NamedTuple):
    pair: int
    annotator: int
    arm: str
    first: Vote
    second: Vote


@dataclass
class Collected:
    """First votes and decisions by (pair, annotator), and how many second votes were left out."""

    firsts: dict[tuple[int, int], float] = field(default_factory=dict)
    decisions: dict[tuple[int, int], _Decision] = field(default_factory=dict)
    excluded: dict[str, int] = field(default_factory=lambda: {"without_first_vote": 0, "repeated": 0})

    def add(self, pair: int, annotator: int, arm: str, first: Vote | None, second: Vote | None) -> None:
        """Add what a person said on a pair of an assignment that counts. Of several decisions the first one given here.

        arm : of the assignment, for a second vote that names none
        """
        key = (pair, annotator)
        if first:
            self.firsts.setdefault(key, first.verdict)
        if second and not first:
            self.excluded["without_first_vote"] += 1
        elif second and key in self.decisions:
            self.excluded["repeated"] += 1
        elif second and first:
            self.decisions[key] = _Decision(pair, annotator, second.arm or arm or NO_ARM, first, second)

    def drop_incomplete(self, slots: Mapping[int, int]) -> None:
        """Leave out the decisions on pairs that lack one of some slot, or in some arm.

        slots  : how many raters each pair is for
        source : Predicting Text Preference Via Structured Comparative Reasoning, §6.5, which keeps the questions with useful
                 responses from all annotators that they were given to
        """
        arms: dict[int, list[str]] = {}
        for row in self.decisions.values():
            arms.setdefault(row.pair, []).append(row.arm)
        every = set().union(*arms.values())
        complete = {pair for pair, arm in arms.items() if set(arm) == every and len(arm) >= slots.get(pair, 0)}
        complete_decisions = {key: decision for key, decision in self.decisions.items() if decision.pair in complete}
        self.excluded["pair_incomplete"] = len(self.decisions) - len(complete_decisions)
        self.decisions = complete_decisions


def arm_sort_key(name: str) -> tuple[int, str, int, str]:
    """Return the sort key of arms: none, placebos, then tables by name and number (c1, c8, c16)."""
    try:
        arm = Arm.parse(name)
    except BadArm:
        return len(KINDS), name, 0, ""
    words = arm.variant.rstrip("0123456789")
    digits = arm.variant[len(words) :]
    return KINDS.index(arm.kind), words, int(digits or 0), arm.variant


def agreed_verdicts(answers: Iterable[tuple[int | None, float | None]]) -> dict[int, float]:
    """Return the verdicts that judges reached with the tables they made, by the table's key.

    Tables with conflicting verdicts (from both orders, or from several runs) are left out.

    answers : table and verdict of each parsed, not negated judgment of the first repeat that made one
    """
    by_table: dict[int, set[float]] = {}
    for table, verdict in answers:
        if table is not None and verdict is not None:
            by_table.setdefault(table, set()).add(verdict)
    return {table: verdicts.pop() for table, verdicts in by_table.items() if len(verdicts) == 1}


def arrays_of(
    collected: Collected,
    pairs: Mapping[int, tuple[int, int | None]],
    *,
    implied: Mapping[int, float],
    reasoned: Collection[int],
    **known: Any,
) -> SecondVotes:
    """Return the collected decisions as arrays, in the order in which they were given.

    pairs    : place of the instance by data set and id, whatever its primary key is, and gold, by pair
    implied  : verdicts by table, of `agreed_verdicts`
    reasoned : ratings with a reason
    known    : the other fields of `SecondVotes`
    """
    rows = list(collected.decisions.values())
    arms = tuple(sorted({row.arm for row in rows}, key=arm_sort_key))
    pair, annotator = _codes(row.pair for row in rows), _codes(row.annotator for row in rows)
    votes = Decisions(
        _numbers(row.first.verdict for row in rows),
        _numbers(row.second.verdict for row in rows),
        _numbers(pairs[row.pair][1] for row in rows),
        _numbers(implied.get(row.second.table or 0) for row in rows),
    )
    arrays = {
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
        others_before=agreement_with_others(votes.before, pair, annotator, **arrays),
        others_after=agreement_with_others(votes.after, pair, annotator, **arrays),
        excluded=collected.excluded,
        **known,
    )


def _codes(values: Iterable[int]) -> IntArray:
    return np.array(list(values), dtype=np.int64)


def _numbers(values: Iterable[float | None]) -> FloatArray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
