"""Rows → arrays: people's votes before and after a comparison table, with gold, table's verdict, arm and time."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Q, QuerySet

from analysis.revision import Decisions, agreement_with_others
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.arms import Arm, BadArm
from annotation.configurations import configurations
from annotation.errors import UnknownName
from annotation.gold import gold_verdict
from annotation.models import Annotator, Assignment, Batch, Display, Pair, Rating, Study
from judging.models import Judgment, TableMaking
from reporting.estimates import Sampler
from reporting.raters import left_out_by_reason

NO_ARM = ""  # of second votes that were read in without one
KINDS = ("none", "placebo", "table")  # in the order in which arms are shown: controls first


@dataclass(frozen=True)
class Look:
    """What the reader asked to look at, and how intervals are drawn; what is empty leaves nothing out.

    systems : one, or two that are compared, in whichever order
    """

    dataset: str = ""
    systems: tuple[str, ...] = ()
    batches: tuple[Batch, ...] | None = None
    rounds: int = 1000
    seed: int = 0

    @property
    def sampler(self) -> Sampler:
        """How intervals are drawn."""
        return Sampler(self.seed, self.rounds)

    def described(self) -> dict[str, Any]:
        """Return it as JSON, to be read beside the numbers."""
        return {
            "dataset": self.dataset or None,
            "systems": list(self.systems) or None,
            "batches": None if self.batches is None else [batch.name for batch in self.batches],
            "rounds": self.rounds,
            "level": self.sampler.level,
            "seed": self.seed,
        }

    def check(self, study: Study) -> None:
        """Refuse what the study doesn't have.

        Raises: UnknownName listing what there is.
        """
        if not self.dataset and not self.systems:
            return
        known = configurations(study)
        if not any(
            one.dataset == (self.dataset or one.dataset)
            and {one.system_a.name, one.system_b.name}.issuperset(self.systems)
            for one in known
        ):
            asked = ", ".join(part for part in (self.dataset, " / ".join(self.systems)) if part)
            listed = "; ".join(map(str, known)) or "none yet: import instances first"
            raise UnknownName(f"study {study.slug} has no {asked}; it has {listed}")

    def pairs(self, prefix: str = "") -> Q:
        """Return the condition on pairs, or on what is behind `prefix`."""
        found = Q()
        if self.dataset:
            found &= Q(**{f"{prefix}matchup__instance__dataset": self.dataset})
        for name in self.systems:
            found &= Q(**{f"{prefix}matchup__system_a__name": name}) | Q(**{f"{prefix}matchup__system_b__name": name})
        return found


@dataclass(frozen=True, eq=False)
class SecondVotes:
    """One row per decision: a person's first and second vote on a pair. Those that findings count, and no others.

    arms                          : names of the arms that have decisions, controls first; `arm` (n,) indexes them
    rating                        : (n,) primary key of the second vote
    instance, pair, annotator     : (n,) primary keys
    votes                         : before, after, gold and the shown table's verdict
    first_seconds, second_seconds : (n,) active seconds of each vote; NaN where nobody counted them
    shown                         : (n,) whether a table is on record as shown
    reasoned                      : (n,) whether a reason was given
    others_before, others_after   : (n,) agreement with the others' first votes on the pair
    excluded                      : second votes that were left out, by reason
    scripted                      : annotators that are programs
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

    def __len__(self) -> int:
        return len(self.rating)

    def rows_of(self, arm: str) -> IntArray:
        """Return the places of an arm's decisions."""
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
class _Read:
    """What was read: everybody's first vote on a pair by (pair, annotator), and the decisions likewise."""

    firsts: dict[tuple[int, int], int] = field(default_factory=dict)
    decisions: dict[tuple[int, int], _Decision] = field(default_factory=dict)
    excluded: dict[str, int] = field(default_factory=lambda: {"without_first_vote": 0, "repeated": 0})


def second_votes(study: Study, look: Look) -> SecondVotes:
    """Read the second votes of a study with the first ones that they follow.

    Counted are submitted, not excluded assignments for rating that fill a slot, as in all findings; of a person's
    several decisions on one pair the first.
    Raises: UnknownName for a data set, system or pair of systems that the study doesn't have.
    """
    look.check(study)
    pairs = _pairs(study, look)
    read = _read(study, look, pairs)
    revised = Rating.objects.filter(stage=Rating.Stage.REVISED, display__pair__matchup__instance__study=study)
    read.excluded |= left_out_by_reason(revised.filter(look.pairs("display__pair__")), look.batches)
    return _arrays(study, read, pairs)


def arm_order(name: str) -> tuple[int, str, int, str]:
    """Sort arms: none, placebos, tables; variants by their words and then by their number (c1, c8, c16)."""
    try:
        arm = Arm.parse(name)
    except BadArm:
        return len(KINDS), name, 0, ""
    words = arm.variant.rstrip("0123456789")
    digits = arm.variant[len(words) :]
    return KINDS.index(arm.kind), words, int(digits or 0), arm.variant


def verdicts_of_tables(study: Study) -> dict[int, int]:
    """Return what the judges that made a study's tables came to with them, by the table's key.

    Plain, first-time judgments with a verdict count. A table with which verdicts differ (its judge was asked in both
    orders, or it was made in several runs) implies nothing, and isn't there.
    """
    said: dict[int, set[int]] = {}
    makings = TableMaking.objects.filter(
        table__study=study, judgment__status=Judgment.Status.PARSED, judgment__repeat=0, judgment__negated=False
    )
    for table, verdict in makings.order_by().values_list("table__pk", "judgment__verdict"):
        if verdict is not None:
            said.setdefault(table, set()).add(verdict)
    return {table: verdicts.pop() for table, verdicts in said.items() if len(verdicts) == 1}


def _pairs(study: Study, look: Look) -> dict[int, tuple[int, int | None]]:
    """Return instance and gold of each pair that is looked at, by the pair's key."""
    gold = dict(study.instances.exclude(gold=None).values_list("pk", "gold"))
    rows = Pair.objects.filter(look.pairs(), matchup__instance__study=study).order_by()
    names = ("pk", "matchup__instance_id", "matchup__system_a__name", "matchup__system_b__name")
    return {pk: (instance, gold_verdict(gold.get(instance), a, b)) for pk, instance, a, b in rows.values_list(*names)}


def _read(study: Study, look: Look, pairs: Collection[int]) -> _Read:
    # Plain queries rather than one join through five tables, which a planner without statistics gets badly wrong.
    batches = list(Batch.objects.for_rating().filter(study=study) if look.batches is None else look.batches)
    counted = Assignment.objects.counted().filter(hit__batch__in=batches).order_by()
    held = {pk: (annotator, arm) for pk, annotator, arm in counted.values_list("pk", "annotator_id", "arm")}
    first, second = (_votes(batches, stage) for stage in (Rating.Stage.FIRST, Rating.Stage.REVISED))
    displays = Display.objects.filter(assignment__hit__batch__in=batches).order_by("assignment_id", "position")
    read = _Read()
    for display, assignment, pair in displays.values_list("pk", "assignment_id", "pair_id"):
        if assignment in held and pair in pairs:
            _add(read, pair, *held[assignment], first.get(display), second.get(display))
    return read


def _votes(batches: list[Batch], stage: str) -> dict[int, _Vote]:
    """Return the votes of a stage by their display."""
    rows = Rating.objects.filter(stage=stage, display__assignment__hit__batch__in=batches).order_by()
    found = rows.values_list("display_id", "pk", "verdict", "active_seconds", "arm", "table__pk")
    return {display: _Vote(pk, verdict, seconds, arm, table) for display, pk, verdict, seconds, arm, table in found}


def _add(read: _Read, pair: int, annotator: int, arm: str, first: _Vote | None, second: _Vote | None) -> None:
    key = (pair, annotator)
    if first:
        read.firsts.setdefault(key, first.verdict)
    if second and not first:
        read.excluded["without_first_vote"] += 1
    elif second and key in read.decisions:
        read.excluded["repeated"] += 1
    elif second and first:
        read.decisions[key] = _Decision(pair, annotator, second.arm or arm or NO_ARM, first, second)


def _arrays(study: Study, read: _Read, pairs: Mapping[int, tuple[int, int | None]]) -> SecondVotes:
    rows = list(read.decisions.values())
    arms = tuple(sorted({row.arm for row in rows}, key=arm_order))
    implied = verdicts_of_tables(study)
    pair, annotator = _codes(row.pair for row in rows), _codes(row.annotator for row in rows)
    votes = Decisions(
        _numbers(row.first.verdict for row in rows),
        _numbers(row.second.verdict for row in rows),
        _numbers(pairs[row.pair][1] for row in rows),
        _numbers(implied.get(row.second.table or 0) for row in rows),
    )
    reasoned = set(_with_reason(study).values_list("pk", flat=True))
    others = {
        "first": _numbers(read.firsts.values()),
        "first_pair": _codes(key[0] for key in read.firsts),
        "first_rater": _codes(key[1] for key in read.firsts),
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
        excluded=read.excluded,
        scripted=frozenset(study.annotators.filter(kind=Annotator.Kind.SCRIPTED).values_list("pk", flat=True)),
    )


def _with_reason(study: Study) -> QuerySet[Rating]:
    of_study = Rating.objects.filter(stage=Rating.Stage.REVISED, display__assignment__hit__batch__study=study)
    return of_study.exclude(reason="").order_by()


def _codes(values: Iterable[int]) -> IntArray:
    return np.array(list(values), dtype=np.int64)


def _numbers(values: Iterable[float | None]) -> FloatArray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
