"""Judges' verdicts beside the gold of the pairs, with calls, tokens and marks on rationales, as arrays."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Count, Q, Sum

from analysis.judges.accuracy import A_FIRST, B_FIRST, AgainstGold
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.models import Instance, Pair, Study
from annotation.questions.questions import MAIN
from annotation.studies.instances import gold_verdict, instance_clusters, tags_of
from judging.models import Judge, Judgment, RationaleMark
from judging.outcomes.judgments import judges_of, jury_answers
from judging.outcomes.tuned import tuned_pairs

STATUSES = ("pending", "parsed", "unparsed", "refused", "error")  # by their codes
CODES = {status: code for code, status in enumerate(STATUSES)}
ANSWERED = [CODES[status] for status in ("parsed", "unparsed", "refused")]


@dataclass(frozen=True, eq=False)
class GoldPairs:
    """The pairs of a study whose gold says which text is better, or neither.

    pair_ids : (n_pairs,) primary keys
    instance : (n_pairs,) integer code of the pair's instance, in the study's order
    gold     : (n_pairs,) -1 A is better, +1 B, 0 neither
    datasets : name of each data set → (n_pairs,) whether the pair is of it
    tags     : the same for each tag of the instances' metadata
    clusters : the cluster of each instance by its code; None where each instance is its own
    """

    pair_ids: tuple[int, ...]
    instance: IntArray
    gold: FloatArray
    datasets: dict[str, BoolArray]
    tags: dict[str, BoolArray]
    clusters: IntArray | None = None

    def __len__(self) -> int:
        return len(self.pair_ids)


@dataclass(frozen=True, eq=False)
class JudgedGold:
    """One judge on the pairs of `GoldPairs`. Columns: A's text first, B's text first.

    status      : (n_pairs, 2) code of the judgment's status; 0 where it was not, or not yet, asked
    verdict     : (n_pairs, 2) in study order; NaN unless parsed
    calls       : (n_pairs, 2) answers behind it, new or cached; NaN where unknown
    calls_made  : (n_pairs, 2) calls made for it
    tokens      : (n_pairs, 2) of prompts and completions of all answers behind it
    tokens_made : (n_pairs, 2) of the calls made for it
    sound       : (n_pairs, 2) 1 where most marks call the rationale sound, 0 where fewer than half, else NaN
    disputed    : presentations with as many marks for as against
    """

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
        """(n_pairs, 2) true where the judge gave an answer, with or without a verdict. Errors are false."""
        return np.isin(self.status, ANSWERED)

    def count(self, status: str) -> IntArray:
        """(n_pairs,) presentations with this status."""
        counts: IntArray = (self.status == CODES[status]).sum(axis=1)
        return counts

    def errors(self, pairs: BoolArray) -> IntArray:
        """(2,) presentations of these pairs in each order that ended in an error."""
        errors: IntArray = (self.status[pairs] == CODES["error"]).sum(axis=0)
        return errors

    def against_gold(self, pairs: BoolArray) -> AgainstGold:
        """Return what the judge said of these pairs, for `analysis.judges.accuracy`."""
        return AgainstGold(self.verdict[pairs], self.gold.gold[pairs], self.answered[pairs])


def _total(numbers: FloatArray, unknown: FloatArray) -> FloatArray:
    """Sum each column over what is known, else return what stands for it."""
    return np.where(np.isnan(numbers).all(axis=0), unknown, np.nansum(numbers, axis=0))


CHUNK = 2000
Status = Judgment.Status
Cells = dict[tuple[int, int], tuple[Any, ...]]  # of a judge, by place of the pair and column
_COLUMNS = {Judgment.Order.AB: A_FIRST, Judgment.Order.BA: B_FIRST}


def gold_by_pair(study: Study) -> dict[int, float]:
    """Return the verdict of the gold on each pair that it says something about, by primary key."""
    gold = gold_pairs(study)
    return dict(zip(gold.pair_ids, gold.gold.tolist(), strict=True))


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
    clusters = instance_clusters(study)
    pairs = Pair.objects.filter(matchup__instance__study=study, matchup__instance__gold__isnull=False)
    names = ("pk", "matchup__instance_id", "matchup__system_a__name", "matchup__system_b__name")
    ordered = pairs.order_by("matchup__instance__position", "matchup_id", "index")
    rows = []
    for pair_id, instance_pk, a, b in ordered.values_list(*names):
        code, dataset, gold, tags = instances.get(instance_pk, (0, "", None, ()))
        if (verdict := gold_verdict(gold, a, b)) is not None:
            rows.append((pair_id, code, verdict, dataset, tags))
    return GoldPairs(
        pair_ids=tuple(row[0] for row in rows),
        instance=np.array([row[1] for row in rows], dtype=np.int64),
        gold=np.array([row[2] for row in rows], dtype=np.float64),
        datasets={name: np.array([row[3] == name for row in rows]) for name in sorted({row[3] for row in rows})},
        tags={
            tag: np.array([tag in row[4] for row in rows]) for tag in sorted({tag for row in rows for tag in row[4]})
        },
        clusters=None if clusters is None else np.array([clusters.by_key[pk] for pk in instances], dtype=np.int64),
    )


def judged_gold(study: Study, gold: GoldPairs) -> list[tuple[Judge, JudgedGold]]:
    """Load every judge with answers on these pairs, sorted by name.

    Only the plain question's first repeat; of several runs the latest outcome counts, as in findings.
    """
    indexes = {pair_id: index for index, pair_id in enumerate(gold.pair_ids)}
    cells: dict[int, Cells] = {}
    presentations = Judgment.objects.for_question(MAIN).filter(run__study=study, repeat=0, negated=False)
    stored = presentations.order_by("run__created_at", "run_id", "pk").values_list(
        *("run__judge_id", "pair_id", "order", "pk", "status", "verdict"),
        *("calls", "cached", "prompt_tokens", "completion_tokens"),
    )
    for judge_id, pair_id, order, *cell in stored.iterator(chunk_size=CHUNK):
        if pair_id in indexes:
            index = (indexes[pair_id], _COLUMNS[order])
            cells_of_judge = cells.setdefault(judge_id, {})
            if cell[1] != Status.PENDING or index not in cells_of_judge:
                cells_of_judge[index] = tuple(cell)
    ran = [run.judge for run in judges_of(study)]
    for jury in (judge for judge in ran if judge.is_jury):
        answers = jury_answers(study, jury)
        cells[jury.pk] = {
            (indexes[pair], A_FIRST): (0, *answer, 0, 0, None, None)
            for pair, answer in answers.items()
            if pair in indexes
        }
    times, marks = _taken(study), _marks(study)
    judged = []
    for judge in (item for item in ran if item.pk in cells):
        left_out = {indexes[pair] for pair in tuned_pairs(study, judge).tolist() if pair in indexes}
        cells_kept = {index: cell for index, cell in cells[judge.pk].items() if index[0] not in left_out}
        judged.append((judge, _beside(gold, judge, cells_kept, times, marks)))
    return [(judge, item) for judge, item in judged if (item.status > 0).any()]


def _beside(
    gold: GoldPairs,
    judge: Judge,
    cells: Cells,
    times: Mapping[int, tuple[int | None, int | None]],
    marks: Mapping[int, tuple[int, int]],
) -> JudgedGold:
    """Return a judge's answers beside the gold. Imported judgments may lack the number of calls.

    cells : a jury's verdicts have no order, and stand with A first
    """
    at = tuple(np.array(list(cells), dtype=np.int64).reshape(-1, 2).T)
    rows = [
        (CODES[status], *counts, *times.get(pk, (None, None)), *marks.get(pk, (0, 0)))
        for pk, status, *counts in cells.values()
    ]
    status, verdict, calls, cached, *more = np.array(rows, dtype=np.float64).reshape(-1, 10).T  # None is NaN
    sound, unsound = more[4:]
    tokens_made = _total(np.stack(more[:2]), np.where(calls == cached, 0.0, np.nan))
    counted = {
        "calls": calls,
        "calls_made": calls - cached,
        "tokens": _total(np.stack(more[2:4]), tokens_made),
        "tokens_made": tokens_made,
    }
    has_calls = (calls > 0) | (judge.method != "imported")
    columns = {name: np.where(has_calls, values, np.nan) for name, values in counted.items()}
    columns |= {"verdict": verdict, "sound": np.where(sound == unsound, np.nan, sound > unsound)}
    tables = {name: np.full((len(gold), 2), np.nan) for name in columns}
    codes, disputed = np.zeros((len(gold), 2), dtype=np.int64), np.zeros((len(gold), 2), dtype=bool)
    codes[at], disputed[at] = status.astype(np.int64), (sound == unsound) & (sound > 0)
    for name, values in columns.items():
        tables[name][at] = values
    return JudgedGold(gold=gold, status=codes, disputed=disputed, **tables)


def _taken(study: Study) -> dict[int, tuple[int | None, int | None]]:
    """Sum the tokens of prompts and completions over the answers behind each judgment, cached ones included."""
    links = Judgment.completions.through.objects.filter(
        judgment__run__study=study, judgment__question=MAIN, judgment__repeat=0, judgment__negated=False
    )
    sums = Sum("completion__prompt_tokens"), Sum("completion__completion_tokens")
    return {pk: (sent, written) for pk, sent, written in links.order_by().values_list("judgment_id").annotate(*sums)}


def _marks(study: Study) -> dict[int, tuple[int, int]]:
    """Count the marks that call each rationale sound, and not sound."""
    rows = RationaleMark.objects.filter(
        judgment__run__study=study, judgment__question=MAIN, judgment__repeat=0, judgment__negated=False
    ).order_by()
    counts = {f"n_{sound}": Count("pk", filter=Q(sound=sound)) for sound in (True, False)}
    return {pk: (sound, unsound) for pk, sound, unsound in rows.values_list("judgment_id").annotate(**counts)}
