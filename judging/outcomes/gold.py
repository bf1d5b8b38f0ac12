"""Rows → arrays: judges' verdicts beside the gold of the pairs, with calls, tokens and marks on rationales."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from django.db.models import Count, Q, QuerySet, Sum

from analysis.accuracy import A_FIRST, B_FIRST
from analysis.types import BoolArray
from annotation.models import Instance, Pair, Study
from annotation.questions.questions import MAIN
from annotation.studies.gold import gold_verdict
from annotation.studies.instance_tags import tags_of
from judging.models import Judge, Judgment, RationaleMark
from judging.outcomes.gold_arrays import CODES, GoldPairs, JudgedGold, Presentations
from judging.outcomes.judgments import judges_of, jury_answers
from judging.outcomes.tuned import tuned_pairs

CHUNK = 2000
Status = Judgment.Status
Cells = dict[tuple[int, int], tuple[Any, ...]]  # of a judge, by place of the pair and column
_COLUMNS = {Judgment.Order.AB: A_FIRST, Judgment.Order.BA: B_FIRST}


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
        tags={tag: _holds(tag in row[4] for row in rows) for tag in sorted({tag for row in rows for tag in row[4]})},
    )


def judged_gold(study: Study, gold: GoldPairs) -> list[tuple[Judge, JudgedGold]]:
    """Load every judge with answers on these pairs, sorted by name.

    Only the plain question's first repeat; of several runs the latest outcome counts, as in findings.
    """
    places = {pair_id: place for place, pair_id in enumerate(gold.pair_ids)}
    cells: dict[int, Cells] = {}
    for judge_id, pair_id, order, *cell in _presentations(study):
        if pair_id in places:
            place = (places[pair_id], _COLUMNS[order])
            held = cells.setdefault(judge_id, {})
            if cell[1] != Status.PENDING or place not in held:
                held[place] = tuple(cell)
    ran = [run.judge for run in judges_of(study)]
    cells |= _jury_cells(study, ran, places)
    taken, marks = _taken(study), _marks(study)
    found = []
    for judge in (one for one in ran if one.pk in cells):
        left_out = {places[pair] for pair in tuned_pairs(study, judge).tolist() if pair in places}
        kept = {place: cell for place, cell in cells[judge.pk].items() if place[0] not in left_out}
        found.append((judge, _beside(kept, taken, marks).beside(gold, judge.method)))
    return [(judge, one) for judge, one in found if (one.status > 0).any()]


def _pairs(study: Study) -> QuerySet[Pair, Any]:
    pairs = Pair.objects.filter(matchup__instance__study=study, matchup__instance__gold__isnull=False)
    names = ("pk", "matchup__instance_id", "matchup__system_a__name", "matchup__system_b__name")
    return pairs.order_by("matchup__instance__position", "matchup_id", "index").values_list(*names)


def _presentations(study: Study) -> Iterable[tuple[Any, ...]]:
    rows = Judgment.objects.for_question(MAIN).filter(run__study=study, repeat=0, negated=False)
    return (
        rows.order_by("run__created_at", "run_id", "pk")
        .values_list(
            *("run__judge_id", "pair_id", "order", "pk", "status", "verdict"),
            *("calls", "cached", "prompt_tokens", "completion_tokens"),
        )
        .iterator(chunk_size=CHUNK)
    )


def _jury_cells(study: Study, ran: Iterable[Judge], places: dict[int, int]) -> dict[int, Cells]:
    """Return the verdicts of juries as cells of the first column; they have no order."""
    return {
        jury.pk: {
            (places[pair], A_FIRST): (0, *said, 0, 0, None, None)
            for pair, said in jury_answers(study, jury).items()
            if pair in places
        }
        for jury in (one for one in ran if one.is_jury)
    }


def _beside(
    cells: Cells, taken: Mapping[int, tuple[int | None, int | None]], marks: Mapping[int, tuple[int, int]]
) -> Presentations:
    place, order = np.array(list(cells), dtype=np.int64).reshape(-1, 2).T
    rows = [
        (CODES[status], *rest, *taken.get(pk, (None, None)), *marks.get(pk, (0, 0)))
        for pk, status, *rest in cells.values()
    ]
    status, verdict, calls, cached, *more = np.array(rows, dtype=np.float64).reshape(-1, 10).T  # None is NaN
    made, answers, marked = np.stack(more[:2]), np.stack(more[2:4]), np.stack(more[4:])
    return Presentations(place, order, status.astype(np.int64), verdict, calls, cached, made, answers, marked)


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


def _holds(values: Iterable[bool]) -> BoolArray:
    return np.array(list(values), dtype=bool)
