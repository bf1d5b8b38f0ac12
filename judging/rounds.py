"""Rows → arrays: the judges of an ablation, round by round, with what their verdicts took; and tables that they made."""

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Count, Q, Sum

from analysis.types import BoolArray, FloatArray, IntArray
from annotation.models import Pair, Study
from judging.ablations import PREFIX, SC2, Configuration, configuration_of
from judging.judges.sc2.record import Row, winning_rows
from judging.models import Judge, Judgment, TableMaking

CHUNK = 2000
Status = Judgment.Status
ANSWERED = (Status.PARSED, Status.UNPARSED, Status.REFUSED)
COUNTED = {Status.UNPARSED: "unparsed", Status.REFUSED: "refused", Status.ERROR: "errors", Status.PENDING: "pending"}


@dataclass(frozen=True, eq=False)
class Spent:
    """What the answers behind a judge's verdicts took, one row per pair, over all rounds; NaN where it isn't known.

    calls : by kind. Answers that the cache had are counted as well: this is what a verdict takes by itself
    made  : calls that were made for these cells
    """

    calls: Mapping[str, FloatArray]
    total: FloatArray
    made: FloatArray
    prompt_tokens: FloatArray
    completion_tokens: FloatArray
    cost: FloatArray


@dataclass(frozen=True, eq=False)
class JudgedRounds:
    """One judge of an ablation on the pairs that it was asked about.

    pair, instance : (n_pairs,) primary keys
    verdict        : (n_pairs, rounds) in study order; NaN where there is none
    answered       : (n_pairs, rounds) whether an answer came, with or without a verdict; an error is none
    counts         : presentations by what came of them
    """

    judge: Judge
    configuration: Configuration
    pair: IntArray
    instance: IntArray
    verdict: FloatArray
    answered: BoolArray
    counts: dict[str, int]
    spent: Spent


def ablation_judges(study: Study, *, endpoint: str = "") -> list[tuple[Judge, Configuration]]:
    """List the judges of ablations that have runs on a study, of one endpoint if one is named.

    Of a configuration that was asked in several ways (other rounds, another seed, other aspects) the one with the most
    rounds counts, and of these the latest.
    """
    judges = Judge.objects.select_related("endpoint").filter(runs__study=study, name__startswith=f"{PREFIX}-")
    if endpoint:
        judges = judges.filter(endpoint__name=endpoint)
    found: dict[tuple[Configuration, int | None], Judge] = {}
    for judge in judges.distinct().order_by("repeats", "created_at", "pk"):
        configuration = configuration_of(judge)
        if configuration is not None:
            found[configuration, judge.endpoint_id] = judge
    return [(judge, configuration) for (configuration, _), judge in found.items()]


def judged_rounds(study: Study, judges: Sequence[tuple[Judge, Configuration]]) -> list[JudgedRounds]:
    """Read what these judges said and what it took, in a few queries for all of them.

    Of a presentation made in several runs the latest run's outcome counts, as in findings.
    """
    ids = [judge.pk for judge, _ in judges]
    cells: dict[int, dict[tuple[int, int], tuple[Any, ...]]] = {pk: {} for pk in ids}
    stored = Judgment.objects.filter(run__study=study, run__judge__in=ids, negated=False)
    names = ("run__judge_id", "pair_id", "repeat", "pk", "status", "verdict", "calls", "cached")
    rows = stored.order_by("run__created_at", "run_id", "pk").values_list(*names)
    for judge_id, pair, repeat, *cell in rows.iterator(chunk_size=CHUNK):
        if cell[1] != Status.PENDING or (pair, repeat) not in cells[judge_id]:
            cells[judge_id][pair, repeat] = tuple(cell)
    instance = dict(
        Pair.objects.filter(matchup__instance__study=study).order_by().values_list("pk", "matchup__instance_id")
    )
    taken = _taken(study, ids)
    return [_judged(judge, one, cells[judge.pk], instance, taken) for judge, one in judges]


def _judged(
    judge: Judge,
    configuration: Configuration,
    cells: Mapping[tuple[int, int], tuple[Any, ...]],
    instance: Mapping[int, int],
    taken: Mapping[int, Mapping[str, tuple[Any, ...]]],
) -> JudgedRounds:
    pairs = sorted({pair for pair, _ in cells})
    places = {pair: place for place, pair in enumerate(pairs)}
    verdict = np.full((len(pairs), judge.repeats), np.nan)
    answered = np.zeros((len(pairs), judge.repeats), dtype=bool)
    counts = dict.fromkeys(("asked", "a", "tie", "b", *COUNTED.values()), 0)
    for (pair, repeat), (_, status, said, _, _) in cells.items():
        place = (places[pair], repeat)
        answered[place] = status in ANSWERED
        counts["asked"] += status != Status.PENDING
        if status == Status.PARSED:
            verdict[place] = said
            counts[("a", "tie", "b")[said + 1]] += 1
        else:
            counts[COUNTED[Status(status)]] += 1
    return JudgedRounds(
        judge=judge,
        configuration=configuration,
        pair=np.array(pairs, dtype=np.int64),
        instance=np.array([instance[pair] for pair in pairs], dtype=np.int64),
        verdict=verdict,
        answered=answered,
        counts=counts,
        spent=_spent(cells, places, taken),
    )


def _spent(
    cells: Mapping[tuple[int, int], tuple[Any, ...]],
    places: Mapping[int, int],
    taken: Mapping[int, Mapping[str, tuple[Any, ...]]],
) -> Spent:
    """Sum up per pair what the answers took."""
    kinds = sorted({kind for pk, *_ in cells.values() for kind in taken.get(pk, {})})
    calls = {kind: np.zeros(len(places)) for kind in kinds}
    total, made, sent, written, cost = (np.zeros(len(places)) for _ in range(5))
    for (pair, _), (pk, _, _, used, cached) in cells.items():
        place, of_kind = places[pair], taken.get(pk, {})
        for kind, (number, *_) in of_kind.items():
            calls[kind][place] += number
        total[place] += used
        made[place] += used - cached
        for column, index in ((sent, 1), (written, 2), (cost, 3)):
            column[place] += sum((one[index] for one in of_kind.values()), 0.0)
    return Spent(calls, total, made, sent, written, cost)


def _taken(study: Study, judges: Collection[int]) -> dict[int, dict[str, tuple[Any, ...]]]:
    """Return what the answers behind each judgment took, by kind: how many, tokens sent and written, money."""
    links = Judgment.completions.through.objects.filter(
        judgment__run__study=study, judgment__run__judge__in=judges, judgment__negated=False
    )
    about = {"sent": "prompt_tokens", "written": "completion_tokens", "cost": "cost"}
    sums = {name: Sum(f"completion__{field}") for name, field in about.items()}
    unknown = {f"no_{name}": Count("pk", filter=Q(**{f"completion__{field}": None})) for name, field in about.items()}
    rows = links.order_by().values("judgment_id", "completion__kind").annotate(number=Count("pk"), **sums, **unknown)
    found: dict[int, dict[str, tuple[Any, ...]]] = {}
    names = ("judgment_id", "completion__kind", "number", *sums, *unknown)
    for judgment, kind, number, *values in rows.values_list(*names).iterator(chunk_size=CHUNK):
        told = zip(values[: len(about)], values[len(about) :], strict=True)
        known = (float("nan") if missing else float(total or 0) for total, missing in told)
        found.setdefault(judgment, {})[kind] = (number, *known)
    return found


@dataclass(frozen=True)
class MadeTable:
    """A table that won, in study order, with the two texts that it is about; `instance` is a primary key."""

    instance: int
    rows: list[dict[str, str]]
    text_a: str
    text_b: str


def made_tables(study: Study, judge: Judge, *, most: int, seed: int) -> tuple[list[MadeTable], int]:
    """Return tables that a judge made on a study, at most so many, drawn with a seed; and how many there are."""
    makings = TableMaking.objects.filter(judgment__run__study=study, judgment__run__judge=judge)
    ids = list(makings.order_by("pk").values_list("pk", flat=True))
    chosen = sorted(random.Random(seed).sample(ids, most)) if len(ids) > most else ids
    rows = TableMaking.objects.filter(pk__in=chosen).order_by("pk")
    names = ("matchup__instance_id", "generation_a__text", "generation_b__text")
    stored = rows.values_list("record", *(f"judgment__pair__{name}" for name in names))
    return [
        MadeTable(instance, [_plain(row) for row in winning_rows(record)], a, b) for record, instance, a, b in stored
    ], len(ids)


def _plain(row: Row) -> dict[str, str]:
    return {"aspect": row["aspect"], "only_a": row["only_a"], "both": row["both"], "only_b": row["only_b"]}


def makes_tables(configuration: Configuration) -> bool:
    """Tell whether a configuration makes comparison tables."""
    return configuration.method == SC2


def people_table(votes: Mapping[int, Sequence[int]], pairs: Iterable[int]) -> FloatArray:
    """Return people's votes on some pairs in columns, NaN where there is none."""
    found = [votes.get(int(pair), ()) for pair in pairs]
    table = np.full((len(found), max(map(len, found), default=0)), np.nan)
    for row, given in enumerate(found):
        table[row, : len(given)] = given
    return table
