"""Rows → arrays: judges' verdicts beside the gold of the pairs, with calls, tokens and marks on rationales."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import QuerySet, Sum

from analysis.accuracy import A_FIRST, B_FIRST, AgainstGold
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.models import Instance, Pair, Study
from annotation.questions.questions import MAIN
from annotation.studies.gold import gold_verdict
from annotation.studies.instance_tags import tags_of
from judging.models import Judge, Judgment, RationaleMark
from judging.outcomes.judgments import jury_answers
from judging.outcomes.tuned import tuned_pairs

CHUNK = 2000
Status = Judgment.Status
_CODES = {Status.PENDING: 0, Status.PARSED: 1, Status.UNPARSED: 2, Status.REFUSED: 3, Status.ERROR: 4}
_COLUMNS = {Judgment.Order.AB: A_FIRST, Judgment.Order.BA: B_FIRST}


@dataclass(frozen=True, eq=False)
class GoldPairs:
    """The pairs of a study whose gold says which text is better, or neither.

    pair_ids : (n_pairs,) primary keys
    instance : (n_pairs,) integer code of the pair's instance, in the study's order
    gold     : (n_pairs,) -1 A is better, +1 B, 0 neither
    datasets : name of each data set → (n_pairs,) whether the pair is of it
    tags     : the same for each tag of the instances' metadata
    """

    pair_ids: tuple[int, ...]
    instance: IntArray
    gold: FloatArray
    datasets: dict[str, BoolArray]
    tags: dict[str, BoolArray]

    def __len__(self) -> int:
        return len(self.pair_ids)


@dataclass(frozen=True, eq=False)
class JudgedGold:
    """One judge on the pairs of `GoldPairs`; columns: A's text first, B's text first.

    status      : (n_pairs, 2) code of the judgment's status; 0 where it was not, or not yet, asked
    verdict     : (n_pairs, 2) in study order; NaN unless parsed
    calls       : (n_pairs, 2) answers behind it, new or cached; NaN where unknown
    calls_made  : (n_pairs, 2) calls made for it
    tokens      : (n_pairs, 2) of prompts and completions of all answers behind it
    tokens_made : (n_pairs, 2) of the calls made for it
    sound       : (n_pairs, 2) 1 where most marks call the rationale sound, 0 where fewer than half, else NaN
    disputed    : presentations with as many marks for as against
    """

    judge: Judge
    gold: GoldPairs
    status: IntArray
    verdict: FloatArray
    calls: FloatArray
    calls_made: FloatArray
    tokens: FloatArray
    tokens_made: FloatArray
    sound: FloatArray
    disputed: BoolArray

    @property
    def answered(self) -> BoolArray:
        """(n_pairs, 2) whether the judge gave an answer, with or without a verdict; an error is none."""
        return np.isin(self.status, [_CODES[Status.PARSED], _CODES[Status.UNPARSED], _CODES[Status.REFUSED]])

    def count(self, status: str) -> IntArray:
        """(n_pairs,) presentations with this status."""
        counts: IntArray = (self.status == _CODES[Status(status)]).sum(axis=1)
        return counts

    def errors(self, pairs: BoolArray) -> IntArray:
        """(2,) presentations of these pairs in each order that ended in an error."""
        errors: IntArray = (self.status[pairs] == _CODES[Status.ERROR]).sum(axis=0)
        return errors

    def against_gold(self, pairs: BoolArray) -> AgainstGold:
        """Return what the judge said of these pairs, for `analysis.accuracy`."""
        return AgainstGold(self.verdict[pairs], self.gold.gold[pairs], self.answered[pairs])


def gold_by_pair(study: Study) -> dict[int, float]:
    """Return the verdict of the gold on each pair that it says something about, by primary key."""
    found = gold_pairs(study)
    return dict(zip(found.pair_ids, found.gold.tolist(), strict=True))


def gold_pairs(study: Study) -> GoldPairs:
    """Load the pairs whose gold says something about their two systems."""
    instances = {
        pk: (code, dataset, gold, tags_of(metadata))
        for code, (pk, dataset, gold, metadata) in enumerate(
            Instance.objects.filter(study=study, gold__isnull=False)
            .order_by("position")
            .values_list("pk", "dataset", "gold", "metadata")
        )
    }
    rows = []
    for pair_id, instance_pk, a, b in _pairs(study):
        code, dataset, gold, tags = instances.get(instance_pk, (0, "", None, ()))
        if (verdict := gold_verdict(gold, a, b)) is not None:
            rows.append((pair_id, code, verdict, dataset, tags))
    return GoldPairs(
        pair_ids=tuple(row[0] for row in rows),
        instance=np.array([row[1] for row in rows], dtype=np.int64),
        gold=np.array([row[2] for row in rows], dtype=np.float64),
        datasets={name: _holds(row[3] == name for row in rows) for name in sorted({row[3] for row in rows})},
        tags={
            tag: _holds(tag in row[4] for row in rows) for tag in sorted({tag for row in rows for tag in row[4]})
        },
    )  # fmt: skip


def judged_gold(study: Study, gold: GoldPairs) -> list[JudgedGold]:
    """Load every judge with answers on these pairs, sorted by name.

    Only the plain question's first repeat; of several runs the latest outcome counts, as in findings.
    """
    places = {pair_id: place for place, pair_id in enumerate(gold.pair_ids)}
    cells: dict[int, dict[tuple[int, int], tuple[Any, ...]]] = {}
    for judge_id, pair_id, order, *cell in _presentations(study):
        if pair_id in places:
            place = (places[pair_id], _COLUMNS[order])
            held = cells.setdefault(judge_id, {})
            if cell[1] != Status.PENDING or place not in held:
                held[place] = tuple(cell)
    ran = list(Judge.objects.select_related("endpoint").filter(runs__study=study).distinct().order_by("name"))
    cells |= _jury_cells(study, ran, places)
    spent, marks = _spent(study), _marks(study)
    judges = [one for one in ran if one.pk in cells and not one.is_candidate]
    for judge in judges:
        for pair in set(tuned_pairs(study, judge).tolist()) & places.keys():
            cells[judge.pk] = {place: cell for place, cell in cells[judge.pk].items() if place[0] != places[pair]}
    found = (_judged(judge, gold, cells[judge.pk], spent, marks) for judge in judges)
    return [one for one in found if (one.status > 0).any()]


def _pairs(study: Study) -> QuerySet[Pair, Any]:
    pairs = Pair.objects.filter(matchup__instance__study=study, matchup__instance__gold__isnull=False)
    names = ("pk", "matchup__instance_id", "matchup__system_a__name", "matchup__system_b__name")
    return pairs.order_by("matchup__instance__position", "matchup_id", "index").values_list(*names)


def _presentations(study: Study) -> Iterable[tuple[Any, ...]]:
    rows = Judgment.objects.of_question(MAIN).filter(run__study=study, repeat=0, negated=False)
    return (
        rows.order_by("run__created_at", "run_id", "pk")
        .values_list(
            *("run__judge_id", "pair_id", "order", "pk", "status", "verdict"),
            *("calls", "cached", "prompt_tokens", "completion_tokens"),
        )
        .iterator(chunk_size=CHUNK)
    )


def _jury_cells(
    study: Study, ran: Iterable[Judge], places: dict[int, int]
) -> dict[int, dict[tuple[int, int], tuple[Any, ...]]]:
    """Return the verdicts of juries as cells of the first column; they have no order."""
    found: dict[int, dict[tuple[int, int], tuple[Any, ...]]] = {}
    for jury in (one for one in ran if one.is_jury):
        found[jury.pk] = {
            (places[pair], A_FIRST): (0, *said, 0, 0, None, None)
            for pair, said in jury_answers(study, jury).items()
            if pair in places
        }
    return found


def _judged(
    judge: Judge,
    gold: GoldPairs,
    cells: dict[tuple[int, int], tuple[Any, ...]],
    spent: dict[int, int],
    marks: dict[int, list[bool]],
) -> JudgedGold:
    shape = (len(gold), 2)
    numbers = {
        name: np.full(shape, np.nan) for name in ("verdict", "calls", "calls_made", "tokens", "tokens_made", "sound")
    }
    status, disputed = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
    for place, (pk, state, verdict, calls, cached, prompt_tokens, completion_tokens) in cells.items():
        status[place] = _CODES[Status(state)]
        numbers["verdict"][place] = np.nan if verdict is None else verdict
        made = _total(prompt_tokens, completion_tokens, nothing=0.0 if calls == cached else np.nan)
        is_told = calls > 0 or judge.method != "imported"  # imported judgments may lack the number of calls
        numbers["calls"][place] = calls if is_told else np.nan
        numbers["calls_made"][place] = calls - cached if is_told else np.nan
        numbers["tokens_made"][place] = made if is_told else np.nan
        numbers["tokens"][place] = spent.get(pk, numbers["tokens_made"][place])
        said = marks.get(pk, [])
        share = sum(said) / len(said) if said else np.nan
        disputed[place] = share == 0.5
        numbers["sound"][place] = np.nan if not said or share == 0.5 else float(share > 0.5)
    return JudgedGold(judge=judge, gold=gold, status=status, disputed=disputed, **numbers)


def _total(*numbers: int | None, nothing: float) -> float:
    known = [number for number in numbers if number is not None]
    return float(sum(known)) if known else nothing


def _spent(study: Study) -> dict[int, int]:
    """Sum the tokens of the completions behind each judgment, cached ones included."""
    links = Judgment.completions.through.objects.filter(
        judgment__run__study=study, judgment__question=MAIN, judgment__repeat=0, judgment__negated=False
    )
    rows = links.values_list("judgment_id").annotate(
        Sum("completion__prompt_tokens"), Sum("completion__completion_tokens")
    )
    return {
        pk: (prompt or 0) + (written or 0)
        for pk, prompt, written in rows.order_by()
        if (prompt, written) != (None, None)
    }


def _marks(study: Study) -> dict[int, list[bool]]:
    rows = RationaleMark.objects.filter(
        judgment__run__study=study, judgment__question=MAIN, judgment__repeat=0, judgment__negated=False
    ).order_by("pk")
    marks: dict[int, list[bool]] = {}
    for judgment_id, sound in rows.values_list("judgment_id", "sound"):
        marks.setdefault(judgment_id, []).append(sound)
    return marks


def _holds(values: Iterable[bool]) -> BoolArray:
    return np.array(list(values), dtype=bool)
