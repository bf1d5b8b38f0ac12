"""Rankings of each instance's texts by a judge's stored answers, with few comparisons or with all, beside gold or people."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from analysis.pairs_ranking import Compare, all_pairs, pairs_beam, pairs_greedy, swiss
from analysis.rank_correlation import kendall, spearman
from analysis.types import FloatArray, IntArray
from reporting.core.charts import (
    Spec,
    build_spec,
    empty_chart,
    interval_and_point,
    quantity,
    series_encoding,
    with_ends,
)
from reporting.core.estimates import Basis, Estimate, IntervalSettings, mean_estimate
from reporting.core.text import estimate_text, printable
from reporting.core.themes import THEMES
from reporting.logic.presentations import Presentations

BEAM_SIZE, PROB_GAP = 10, 0.1
Method = Callable[..., list[int]]
METHODS: dict[str, Method] = {
    "pairs": pairs_greedy,
    "pairs-beam": partial(pairs_beam, beam_size=BEAM_SIZE, prob_gap=PROB_GAP),
    "swiss": swiss,
    "all-pairs": all_pairs,
}
TIE_RULE = "a tie is a probability of one half"


@dataclass(frozen=True, eq=False)
class Answers:
    """What rankings are made of: answers by the items shown first and second, and each item's system and reference score."""

    asked: Presentations
    systems: Sequence[str]
    known: dict[tuple[int, int], float]
    reference: FloatArray


class NotAsked(Exception):
    """A ranking needs a comparison that the judge did not make."""


def rank_instances(
    asked: Presentations,
    systems: Sequence[str],
    settings: IntervalSettings,
    *,
    methods: Sequence[str],
    seeds: int,
    calibrate: bool = False,
) -> dict[str, Any]:
    """Rank each instance's texts by each method, from `seeds` orders of the texts.

    systems : (n_items,) name of each text's system
    seeds   : seed n draws the order in which the texts of every instance come to the sort
    """
    answers = Answers(asked, systems, _probabilities(asked), _reference(asked))
    found = {name: _by_method(METHODS[name], answers, settings, seeds, calibrate=calibrate) for name in methods}
    return {
        "calibrated": calibrate,
        "seeds": seeds,
        "methods": [{"method": name, **one} for name, one in found.items()],
    }


def _by_method(
    method: Method, answers: Answers, settings: IntervalSettings, seeds: int, *, calibrate: bool
) -> dict[str, Any]:
    """Return comparisons used, correlations and mean ranks; instances that lack an answer are left out and counted."""
    rows: list[tuple[float, float, float]] = []  # means over seeds: comparisons, Spearman's rho, Kendall's tau
    ranks: dict[str, list[int]] = {}
    of_row: list[int] = []
    missing = everything = 0
    for instance, items in _instances(answers.asked):
        orders = [np.random.default_rng((seed, instance)).permutation(items).tolist() for seed in range(seeds)]
        try:
            found = [_ranked(method, order, answers.known, calibrate=calibrate) for order in orders]
        except NotAsked:
            missing += 1
            continue
        everything += len(items) * (len(items) - 1) // 2
        rows.append(_means(found, answers.reference))
        of_row.append(instance)
        for ranking, _ in found:
            for rank, item in enumerate(ranking, start=1):
                ranks.setdefault(answers.systems[item], []).append(rank)
    columns, of = np.array(rows, dtype=np.float64).reshape(-1, 3), np.array(of_row, dtype=np.int64)
    means = {system: float(np.mean(found)) for system, found in ranks.items()}
    return {
        "instances": len(rows),
        "left_out": missing,
        **({"why": "the judge did not compare all the texts that the method asks about"} if missing else {}),
        "comparisons": float(columns[:, 0].sum()),
        "of_all": everything,
        "spearman": _mean(columns[:, 1], of, settings),
        "kendall": _mean(columns[:, 2], of, settings),
        "mean_ranks": dict(sorted(means.items(), key=lambda row: row[1])),
    }


def _instances(asked: Presentations) -> Iterator[tuple[int, IntArray]]:
    starts = np.searchsorted(asked.instance, np.arange(len(asked.instances) + 1)).tolist()
    for instance, (start, stop) in enumerate(pairwise(starts)):
        yield instance, np.arange(start, stop)


def _ranked(
    method: Method, order: list[int], known: dict[tuple[int, int], float], *, calibrate: bool
) -> tuple[list[int], int]:
    """Return the ranking of the items, the best first, and how many pairs of them were compared."""
    used: set[frozenset[int]] = set()

    def compare(i: int, j: int) -> float:
        one, other = order[i], order[j]
        used.add(frozenset((one, other)))
        if (one, other) in known:
            return known[one, other]
        if (other, one) in known and not calibrate:  # a judge that was asked in one order
            return 1 - known[other, one]
        raise NotAsked

    asking: Compare = compare
    return [order[place] for place in method(asking, len(order), calibrate=calibrate)], len(used)


def _means(found: list[tuple[list[int], int]], reference: FloatArray) -> tuple[float, float, float]:
    values = []
    for ranking, used in found:
        places, target = -np.arange(len(ranking)), reference[ranking]
        values.append((used, spearman(places, target), kendall(places, target)))
    means = np.mean(np.array(values, dtype=np.float64), axis=0)
    return float(means[0]), float(means[1]), float(means[2])


def _probabilities(asked: Presentations) -> dict[tuple[int, int], float]:
    """Return the mean over repeats of the probability that the item shown first is better, a tie as one half."""
    chosen = ~asked.negated & ~np.isnan(asked.verdict)
    shown = np.stack([asked.first[chosen], asked.second[chosen]], axis=1)
    units, row = np.unique(shown, axis=0, return_inverse=True)
    points = np.bincount(row.reshape(-1), weights=(1 - asked.verdict[chosen]) / 2, minlength=len(units))
    means = points / np.bincount(row.reshape(-1), minlength=len(units))
    return {(one, other): mean for (one, other), mean in zip(units.tolist(), means.tolist(), strict=True)}


def _reference(asked: Presentations) -> FloatArray:
    """Return each item's win-loss rate by gold or people's majorities; NaN where there is neither."""
    known = ~np.isnan(asked.target)
    pairs = np.stack([asked.first[known], asked.second[known]], axis=1)
    low_first = pairs[:, 0] < pairs[:, 1]
    for_low = np.where(low_first, -asked.target[known], asked.target[known])
    units, at = np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)
    wins, n = np.zeros(len(asked.generation)), np.zeros(len(asked.generation))
    for column, sign in ((0, 1), (1, -1)):
        np.add.at(wins, units[:, column], sign * for_low[at])
        np.add.at(n, units[:, column], 1)
    return np.where(n > 0, wins / np.maximum(n, 1), np.nan)


def _mean(values: FloatArray, of: IntArray, settings: IntervalSettings) -> Estimate:
    known = ~np.isnan(values)
    rows = np.stack([values[known], np.ones(int(known.sum()))], axis=1)
    why = "no instance has a ranking by gold or people that is not all ties"
    basis = Basis(len(rows), "instances", TIE_RULE, int((~known).sum()), why)
    return mean_estimate(rows, of[known], basis, settings, floor=-1.0)


def ranking_chart(found: dict[str, Any], theme: str = "light") -> Spec:
    """Draw each method's rank correlation against the share of all comparisons that it used."""
    rows = [
        {"method": one["method"], "used": one["comparisons"] / one["of_all"], **with_ends("rho", one["spearman"])}
        for one in found["methods"]
        if one["of_all"] and one["spearman"]["value"] is not None
    ]
    title = "Rank correlation and comparisons used"
    if not rows:
        return empty_chart(title, "no ranking beside gold or people", theme)
    x = {"x": quantity("used", "Share of all comparisons", scale={"domain": [0, 1]}, axis={"format": ".0%"})}
    y = quantity("rho", "Spearman’s ρ", scale={"zero": False})
    series = series_encoding("method", "Method", [row["method"] for row in rows], THEMES[theme])
    body = {"width": 420, "height": 260, "layer": interval_and_point(x, y, series, size=80, opacity=1)}
    caption = f"means over instances and {found['seeds']} orders, with 95% intervals over instances"
    return build_spec({"data": {"values": rows}, **body}, [title], [caption], theme)


def as_text(found: dict[str, Any]) -> str:
    """Return each method's comparisons, correlations and mean ranks."""
    lines = [printable(f"{found['study']}, {found['rater']}: {found['seeds']} orders of the texts")]
    for one in found["methods"]:
        share = f" ({one['comparisons'] / one['of_all']:.0%} of all)" if one["of_all"] else ""
        left_out = f"; {one['left_out']} left out: {one['why']}" if one["left_out"] else ""
        lines += [
            f"{one['method']}: {one['instances']} instances, {one['comparisons']:.1f} comparisons{share}{left_out}",
            f"  Spearman's rho  {estimate_text(one['spearman'])}",
            f"  Kendall's tau   {estimate_text(one['kendall'])}",
            *(printable(f"  mean rank {rank:.2f}  {system}") for system, rank in one["mean_ranks"].items()),
        ]
    return "\n".join(lines)
