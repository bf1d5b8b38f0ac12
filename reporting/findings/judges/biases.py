"""Win rates at equal lengths, of people and of each judge."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.bias.length_adjusted import (
    MIN_INSTANCES,
    RIDGE,
    LengthAdjustedRate,
    LengthVerdicts,
    length_adjusted_win_rates,
)
from analysis.intervals.bootstrap import mean_rows, ratio
from analysis.intervals.multiple_testing import holm
from analysis.types import FloatArray, IntArray
from annotation.core.database.aggregates import grouped
from annotation.core.reasons import Reason
from reporting.core.estimates import Basis, IntervalSettings, estimate_with_bounds, mean_estimate, number, numbers
from reporting.core.raters import Rater
from reporting.findings.data.inputs import ConfigurationData, Filters
from reporting.findings.data.vote_table import VoteTable, raters_by_name
from reporting.findings.reasons import (
    FEW_DECIDED,
    FOLLOWS_LENGTH,
    NO_COMMON_PAIR,
    NO_FAMILY,
    NO_OVERLAP,
    NO_PAIR_OF_FAMILY,
    NO_SYSTEM_FAMILY,
    NO_VERDICT,
    ONE_DIFFERENCE,
)

TIE_IS_HALF = "a tie is half a win"


def length_adjusted(
    everything: Sequence[ConfigurationData], votes: VoteTable, filters: Filters
) -> list[dict[str, Any]]:
    """Return per rater A's win rate in each configuration as it is and at equal lengths, and whether length matters."""
    return [
        {
            "rater": name,
            "kind": row[0][1].kind,
            "ridge": RIDGE,
            "configurations": _tested(
                _configurations(
                    [(everything[index], votes.instances[index], rater) for index, rater in row], filters.intervals
                )
            ),
        }
        for name, row in raters_by_name(everything).items()
    ]


@dataclass(frozen=True, eq=False)
class _Verdicts:
    """A rater's verdicts on a configuration, 1 for A, with the lengths of both texts. `left_out` have no length or verdict.

    cluster : of each instance; those of one cluster share their difficulty too
    """

    data: ConfigurationData
    towards_a: FloatArray
    instance: IntArray
    cluster: IntArray
    length_a: FloatArray
    length_b: FloatArray
    left_out: int

    @classmethod
    def of(cls, data: ConfigurationData, codes: IntArray, rater: Rater, settings: IntervalSettings) -> "_Verdicts":
        outcomes, lengths = rater.rated.outcomes, _lengths(data, rater)
        is_known = ~np.isnan(outcomes.verdict) & ~np.isnan(lengths[0])
        length_a, length_b = (length[is_known] for length in lengths)
        instance = codes[outcomes.instance[is_known]]
        cluster, left_out = settings.cluster(instance), len(is_known) - int(is_known.sum())
        return cls(data, -outcomes.verdict[is_known], instance, cluster, length_a, length_b, left_out)

    @property
    def compared(self) -> LengthVerdicts:
        second, first = self.data.systems
        return LengthVerdicts(self.towards_a, self.length_a - self.length_b, self.cluster, (first, second))


def _configurations(
    configurations: Sequence[tuple[ConfigurationData, IntArray, Rater]], settings: IntervalSettings
) -> list[dict[str, Any]]:
    """Return a rater's configurations. Those of a data set are fitted together."""
    verdicts = [_Verdicts.of(*item, settings) for item in configurations]
    rates: dict[int, LengthAdjustedRate] = {}
    for indexes in grouped((verdict.data.dataset, index) for index, verdict in enumerate(verdicts)).values():
        compared = [verdicts[index].compared for index in indexes]
        level = settings.level_of(min(len(np.unique(verdicts[index].cluster)) for index in indexes))
        rates.update(zip(indexes, length_adjusted_win_rates(compared, level=level), strict=True))
    return [_configuration(verdict, rates[index], settings) for index, verdict in enumerate(verdicts)]


def _tested(configurations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add the p-values of the effect of length adjusted over a rater's configurations, and whether length matters.

    It does where that p-value is below 1 - level and the paired interval of the change is without 0; None where not tested.
    """
    p_values = [configuration["length_effect_p_value"] for configuration in configurations]
    adjusted = numbers(holm([math.nan if value is None else value for value in p_values]))
    results = []
    for row, p_value in zip(configurations, adjusted, strict=True):
        change, matters = row["change"], None
        if p_value is not None and change["low"] is not None:
            matters = p_value < 1 - change["level"] and not change["low"] <= 0 <= change["high"]
        results.append({**row, "length_effect_adjusted": p_value, "matters": matters})
    return results


def _configuration(verdicts: _Verdicts, rate: LengthAdjustedRate, settings: IntervalSettings) -> dict[str, Any]:
    reasons = ((not rate.n, NO_VERDICT), (math.isnan(rate.scale), ONE_DIFFERENCE), (rate.extrapolates, NO_OVERLAP))
    one_sided = FOLLOWS_LENGTH if rate.follows_length else FEW_DECIDED.with_values(decided=rate.following)
    why = next((reason for holds, reason in reasons if holds), one_sided)
    unknown = rate.extrapolates or rate.following > 0
    basis = Basis(rate.n, "verdicts", TIE_IS_HALF, verdicts.left_out, why)

    def estimate(value: float, low: float, high: float) -> dict[str, Any]:
        """Return no value where lengths hardly overlap, or say all: at equal lengths it would be a guess."""
        value = math.nan if unknown else value
        return estimate_with_bounds(value, (low, high), basis, settings, rate.n_instances, minimum=MIN_INSTANCES)

    together = {
        "ridge": rate.ridge,
        "length_effect": rate.common_effect,
        "difficulty_effect": rate.difficulty_effect,
    }
    p_value = settings.p_value_of(rate.effect_p_value, rate.n_instances)
    effect = (rate.length_effect, rate.effect_low, rate.effect_high, p_value)
    return {
        **verdicts.data.named,
        "win_rate_a": estimate(rate.win_rate, rate.low, rate.high),
        "plain": mean_estimate(mean_rows((1 + verdicts.towards_a) / 2), verdicts.instance, basis, settings),
        "change": estimate(rate.change, rate.change_low, rate.change_high),
        "near_equal": number(rate.near),
        **{
            f"length_effect{end}": number(value) if rate.overlaps and not unknown else None
            for end, value in zip(("", "_low", "_high", "_p_value"), effect, strict=True)
        },
        "mean_length_a": number(verdicts.length_a.mean()) if rate.n else None,
        "mean_length_b": number(verdicts.length_b.mean()) if rate.n else None,
        **({} if math.isnan(rate.common_effect) else {"together": together}),
    }


def _lengths(data: ConfigurationData, rater: Rater) -> tuple[FloatArray, FloatArray]:
    """Return the lengths of A's and of B's text in characters for each verdict."""
    pairs, outcomes = data.pairs, rater.rated.outcomes
    width = 1 + max(int(pairs.index.max(initial=0)), int(outcomes.pair.max(initial=0)))
    table = np.full((2, len(data.instance_ids) * width), np.nan)
    table[:, pairs.instance * width + pairs.index] = pairs.length_a, pairs.length_b
    at = outcomes.instance * width + outcomes.pair
    return table[0, at], table[1, at]


def self_preference(
    everything: Sequence[ConfigurationData], votes: VoteTable, filters: Filters
) -> list[dict[str, Any]]:
    """Return per judge the win share of its family's systems with it, with people on the same pairs, and the difference."""
    families = {judge.name: judge.family for data in everything for judge in data.judges}
    return [
        {
            "judge": name.removeprefix("judge:"),
            "rater": name,
            **_judge(families.get(name, ""), name, everything, votes, filters),
        }
        for name in votes.judges
    ]


def _judge(
    family: str, name: str, everything: Sequence[ConfigurationData], votes: VoteTable, filters: Filters
) -> dict[str, Any]:
    side = np.array([_side(data, family) for data in everything], dtype=np.float64)
    own = np.where(votes.is_rated, side[votes.configuration], 0.0) if len(side) else np.empty(0)
    judge = _share(own * votes.judges[name])
    people_votes = votes.votes
    wins = np.bincount(people_votes.unit, _share(own[people_votes.unit] * people_votes.verdict), people_votes.n_units)
    people = ratio(np.stack([wins, votes.class_counts.sum(axis=1)], axis=1))
    is_selected = (own != 0) & ~np.isnan(judge)
    n = int(is_selected.sum())
    basis = Basis(n, "pairs", TIE_IS_HALF, int((own != 0).sum()) - n, _why(family, everything, side))
    instance = votes.instance[is_selected]

    def estimate(values: FloatArray, floor: float) -> dict[str, Any]:
        return mean_estimate(mean_rows(values[is_selected]), instance, basis, filters.intervals, floor=floor)

    return {
        "family": family,
        "configurations": len(np.unique(votes.configuration[is_selected])),
        "with_judge": estimate(judge, 0.0),
        "with_people": estimate(people, 0.0),
        "difference": estimate(judge - people, -1.0),
        **({} if n else basis.why.as_json()),
    }


def _side(data: ConfigurationData, family: str) -> int:
    """Return -1 where A alone is of the family, +1 where B alone is, else 0."""
    a, b = (
        (bool(system.family.strip()) and system.family.strip().casefold() == family.strip().casefold())
        for system in (data.configuration.system_a, data.configuration.system_b)
    )
    return int(b) - int(a)


def _share(towards: FloatArray) -> FloatArray:
    return (1 + towards) / 2


def _why(family: str, everything: Sequence[ConfigurationData], side: FloatArray) -> Reason:
    if not family.strip():
        return NO_FAMILY
    named = [data.configuration for data in everything]
    if not any(system.family.strip() for item in named for system in (item.system_a, item.system_b)):
        return NO_SYSTEM_FAMILY
    return NO_COMMON_PAIR if side.any() else NO_PAIR_OF_FAMILY
