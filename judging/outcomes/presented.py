"""Rows → arrays: the presentations of judges, those of juries made of their members', and the verdict on each pair."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from django.db.models import F, IntegerField, Q, QuerySet
from django.db.models.functions import Coalesce

from analysis.judges.juries import JuryUnits, jury_verdicts, member_table, vote_counts
from analysis.logic.verdicts import averaged_verdict
from analysis.types import BoolArray, FloatArray, IntArray, Verdict
from annotation.core.database.columns import code_of, number_columns, packed, places, unpacked
from annotation.models import Matchup, Pair, Study
from annotation.questions.questions import MAIN
from judging.models import Judge, JudgeRun, Judgment
from judging.outcomes.people import people_by_pair
from judging.outcomes.tuned import tuned_pairs

PENDING = Judgment.Status.PENDING
PARSED = Judgment.Status.PARSED
COUNTED_AS = {
    PARSED: "parsed",
    Judgment.Status.UNPARSED: "unparsed",
    Judgment.Status.REFUSED: "refused",
    Judgment.Status.ERROR: "errors",
    PENDING: "pending",
}
STATUSES = (PENDING, PARSED, *(a for a in COUNTED_AS if a not in (PENDING, PARSED)))
OPEN, PARSED_CODE = 0, 1  # places in `STATUSES`
Places = tuple[IntArray, IntArray, IntArray]
NO_VERDICT_CODE, ERROR_CODE = STATUSES.index(Judgment.Status.UNPARSED), STATUSES.index(Judgment.Status.ERROR)
NO_PROBABILITY = -1.0
NO_VERDICT_SAID = 3  # stands for a missing verdict beside 0, 1, 2 for A, a tie, B


@dataclass(frozen=True, eq=False)
class Presented:
    """A judge's latest presentations, one row for each pair and order, by pair and then with A first.

    A jury has one for each pair that a member was asked about, as if A were first: its members may have seen other orders.

    pair       : (n,) primary keys
    first_is_a : (n,) bool
    status     : (n,) place in `STATUSES`: `OPEN`, `PARSED_CODE` and so on
    verdict    : (n,) -1, 0, +1; NaN where there is none
    p_b        : (n,) probability of B; NaN where there is none
    """

    pair: IntArray
    first_is_a: BoolArray
    status: IntArray
    verdict: FloatArray
    p_b: FloatArray

    def at(self, rows: IntArray | BoolArray) -> "Presented":
        """Return some of the rows."""
        return Presented(*(getattr(self, field.name)[rows] for field in fields(self)))

    def asked(self) -> "Presented":
        """Return those that were asked."""
        return self.at(self.status != OPEN)

    def begins(self) -> BoolArray:
        """(n,) whether a row is the first of its pair."""
        return np.append(True, np.diff(self.pair) != 0)[: len(self.pair)]


NOTHING = Presented(*(np.empty(0, dtype=kind) for kind in (np.int64, bool, np.int64, float, float)))


def presentations_of(
    study: Study, judges: Iterable[Judge], *, question: int = MAIN, among: QuerySet[Matchup] | None = None
) -> dict[int, Presented]:
    """Read the first repeats of the plain presentations, by the judge's primary key. Judges without any are left out.

    A jury's are made of those of its members on the whole study. What a judge said of instances that it was tuned on is left
    out.

    among : only pairs of these matchups, as far as that saves time: a jury's are all there
    """
    listed = list(judges)
    stored = Judgment.objects.for_question(question).filter(repeat=0, negated=False)
    judgments = stored if among is None else stored.filter(pair__matchup__in=among)
    plain = [judge for judge in listed if not judge.is_jury]
    by_judge = _untuned(study, _presented(study, judgments, plain), plain)
    juries = [judge for judge in listed if judge.is_jury]
    return {**by_judge, **(_juries(study, juries, stored, question) if juries else {})}


def _untuned(study: Study, by_judge: dict[int, Presented], judges: Iterable[Judge]) -> dict[int, Presented]:
    """Leave out judges' presentations of the instances that they were tuned on."""
    for judge in judges:
        if judge.tuned and judge.pk in by_judge:
            presented = by_judge[judge.pk]
            by_judge[judge.pk] = presented.at(~np.isin(presented.pair, tuned_pairs(study, judge)))
    return by_judge


def _juries(study: Study, juries: Sequence[Judge], stored: QuerySet[Judgment], question: int) -> dict[int, Presented]:
    names = {name for jury in juries for name in jury.members}
    members = {member.name: member for member in Judge.objects.filter(name__in=names)}
    presented_members = _presented(study, stored, members.values())
    by_member = _untuned(study, presented_members, members.values())
    presented = {name: by_member.get(member.pk, NOTHING) for name, member in members.items()}
    verdicts = {name: one_verdict_each(presented[name], member) for name, member in members.items()}
    votes = [(pair, vote) for pair, cast in people_by_pair(study, question=question).items() for vote in cast]
    voted = np.array(votes, dtype=np.float64).reshape(-1, 2).T
    pairs = _places(study)
    results = {}
    for jury in juries:
        heard = [name for name in jury.members if name in presented]
        of_members = [presented[name] for name in heard], [verdicts[name] for name in heard]
        results[jury.pk] = _jury(jury, *of_members, voted, pairs)
    return results


def _jury(
    jury: Judge, members: Sequence[Presented], verdicts: Sequence[FloatArray], voted: FloatArray, pairs: Places
) -> Presented:
    keys = [member.pair[member.begins()] for member in members]
    pair, votes = member_table(keys, verdicts)
    position = np.searchsorted(pairs[0], pair)
    of_people = vote_counts(pair, voted[0].astype(np.int64), voted[1])
    units = JuryUnits(votes, of_people, pairs[1][position], pairs[2][position])
    verdict = jury_verdicts(units, jury.params["rule"])
    heard = np.zeros(len(pair), dtype=np.int64)  # 0: no member was asked yet, 1: no one asked has answered, 2: one has
    for member in members:
        states = np.where(member.status == OPEN, 0, np.where(member.status == ERROR_CODE, 1, 2))
        np.maximum.at(heard, np.searchsorted(pair, member.pair), states)
    unsaid = np.choose(heard, (OPEN, ERROR_CODE, NO_VERDICT_CODE))
    status = np.where(np.isnan(verdict), unsaid, PARSED_CODE)
    return Presented(pair, np.ones(len(pair), dtype=bool), status, verdict, np.full(len(pair), np.nan))


def _places(study: Study) -> Places:
    """Return the pairs of a study, ascending, with the instance of each and the number of its configuration."""
    matchups = Matchup.objects.filter(instance__study=study).order_by("pk")
    rows = list(matchups.values_list("pk", "instance_id", "instance__dataset", "system_a_id", "system_b_id"))
    code = {key: number for number, key in enumerate(dict.fromkeys(row[2:] for row in rows))}
    columns = np.array([(row[0], row[1], code[row[2:]]) for row in rows], dtype=np.int64).reshape(-1, 3)
    pairs = Pair.objects.filter(matchup__instance__study=study).order_by("pk")
    pair, matchup = number_columns(pairs, "pk", "matchup_id").astype(np.int64)
    row = np.searchsorted(columns[:, 0], matchup)
    return pair, columns[row, 1], columns[row, 2]


def _presented(study: Study, stored: QuerySet[Judgment], judges: Collection[Judge]) -> dict[int, Presented]:
    """Read presentations, by judge, each with its latest outcome. Open cells don't replace earlier outcomes."""
    status = code_of({code: Q(status=value) for code, value in enumerate(STATUSES)})
    side = Coalesce(F("verdict") + 1, NO_VERDICT_SAID, output_field=IntegerField())
    digits = (code_of({1: Q(order=Judgment.Order.AB)}), 2), (side, 4), (status, len(STATUSES))
    runs_of_judges = JudgeRun.objects.filter(study=study, judge__in=judges).order_by("created_at", "pk")
    runs, judge_of_run = np.array(list(runs_of_judges.values_list("pk", "judge_id")), dtype=np.int64).reshape(-1, 2).T
    rows = stored.filter(run__in=runs.tolist()).order_by()  # naming the runs takes less time than joining them
    p_b = Coalesce("p_b", NO_PROBABILITY)  # columns without NULL take half the time
    run, packed_pair, probability = number_columns(rows, "run_id", packed("pair_id", *digits), p_b)
    pair, is_a, verdict_code, code = unpacked(packed_pair, *(n for _, n in digits))
    verdict = np.where(verdict_code == NO_VERDICT_SAID, np.nan, verdict_code - 1.0)
    probability = np.where(probability == NO_PROBABILITY, np.nan, probability)
    by_key = np.argsort(runs)
    age = by_key[places(runs[by_key], run)]
    judge = judge_of_run[age]
    order = np.lexsort((age, code != OPEN, 1 - is_a, pair, judge))
    last = np.append(np.diff(np.stack([judge, pair, is_a])[:, order]).any(axis=0), True)[: len(order)]
    latest = order[last]
    judge_of_row = judge[latest]
    everything = Presented(pair, is_a > 0, code, verdict, probability)
    return {int(value): everything.at(latest[judge_of_row == value]) for value in np.unique(judge_of_row).tolist()}


def one_verdict_each(presented: Presented, judge: Judge) -> FloatArray:
    """Combine each pair's presentations, in one or both orders, into a verdict, or NaN where one is missing."""
    if judge.order == Judge.OrderPolicy.BOTH and judge.combine == Judge.Combine.PROBABILITY:
        return averaged_verdict(*_of_orders(presented, judge, _probabilities(presented)))
    first, second = _of_orders(presented, judge, presented.verdict)
    return np.where(np.isnan(first + second), np.nan, np.where(first == second, first, float(Verdict.TIE)))


def one_probability_each(presented: Presented, judge: Judge) -> FloatArray:
    """Return each pair's probability of B, of both orders their mean, or NaN where one is missing."""
    first, second = _of_orders(presented, judge, _probabilities(presented))
    return (first + second) / 2


def _probabilities(presented: Presented) -> FloatArray:
    return np.where(presented.status == PARSED_CODE, presented.p_b, np.nan)


def _of_orders(presented: Presented, judge: Judge, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each pair's value in both orders, the same one twice where only one is asked, or NaN where one is missing."""
    first = np.flatnonzero(presented.begins())
    in_both = np.append(np.diff(first), len(presented.pair) - first[-1:]) == 2
    second = values[np.where(in_both, first + 1, first)]
    return values[first], np.where(in_both | (judge.order != Judge.OrderPolicy.BOTH), second, np.nan)
