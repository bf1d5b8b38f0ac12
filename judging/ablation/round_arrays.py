"""The verdicts of an ablation's judges by round, with their usage, and the tables that they made, as arrays. No models."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

import numpy as np

from analysis.types import BoolArray, FloatArray, IntArray
from judging.ablation.judge_configurations import SC2, AblationJudge, JudgeConfiguration, configuration_of
from judging.methods.options import OFFLINE
from judging.methods.sc2.record import Record, TableRow, winning_rows
from judging.methods.task_files import find_task, task_of
from judging.outcomes.gold_arrays import ANSWERED, CODES
from judging.outcomes.vote_tables import vote_table

MAX_CHECKED_TABLES = 100  # per configuration
T = TypeVar("T")
COUNTED = {"unparsed": "unparsed", "refused": "refused", "error": "errors", "pending": "pending"}


@dataclass(frozen=True, eq=False)
class RoundUsage:
    """The usage of a judge's verdicts, one row per pair, over all rounds; NaN where unknown.

    calls : by kind, cached answers included: what a verdict takes by itself
    made  : calls made for these cells
    """

    calls: Mapping[str, FloatArray]
    total: FloatArray
    made: FloatArray
    prompt_tokens: FloatArray
    completion_tokens: FloatArray
    cost: FloatArray


@dataclass(frozen=True)
class AspectList:
    """Aspects that are the same for all pairs, and their name: of a version, the task, or a given list."""

    name: str
    texts: tuple[str, ...]

    @property
    def key(self) -> str:
        """Short hash of the list of aspects."""
        return _short_hash(self.texts)


@dataclass(frozen=True)
class KnownAspects:
    """The aspects of a study's task.

    kind    : of the study
    current : hash of those of the group's latest version, which new judges are given; `None`: the task's own
    names   : of the group's versions, by their aspects
    """

    kind: str
    current: str | None
    names: Mapping[tuple[str, ...], str] = field(default_factory=dict)

    def of(self, judge: AblationJudge, configuration: JudgeConfiguration) -> AspectList | None:
        """Return a judge's aspects, named by the latest version with them; `None` if they aren't the same for all pairs."""
        if configuration.aspects != OFFLINE:
            return None
        given = judge.params.get("aspects")
        if isinstance(given, list):
            return AspectList(self.names.get(tuple(given), f"list {_short_hash(given)}"), tuple(given))
        return self._own

    def hold(self, judge: AblationJudge, configuration: JudgeConfiguration) -> bool:
        """Tell whether a judge has the current aspects, or has none."""
        aspects = self.of(judge, configuration)
        return aspects is None or aspects.key == (self._own.key if self.current is None else self.current)

    @property
    def _own(self) -> AspectList:
        task = task_of(self.kind)
        return AspectList(f"{task} (built in)", tuple(find_task(task).aspects))


def one_of_each(
    judges: Iterable[AblationJudge], known: KnownAspects, *, endpoint: str = ""
) -> list[tuple[AblationJudge, JudgeConfiguration]]:
    """List the judges of an ablation, of one endpoint if given, one of each configuration.

    Of several judges of one configuration and endpoints (other rounds, seed or aspects) one is listed: of those with the current
    aspects the one with the most rounds, and of these the latest; without any of those, the latest.
    """
    found: dict[tuple[Any, ...], tuple[tuple[Any, ...], AblationJudge]] = {}
    for judge in judges:
        configuration = configuration_of(judge)
        if configuration is None or (endpoint and (judge.endpoint is None or judge.endpoint.name != endpoint)):
            continue
        holds = known.hold(judge, configuration)
        merit = (holds, judge.repeats if holds else 0, judge.created_at, judge.key)
        key = (configuration, *(one and one.name for one in (judge.endpoint, judge.table_endpoint)))
        if key not in found or found[key][0] < merit:
            found[key] = merit, judge
    return [(judge, configuration) for (configuration, *_), (_, judge) in found.items()]


@dataclass(frozen=True, eq=False)
class JudgedRounds:
    """One judge of an ablation on the pairs that it was asked about.

    pair     : (n_pairs,) primary keys
    instance : (n_pairs,) codes, in the order of the instances
    verdict  : (n_pairs, rounds) in study order; NaN where there is none
    answered : (n_pairs, rounds) whether there is an answer, with or without a verdict; an error is none
    ended    : (n_pairs, rounds) whether it was asked, errors included
    aspects  : `None` if it uses none, or the online ones
    counts   : presentations by outcome
    """

    judge: AblationJudge
    configuration: JudgeConfiguration
    pair: IntArray
    instance: IntArray
    verdict: FloatArray
    answered: BoolArray
    ended: BoolArray
    aspects: AspectList | None
    counts: dict[str, int]
    spent: RoundUsage

    @property
    def failed(self) -> BoolArray:
        """Which presentations ended in an error: (n_pairs, rounds)."""
        return self.ended & ~self.answered

    @property
    def pairs_key(self) -> str:
        """Short hash of which pairs these are, by primary key: for comparing rows of one database."""
        return _short_hash(self.pair.tolist())


def _short_hash(values: Sequence[Any]) -> str:
    return sha256(json.dumps(list(values)).encode()).hexdigest()[:8]


class Cell(NamedTuple):
    """A presentation: a pair in a round. `key` is the judgment's primary key, `calls` its answers, new or `cached`."""

    key: int
    status: str
    verdict: int | None
    calls: int
    cached: int


class Taken(NamedTuple):
    """What the answers of one kind behind a judgment took together; NaN where one of them doesn't say."""

    number: int
    prompt_tokens: float
    completion_tokens: float
    cost: float


Cells = Mapping[tuple[int, int], Cell]  # of a judge, by pair and round
TakenByKind = Mapping[int, Mapping[str, Taken]]  # by judgment and kind


def latest_cells(rows: Iterable[tuple[int, int, int, Cell]]) -> dict[int, dict[tuple[int, int], Cell]]:
    """Return the cells of each judge: of several runs the latest outcome of a presentation counts, as in findings.

    rows : judge, pair, round and cell, by run and then by primary key
    """
    found: dict[int, dict[tuple[int, int], Cell]] = {}
    for judge, pair, repeat, cell in rows:
        held = found.setdefault(judge, {})
        if cell.status != "pending" or (pair, repeat) not in held:
            held[pair, repeat] = cell
    return found


def rounds_of(
    judge: AblationJudge,
    configuration: JudgeConfiguration,
    known: KnownAspects,
    cells: Cells,
    instance: Mapping[int, int],
    taken: TakenByKind,
) -> JudgedRounds:
    """Put a judge's cells in arrays, a row for each pair and a column for each round; `instance` is each pair's code."""
    pairs = sorted({pair for pair, _ in cells})
    places = {pair: place for place, pair in enumerate(pairs)}
    verdict = np.full((len(pairs), judge.repeats), np.nan)
    answered, ended = (np.zeros((len(pairs), judge.repeats), dtype=bool) for _ in range(2))
    counts = dict.fromkeys(("asked", "a", "tie", "b", *COUNTED.values()), 0)
    for (pair, repeat), cell in cells.items():
        place = (places[pair], repeat)
        answered[place] = CODES[cell.status] in ANSWERED
        ended[place] = cell.status != "pending"
        counts["asked"] += cell.status != "pending"
        if cell.verdict is None:
            counts[COUNTED[cell.status]] += 1
        else:
            verdict[place] = cell.verdict
            counts[("a", "tie", "b")[cell.verdict + 1]] += 1
    return JudgedRounds(
        judge=judge,
        configuration=configuration,
        pair=np.array(pairs, dtype=np.int64),
        instance=np.array([instance[pair] for pair in pairs], dtype=np.int64),
        verdict=verdict,
        answered=answered,
        ended=ended,
        aspects=known.of(judge, configuration),
        counts=counts,
        spent=_spent(cells, places, taken),
    )


def _spent(cells: Cells, places: Mapping[int, int], taken: TakenByKind) -> RoundUsage:
    """Sum the usage per pair."""
    kinds = sorted({kind for cell in cells.values() for kind in taken.get(cell.key, {})})
    calls = {kind: np.zeros(len(places)) for kind in kinds}
    total, made, sent, written, cost = (np.zeros(len(places)) for _ in range(5))
    for (pair, _), cell in cells.items():
        place, of_kind = places[pair], sorted(taken.get(cell.key, {}).items())
        for kind, one in of_kind:
            calls[kind][place] += one.number
        total[place] += cell.calls
        made[place] += cell.calls - cell.cached
        for column, index in ((sent, 1), (written, 2), (cost, 3)):
            column[place] += sum((one[index] for _, one in of_kind), 0.0)
    return RoundUsage(calls, total, made, sent, written, cost)


@dataclass(frozen=True)
class MadeTable:
    """A winning table in study order, with its two texts; `instance` is a code, in the order of the instances."""

    instance: int
    rows: list[dict[str, str]]
    text_a: str
    text_b: str

    @classmethod
    def of(cls, record: Record, instance: int, text_a: str, text_b: str) -> "MadeTable":
        """Return the table that won."""
        return cls(instance, [_plain(row) for row in winning_rows(record)], text_a, text_b)


def drawn_tables(made: Mapping[tuple[int, int], T], names: Mapping[int, str], *, seed: int) -> list[T]:
    """Draw at most `MAX_CHECKED_TABLES` of those that a judge made, by round and pair: of several rounds the first.

    They are drawn by the names of the pairs with the study's seed, so that judges are compared on the same pairs, a study and
    its copy too. The order is random; pairs added later don't change it.
    """
    order = {pair: sha256(f"{seed} {names[pair]}".encode()).hexdigest() for _, pair in made}
    return [made[cell] for cell in sorted(made, key=lambda cell: (cell[0], order[cell[1]]))[:MAX_CHECKED_TABLES]]


def pair_name(instance_id: str, system_a: str, system_b: str, index: int) -> str:
    """Name a pair within its study."""
    return json.dumps([instance_id, system_a, system_b, index], ensure_ascii=False)


def _plain(row: TableRow) -> dict[str, str]:
    return {"aspect": row["aspect"], "only_a": row["only_a"], "both": row["both"], "only_b": row["only_b"]}


def makes_tables(configuration: JudgeConfiguration) -> bool:
    """Tell whether a configuration makes comparison tables."""
    return configuration.method == SC2 and not configuration.variant


def people_table(votes: Mapping[int, Sequence[int]], pairs: Iterable[int]) -> FloatArray:
    """Return people's votes on some pairs in columns, padded with NaN."""
    return vote_table([votes.get(int(pair), ()) for pair in pairs])
