"""Rows → arrays: the verdicts of an ablation's judges by round, with their usage; and the tables that they made."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from django.db.models import Count, Q, Sum

from analysis.types import BoolArray, FloatArray, IntArray
from annotation.models import Pair, Study
from annotation.questions.questions import MAIN
from judging.ablation.judge_configurations import PREFIX, SC2, JudgeConfiguration, configuration_of
from judging.aspects.aspect_sets import current_aspects, versions_of
from judging.methods.options import OFFLINE
from judging.methods.sc2.record import TableRow, winning_rows
from judging.methods.task_files import find_task, task_of
from judging.models import Judge, Judgment, TableMaking
from judging.review.comparing import vote_table

CHUNK = 2000
Status = Judgment.Status
ANSWERED = (Status.PARSED, Status.UNPARSED, Status.REFUSED)
COUNTED = {Status.UNPARSED: "unparsed", Status.REFUSED: "refused", Status.ERROR: "errors", Status.PENDING: "pending"}


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


@dataclass(frozen=True, eq=False)
class JudgedRounds:
    """One judge of an ablation on the pairs that it was asked about.

    pair, instance : (n_pairs,) primary keys
    verdict        : (n_pairs, rounds) in study order; NaN where there is none
    answered       : (n_pairs, rounds) whether there is an answer, with or without a verdict; an error is none
    ended          : (n_pairs, rounds) whether it was asked, errors included
    aspects        : `None` if it uses none, or the online ones
    counts         : presentations by outcome
    """

    judge: Judge
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


def ablation_judges(study: Study, *, endpoint: str = "") -> list[tuple[Judge, JudgeConfiguration]]:
    """List the ablation judges that have runs on a study's main question, of one endpoint if given.

    Of several judges of one configuration and endpoints (other rounds, seed or aspects) one is listed: of those with the current
    aspects the one with the most rounds, and of these the latest; without any of those, the latest.
    """
    answering = {run.judge_id for run in study.judge_runs.only("judge", "questions") if MAIN in run.questions}
    judges = Judge.objects.select_related("endpoint", "table_endpoint").filter(
        pk__in=answering, name__startswith=f"{PREFIX}-"
    )
    if endpoint:
        judges = judges.filter(endpoint__name=endpoint)
    aspects_of, holding = _AspectVersions(study), tuple(current_aspects(study)[0])
    found: dict[tuple[JudgeConfiguration, int | None, int | None], tuple[tuple[Any, ...], Judge]] = {}
    for judge in judges.order_by("pk"):
        configuration = configuration_of(judge)
        if configuration is None:
            continue
        aspects = aspects_of(judge, configuration)
        holds = aspects is None or aspects.texts == holding
        merit = (holds, judge.repeats if holds else 0, judge.created_at, judge.pk)
        key = configuration, judge.endpoint_id, judge.table_endpoint_id
        if key not in found or found[key][0] < merit:
            found[key] = merit, judge
    return [(judge, configuration) for (configuration, *_), (_, judge) in found.items()]


class _AspectVersions:
    """Looks up the aspects of judges; loads a study's versions once."""

    def __init__(self, study: Study) -> None:
        task = task_of(study.task_kind)
        self.own = AspectList(f"{task} (built in)", tuple(find_task(task).aspects))
        self.names: dict[tuple[str, ...], str] = {}
        for version in versions_of(study):
            self.names.setdefault(tuple(version.aspects), str(version))

    def __call__(self, judge: Judge, configuration: JudgeConfiguration) -> AspectList | None:
        """Return a judge's aspects, named by the latest version with them; `None` if they aren't the same for all pairs."""
        if configuration.aspects != OFFLINE:
            return None
        given = judge.params.get("aspects")
        if not isinstance(given, list):
            return self.own
        return AspectList(self.names.get(tuple(given), f"list {_short_hash(given)}"), tuple(given))


def judged_rounds(study: Study, judges: Sequence[tuple[Judge, JudgeConfiguration]]) -> list[JudgedRounds]:
    """Load the verdicts and the usage of these judges, in a few queries for all of them.

    Of several runs the latest outcome of a presentation counts, as in findings.
    """
    ids = [judge.pk for judge, _ in judges]
    cells: dict[int, dict[tuple[int, int], tuple[Any, ...]]] = {pk: {} for pk in ids}
    stored = Judgment.objects.of_question(MAIN).filter(run__study=study, run__judge__in=ids, negated=False)
    names = ("run__judge_id", "pair_id", "repeat", "pk", "status", "verdict", "calls", "cached")
    rows = stored.order_by("run__created_at", "run_id", "pk").values_list(*names)
    for judge_id, pair, repeat, *cell in rows.iterator(chunk_size=CHUNK):
        if cell[1] != Status.PENDING or (pair, repeat) not in cells[judge_id]:
            cells[judge_id][pair, repeat] = tuple(cell)
    instance = dict(
        Pair.objects.filter(matchup__instance__study=study).order_by().values_list("pk", "matchup__instance_id")
    )
    taken, aspects_of = _taken(study, ids), _AspectVersions(study)
    return [_judged(judge, one, aspects_of(judge, one), cells[judge.pk], instance, taken) for judge, one in judges]


def _judged(
    judge: Judge,
    configuration: JudgeConfiguration,
    aspects: AspectList | None,
    cells: Mapping[tuple[int, int], tuple[Any, ...]],
    instance: Mapping[int, int],
    taken: Mapping[int, Mapping[str, tuple[Any, ...]]],
) -> JudgedRounds:
    pairs = sorted({pair for pair, _ in cells})
    places = {pair: place for place, pair in enumerate(pairs)}
    verdict = np.full((len(pairs), judge.repeats), np.nan)
    answered, ended = (np.zeros((len(pairs), judge.repeats), dtype=bool) for _ in range(2))
    counts = dict.fromkeys(("asked", "a", "tie", "b", *COUNTED.values()), 0)
    for (pair, repeat), (_, status, said, _, _) in cells.items():
        place = (places[pair], repeat)
        answered[place] = status in ANSWERED
        ended[place] = status != Status.PENDING
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
        ended=ended,
        aspects=aspects,
        counts=counts,
        spent=_spent(cells, places, taken),
    )


def _spent(
    cells: Mapping[tuple[int, int], tuple[Any, ...]],
    places: Mapping[int, int],
    taken: Mapping[int, Mapping[str, tuple[Any, ...]]],
) -> RoundUsage:
    """Sum the usage per pair."""
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
    return RoundUsage(calls, total, made, sent, written, cost)


def _taken(study: Study, judges: Collection[int]) -> dict[int, dict[str, tuple[Any, ...]]]:
    """Return the usage of each judgment's answers by kind: number, prompt tokens, completion tokens, cost."""
    links = Judgment.completions.through.objects.filter(
        judgment__run__study=study, judgment__run__judge__in=judges, judgment__question=MAIN, judgment__negated=False
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
    """A winning table in study order, with its two texts; `instance` is a primary key."""

    instance: int
    rows: list[dict[str, str]]
    text_a: str
    text_b: str


def made_tables(study: Study, judge: Judge, *, most: int) -> tuple[list[MadeTable], int]:
    """Return at most so many of the tables that a judge made on a study, and how many there are.

    They are drawn by pair with the study's seed, so that judges are compared on the same pairs. Of several runs the
    latest table of a presentation counts, and of several rounds the first.
    """
    makings = TableMaking.objects.filter(
        judgment__run__study=study, judgment__run__judge=judge, judgment__question=MAIN
    )
    cells = makings.order_by("judgment__run__created_at", "judgment__run_id", "judgment_id")
    latest = {
        (repeat, pair): pk for pk, repeat, pair in cells.values_list("pk", "judgment__repeat", "judgment__pair_id")
    }
    # A random order, which pairs added later don't change.
    order = {pair: sha256(f"{study.seed} {pair}".encode()).hexdigest() for _, pair in latest}
    chosen = [latest[cell] for cell in sorted(latest, key=lambda cell: (cell[0], order[cell[1]]))[:most]]
    rows = TableMaking.objects.filter(pk__in=chosen).order_by("judgment__pair_id", "judgment__repeat", "pk")
    names = ("matchup__instance_id", "generation_a__text", "generation_b__text")
    stored = rows.values_list("record", *(f"judgment__pair__{name}" for name in names))
    return [
        MadeTable(instance, [_plain(row) for row in winning_rows(record)], a, b) for record, instance, a, b in stored
    ], len(latest)


def _plain(row: TableRow) -> dict[str, str]:
    return {"aspect": row["aspect"], "only_a": row["only_a"], "both": row["both"], "only_b": row["only_b"]}


def makes_tables(configuration: JudgeConfiguration) -> bool:
    """Tell whether a configuration makes comparison tables."""
    return configuration.method == SC2 and not configuration.variant


def people_table(votes: Mapping[int, Sequence[int]], pairs: Iterable[int]) -> FloatArray:
    """Return people's votes on some pairs in columns, padded with NaN."""
    return vote_table([votes.get(int(pair), ()) for pair in pairs])
