"""Ablation of judging configurations: accuracy over rounds, paired differences, calls, tokens and cost. No models.

Divided into parts like the tables and figures of Predicting Text Preference Via Structured Comparative Reasoning.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from analysis.ablation import (
    difference_sums,
    majority_round_sums,
    mean_of_rounds,
    parsed_round_sums,
    round_sums,
    rounds_ended,
    spread_of_rounds,
)
from analysis.bootstrap import cluster_sums, mean_rows
from analysis.table_checks import check_table
from analysis.types import FloatArray, IntArray
from annotation.core.version import VERSION
from judging.ablation.judge_configurations import (
    PARTS,
    REFERENCE,
    AblationJudge,
    JudgeConfiguration,
    parts_of,
    sort_key,
)
from judging.ablation.round_arrays import JudgedRounds, MadeTable, makes_tables, people_table
from judging.methods.options import OFFLINE
from judging.methods.sc2.record import KINDS
from judging.outcomes.gold_arrays import GoldPairs
from reporting.accuracy.accuracies import COST_UNKNOWN, NO_ANSWER, NO_GOLD, NO_VERDICT, TIE_IN_ACCURACY, TIE_IN_COST
from reporting.core.estimates import (
    Basis,
    Estimate,
    IntervalSettings,
    bounded_estimate,
    mean_estimate,
    number,
    share_estimate,
)
from reporting.findings.measures.agreement import NO_MAJORITY, TIE_EQUALS_TIE

TIE_IN_DIFFERENCE = f"for both: {TIE_IN_ACCURACY}"
TIES_IN_TABLES = "no verdict is looked at"
NOT_ASKED = "no judge of an ablation was asked yet"
NO_REFERENCE = f"{REFERENCE} was not asked at this endpoint"
IS_REFERENCE = "it is the reference"
NOTHING_COMMON = f"no pair with a gold label was answered here and by {REFERENCE}"
NO_TABLES = "it makes no tables"
NO_TABLES_MADE = "no table was made yet"
CHECKED_ELSEWHERE = "looked at where nothing but |C|, the scheme or the aspects differs"
CHECKED_PARTS = ("samples", "schemes", "aspects", "grid")  # parts whose comparison tables are checked
ALL = PARTS


@dataclass(frozen=True, eq=False)
class AblationData:
    """What an ablation is computed from.

    judged : the judges to compare, and the reference
    votes  : people's on each pair, by primary key
    tables : returns those of the tables of a judge, by its name, that are looked at, and how many it made
    runs   : of each judge, by its name, with their progress
    """

    slug: str
    gold: GoldPairs
    judged: Sequence[JudgedRounds]
    votes: Mapping[int, Sequence[int]]
    tables: Callable[[str], tuple[Sequence[MadeTable], int]]
    runs: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)


def compare(
    data: AblationData,
    *,
    parts: Collection[str] = ALL,
    endpoint: str = "",
    resamples: int = 1000,
    seed: int = 0,
    tables: bool = True,
) -> dict[str, Any]:
    """Compute every row of some parts.

    endpoint        : the one that the judges were chosen by
    resamples, seed : reported as the filters; no interval here draws. The sample of tables to check is drawn with the
                      study's own seed
    tables          : whether to check the words of the comparison tables
    """
    settings = IntervalSettings(seed=seed, rounds=resamples)
    rows = _Rows(data, settings, tables=tables)
    made = [(one.configuration, rows.row(one)) for one in data.judged]
    by_part = {part: _sorted(part, made) for part in PARTS if part in parts}
    told: dict[str, Any] = {
        "study": data.slug,
        "version": VERSION,
        "rounds": max((one.judge.repeats for one in data.judged), default=0),
        "reference": REFERENCE,
        "filters": {"resamples": resamples, "level": settings.level, "seed": seed, "endpoint": endpoint or None},
        "gold": _gold(data.gold),
        "parts": by_part,
        "differing": {part: unlike for part, rows in by_part.items() if (unlike := differing_settings(rows))},
    }
    if not made:
        told["why"] = NOT_ASKED
    elif not len(data.gold):
        told["why"] = NO_GOLD
    return told


def differing_settings(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Name the settings that rows should share but differ in: fixed aspects, rounds (planned and done), pairs."""
    settings = [(row["aspects_hash"], (row["rounds"], row["rounds_done"]), row["pairs_hash"]) for row in rows]
    columns = zip(("aspects", "rounds", "pairs"), zip(*settings, strict=True), strict=False)
    return [name for name, values in columns if len({value for value in values if value is not None}) > 1]


def _sorted(part: str, made: Sequence[tuple[JudgeConfiguration, dict[str, Any]]]) -> list[dict[str, Any]]:
    chosen = [(one, row) for one, row in made if part in parts_of(one)]
    return [row for _, row in sorted(chosen, key=lambda pair: (pair[1]["endpoint"], *sort_key(pair[0], part)))]


def _gold(gold: GoldPairs) -> dict[str, int]:
    counts = {name: int((gold.gold == value).sum()) for name, value in (("a", -1), ("tie", 0), ("b", 1))}
    return {"pairs": len(gold), "instances": len(np.unique(gold.instance)), **counts}


class _Rows:
    """Builds the rows from data that is read once."""

    def __init__(self, data: AblationData, settings: IntervalSettings, *, tables: bool) -> None:
        self.data = data
        self.settings = settings
        self.tables = tables
        self.has_gold = len(data.gold) > 0
        self.gold = dict(zip(data.gold.pair_ids, data.gold.gold.tolist(), strict=True))
        references = (one for one in data.judged if one.configuration == JudgeConfiguration(REFERENCE))
        self.references = {one.judge.endpoint: one for one in references}

    def row(self, one: JudgedRounds) -> dict[str, Any]:
        """Return the row of one configuration."""
        judge, configuration = one.judge, one.configuration
        gold = self._gold_of(one)
        sums = round_sums(one.verdict, gold, one.answered)
        with_gold = int((~np.isnan(gold)).sum())
        failed = int((one.failed & ~np.isnan(gold)[:, np.newaxis]).sum())
        accuracy = self._mean(sums, one, "answers", TIE_IN_ACCURACY, failed, self._why())
        parsed = parsed_round_sums(one.verdict, gold)
        left_out = int(sums[..., 1].sum() - parsed[..., 1].sum())
        people = majority_round_sums(one.verdict, people_table(self.data.votes, one.pair))
        done, begun = rounds_ended(one.ended)
        alone = int((~np.isnan(one.verdict)).sum() - people[..., 1].sum())
        return {
            "judge": judge.name,
            "endpoint": judge.endpoint.name if judge.endpoint else "",
            "model": judge.endpoint.model if judge.endpoint else "",
            "table_endpoint": judge.table_endpoint.name if judge.table_endpoint else "",
            "table_model": judge.table_endpoint.model if judge.table_endpoint else "",
            **configuration_json(judge, configuration),
            "aspects_name": one.aspects.name if one.aspects else None,
            "aspects_hash": one.aspects.key if one.aspects else None,
            "rounds": judge.repeats,
            "rounds_done": done,
            "rounds_begun": begun,
            "pairs": len(one.pair),
            "pairs_hash": one.pairs_key,
            "pairs_with_gold": with_gold,
            "accuracy": accuracy | {"sd_over_rounds": number(spread_of_rounds(sums))},
            "by_round": list(self._by_round(sums, one)),
            "accuracy_of_verdicts": self._mean(parsed, one, "verdicts", TIE_IN_ACCURACY, left_out, self._why()),
            "difference_to_direct": self._difference(sums, one),
            "agreement_with_majority": self._mean(
                people, one, "verdicts on pairs with a majority", TIE_EQUALS_TIE, alone, NO_MAJORITY
            ),
            **self._usage(one),
            **self._table_checks(one),
            "status": {**one.counts, "runs": self.data.runs.get(judge.name, [])},
        }

    def _why(self) -> str:
        return NO_ANSWER if self.has_gold else NO_GOLD

    def _gold_of(self, one: JudgedRounds) -> FloatArray:
        return np.array([self.gold.get(int(pair), np.nan) for pair in one.pair], dtype=np.float64)

    def _mean(self, sums: FloatArray, one: JudgedRounds, of: str, ties: str, excluded: int, why: str) -> Estimate:
        """Return the mean over rounds; with one round a share."""
        rows, instances = _only_counted(sums, one.instance)
        basis = Basis(int(rows[..., 1].sum()), of, ties, excluded, why)
        if rows.shape[1] == 1:
            return share_estimate(rows[:, 0], instances, basis, self.settings)
        return bounded_estimate(cluster_sums(rows, instances), mean_of_rounds, basis, self.settings)

    def _by_round(self, sums: FloatArray, one: JudgedRounds) -> Iterator[Estimate]:
        for rows in np.moveaxis(sums, 1, 0):
            basis = Basis(int(rows[:, 1].sum()), "pairs", TIE_IN_ACCURACY, why=self._why())
            yield share_estimate(rows, one.instance, basis, self.settings)

    def _difference(self, sums: FloatArray, one: JudgedRounds) -> Estimate:
        reference = self.references.get(one.judge.endpoint)
        why = self._why() if not self.has_gold else NO_REFERENCE if reference is None else NOTHING_COMMON
        if reference is None or reference is one:
            basis = Basis(0, "pairs", TIE_IN_DIFFERENCE, why=IS_REFERENCE if reference is one else why)
            return mean_estimate(np.zeros((0, 2)), [], basis, self.settings)
        _, here, there = np.intersect1d(one.pair, reference.pair, assume_unique=True, return_indices=True)
        of_reference = round_sums(reference.verdict, self._gold_of(reference), reference.answered)
        rows = difference_sums(sums[here], of_reference[there])
        counted = rows[:, 1] > 0
        n = int(counted.sum())
        return mean_estimate(
            rows[counted],
            one.instance[here][counted],
            Basis(n, "pairs", TIE_IN_DIFFERENCE, int((sums[..., 1].sum(axis=1) > 0).sum()) - n, why),
            self.settings,
            floor=-1.0,
        )

    def _usage(self, one: JudgedRounds) -> dict[str, Any]:
        """Return calls, tokens and cost per verdict; cached answers count like others."""
        spent = one.spent
        columns: dict[str, FloatArray] = {"total": spent.total}
        columns |= {kind: spent.calls[kind] for kind in sorted(spent.calls, key=_kind_order)}
        calls = self._per_verdict(columns, one)
        tokens = {"prompt": spent.prompt_tokens, "completion": spent.completion_tokens}
        money = self._per_verdict({"cost": spent.cost}, one)["cost"]
        endpoint = one.judge.endpoint
        return {
            "calls_per_verdict": calls,
            "comparator_calls": one.configuration.comparator_calls,
            "tokens_per_verdict": self._per_verdict(
                {"total": spent.prompt_tokens + spent.completion_tokens, **tokens}, one
            ),
            "cost_per_verdict": {**money, "currency": endpoint.currency if endpoint else ""},
            "calls_made": int(spent.made.sum()),
        }

    def _per_verdict(self, columns: dict[str, FloatArray], one: JudgedRounds) -> dict[str, Estimate]:
        verdicts = (~np.isnan(one.verdict)).sum(axis=1).astype(np.float64)
        answered = one.answered.any(axis=1)
        found = {}
        for name, values in columns.items():
            unknown = bool(np.isnan(values).any())
            below = np.zeros(len(values)) if unknown else verdicts
            rows = np.stack([np.zeros(len(values)) if unknown else values, below], axis=1)[answered]
            basis = Basis(int(below.sum()), "verdicts", TIE_IN_COST, why=COST_UNKNOWN if unknown else NO_VERDICT)
            found[name] = mean_estimate(rows, one.instance[answered], basis, self.settings, ceiling=math.inf)
        return found

    def _table_checks(self, one: JudgedRounds) -> dict[str, Estimate]:
        """Return the mean support and coverage of the winning tables, by their words."""
        why, made = NO_TABLES, 0
        tables: Sequence[MadeTable] = ()
        if makes_tables(one.configuration):
            why = NO_TABLES_MADE
            if not self.tables or set(CHECKED_PARTS).isdisjoint(parts_of(one.configuration)):
                why = CHECKED_ELSEWHERE
            else:
                tables, made = self.data.tables(one.judge.name)
        checks = [check_table(table.rows, table.text_a, table.text_b).summary for table in tables]
        instances = np.array([table.instance for table in tables], dtype=np.int64)
        found = {}
        for name, given in (
            ("support", [one.supported for one in checks]),
            ("coverage", [one.coverage for one in checks]),
        ):
            values = np.array([np.nan if value is None else value for value in given], dtype=np.float64)
            known = ~np.isnan(values)
            basis = Basis(int(known.sum()), f"tables of {made}", TIES_IN_TABLES, int((~known).sum()), why)
            found[name] = mean_estimate(mean_rows(values), instances, basis, self.settings)
        return found


def configuration_json(judge: AblationJudge, one: JudgeConfiguration) -> dict[str, Any]:
    """Return the settings of a configuration as JSON."""
    given = judge.params.get("aspects")
    return {
        "method": one.method,
        "samples": one.samples if one.tables is None else one.tables,
        "scheme": one.scheme,
        "aspects": one.aspects,
        "aspects_given": list(given) if isinstance(given, list) and one.aspects == OFFLINE else None,
        "budget": one.allowed,
        "shots": one.shots,
        "example_tables": one.example_tables,
        "table_variant": one.variant,
        "planned_calls": one.calls,
    }


def _only_counted(sums: FloatArray, instance: IntArray) -> tuple[FloatArray, IntArray]:
    """Keep the pairs that count anything."""
    kept = sums[..., 1].sum(axis=1) > 0
    return sums[kept], instance[kept]


def _kind_order(kind: str) -> tuple[int, str]:
    return (KINDS.index(kind) if kind in KINDS else len(KINDS), kind)
