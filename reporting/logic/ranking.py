"""Rankings of each instance's texts by a judge's answers, with few comparisons or with all, beside gold or people."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np

from analysis.agreement.rank_correlation import kendall, spearman
from analysis.ranking.pairs_ranking import (
    Rounds,
    all_pairs_rounds,
    merge_beam,
    merge_greedy,
    merge_rounds,
    swiss_rounds,
)
from analysis.types import FloatArray, IntArray
from annotation.core.reasons import Reason
from reporting.core.charts import (
    CURVE_HEIGHT,
    LOOK,
    Spec,
    column_spec,
    empty_chart,
    end_layer,
    interval_and_point,
    padded,
    quantity,
    with_end_labels,
    with_ends,
    with_look,
)
from reporting.core.estimates import Basis, Estimate, IntervalSettings, mean_estimate
from reporting.core.themes import SHAPES, THEMES
from reporting.logic.presentations import Presentations, Target
from reporting.logic.text_sets import TextSet

BEAM_SIZE, PROB_GAP = 10, 0.1
METHODS: dict[str, Callable[[int], Rounds]] = {
    "pairs": partial(merge_rounds, merge=merge_greedy),
    "pairs-beam": partial(merge_rounds, merge=partial(merge_beam, beam_size=BEAM_SIZE, prob_gap=PROB_GAP)),
    "swiss": swiss_rounds,
    "all-pairs": all_pairs_rounds,
}
TIE_RULE = "a tie is a probability of one half"
NOT_ASKED = Reason("not_asked", "the judge did not compare all texts that the method needs")
NO_REFERENCE = Reason("no_reference", "no instance has a ranking by gold or people other than ties")
OrderedPair = tuple[int, int]  # the texts shown first and second
Known = dict[OrderedPair, float]  # probability that the first is better


@dataclass(frozen=True, eq=False)
class RankingAnswers:
    """The input of rankings.

    known     : by the texts shown first and second, the probability that the first is better
    turnable  : whether an answer in the other order serves where an order was not asked
    reference : each text's win-loss rate by gold or people's majorities, where there is either
    systems   : the name of each text's system
    """

    known: Known
    reference: Mapping[int, float]
    systems: Mapping[int, str]
    turnable: bool = True


class Sort:
    """A ranking of some texts in the making.

    ranking : the texts, the best first; None as long as a comparison is wanted
    used    : pairs of texts that were compared
    """

    def __init__(self, method: str, texts: Sequence[int], *, calibrate: bool) -> None:
        self.texts, self.calibrate = texts, calibrate
        self.ranking: list[int] | None = None
        self.used: set[frozenset[int]] = set()
        self._rounds = METHODS[method](len(texts))
        self._pairs: list[OrderedPair] = []
        self._proceed(None)

    def wanted(self) -> list[OrderedPair]:
        """Return the presentations that the next step needs, by the texts shown first and second."""
        return [displayed for pair in self._pairs for displayed in ((pair, pair[::-1]) if self.calibrate else (pair,))]

    def proceed(self, probabilities_known: Known) -> None:
        """Advance by the answers to all that is `wanted`."""
        means = [
            (probabilities_known[pair] + 1 - probabilities_known[pair[::-1]]) / 2
            if self.calibrate
            else probabilities_known[pair]
            for pair in self._pairs
        ]
        self.used |= {frozenset(pair) for pair in self._pairs}
        self._proceed(means)

    def _proceed(self, answers: list[float] | None) -> None:
        try:
            order = next(self._rounds) if answers is None else self._rounds.send(answers)
            self._pairs = [(self.texts[i], self.texts[j]) for i, j in order]
        except StopIteration as done:
            self._pairs, self.ranking = [], [self.texts[index] for index in done.value]


def drawn_order(text_set: TextSet, seed: int) -> list[int]:
    """Return the order in which a set's texts come to the sort. The same on every server."""
    digest = hashlib.sha256(text_set.name.encode("utf-8", "surrogatepass")).digest()
    order: list[int] = np.random.default_rng((seed, int.from_bytes(digest[:8]))).permutation(text_set.texts).tolist()
    return order


def rank_sets(
    sets: Sequence[TextSet],
    answers: RankingAnswers,
    settings: IntervalSettings,
    *,
    methods: Sequence[str],
    seeds: int,
    calibrate: bool = False,
) -> dict[str, Any]:
    """Rank each set of texts by each method, from `seeds` orders of the texts."""
    by_method = {name: _by_method(name, sets, answers, settings, seeds, calibrate=calibrate) for name in methods}
    return {
        "calibrated": calibrate,
        "seeds": seeds,
        "methods": [{"method": name, **item} for name, item in by_method.items()],
    }


def _by_method(
    method: str,
    sets: Sequence[TextSet],
    answers: RankingAnswers,
    settings: IntervalSettings,
    seeds: int,
    *,
    calibrate: bool,
) -> dict[str, Any]:
    """Return comparisons used, correlations and mean ranks. Sets that lack an answer are left out and counted."""
    of_sorts: list[tuple[int, float, float]] = []  # of each set and seed: comparisons, Spearman's rho, Kendall's tau
    ranks: dict[str, list[int]] = {}
    of_row: list[int] = []
    everything = 0
    for rating_set in sets:
        sorts = [_sorted(method, drawn_order(rating_set, seed), answers, calibrate=calibrate) for seed in range(seeds)]
        if any(sort.ranking is None for sort in sorts):
            continue
        everything += len(rating_set.texts) * (len(rating_set.texts) - 1) // 2
        for sort in sorts:
            ranking = sort.ranking or []
            order = -np.arange(len(ranking))
            target = np.array([answers.reference.get(text, np.nan) for text in ranking])
            of_sorts.append((len(sort.used), spearman(order, target), kendall(order, target)))
            for rank, text in enumerate(ranking, start=1):
                ranks.setdefault(answers.systems[text], []).append(rank)
        of_row.append(rating_set.instance)
    by_seed = np.array(of_sorts, dtype=np.float64).reshape(-1, seeds, 3)
    columns, of = by_seed.mean(axis=1), np.array(of_row, dtype=np.int64)
    means = {system: float(np.mean(rank)) for system, rank in ranks.items()}
    missing = len(sets) - len(of_row)
    return {
        "instances": len(of_row),
        "left_out": missing,
        **(NOT_ASKED.as_json() if missing else {}),
        "comparisons": float(columns[:, 0].sum()),
        "of_all": everything,
        "spearman": _mean(columns[:, 1], of, settings, missing),
        "kendall": _mean(columns[:, 2], of, settings, missing),
        "spearman_by_order": _spread(by_seed[:, :, 1]),
        "kendall_by_order": _spread(by_seed[:, :, 2]),
        "mean_ranks": dict(sorted(means.items(), key=lambda row: row[1])),
    }


def _sorted(method: str, texts: list[int], answers: RankingAnswers, *, calibrate: bool) -> Sort:
    """Sort as far as the answers go."""
    sort = Sort(method, texts, calibrate=calibrate)
    while sort.ranking is None:
        probabilities_known = {
            displayed: p
            for displayed in sort.wanted()
            if (p := _answer(displayed, answers, calibrate=calibrate)) is not None
        }
        if len(probabilities_known) < len(set(sort.wanted())):
            break
        sort.proceed(probabilities_known)
    return sort


def _answer(pair: OrderedPair, answers: RankingAnswers, *, calibrate: bool) -> float | None:
    probability = answers.known.get(pair)
    if probability is None and answers.turnable and not calibrate and pair[::-1] in answers.known:
        return 1 - answers.known[pair[::-1]]  # a judge that was asked in one order
    return probability


def _spread(values: FloatArray) -> list[float] | None:
    """Return between which values the means over sets lie for the middle 95% of orders, or None for a single order.

    values : shape (sets, seeds), NaN for a set without a correlation
    """
    complete = values[~np.isnan(values).any(axis=1)]
    if not len(complete) or values.shape[1] < 2:
        return None
    low, high = np.quantile(complete.mean(axis=0), (0.025, 0.975))
    return [float(low), float(high)]


def probabilities(presentations: Presentations) -> Known:
    """Return the mean over repeats of the probability (0, ½ or 1 for a plain verdict) that the first text is better."""
    is_selected = ~presentations.negated & ~np.isnan(presentations.verdict)
    values = np.where(np.isnan(presentations.probability), (1 - presentations.verdict) / 2, presentations.probability)[
        is_selected
    ]
    sides = np.stack(
        [
            presentations.generation[presentations.first[is_selected]],
            presentations.generation[presentations.second[is_selected]],
        ],
        axis=1,
    )
    units, row = np.unique(sides, axis=0, return_inverse=True)
    means = np.bincount(row.reshape(-1), weights=values, minlength=len(units)) / np.bincount(row.reshape(-1))
    return {(item, second): mean for (item, second), mean in zip(units.tolist(), means.tolist(), strict=True)}


def reference_scores(target: Target) -> dict[int, float]:
    """Return the win-loss rate of each text that gold or people compare with another."""
    points: dict[int, list[float]] = {}
    for (first, _), verdict in target.items():  # each pair is there in both orders
        points.setdefault(first, []).append(-verdict)
    return {text: float(np.mean(point)) for text, point in points.items()}


def _mean(values: FloatArray, of: IntArray, settings: IntervalSettings, missing: int) -> Estimate:
    is_known = ~np.isnan(values)
    rows = np.stack([values[is_known], np.ones(int(is_known.sum()))], axis=1)
    why = NO_REFERENCE if len(values) or not missing else NOT_ASKED
    basis = Basis(len(rows), "instances", TIE_RULE, int((~is_known).sum()), why)
    return mean_estimate(rows, of[is_known], basis, settings, floor=-1.0)


def ranking_chart(ranking: dict[str, Any], theme: str = "light") -> Spec:
    """Draw each method's rank correlation against the share of all comparisons that it used."""
    rows = [
        {
            "method": method["method"],
            "used": method["comparisons"] / method["of_all"],
            **with_ends("rho", method["spearman"]),
        }
        for method in ranking["methods"]
        if method["of_all"] and method["spearman"]["value"] is not None
    ]
    title = "Rank correlation and comparisons used"
    if not rows:
        return empty_chart(title, "no ranking beside gold or people", theme)
    rows = [
        with_look(row, look)
        for row, look in zip(rows, cycle(zip(THEMES[theme].series, SHAPES, strict=True)), strict=False)
    ]
    x = quantity("used", "Share of all comparisons", scale={"domain": [0, 1.04]}, axis={"format": ".0%"})
    scale = padded(row[key] for row in rows for key in ("rho", "low", "high"))["scale"]
    y = quantity("rho", "Spearman’s ρ", scale=scale)
    rows = with_end_labels(rows, x, "method", "rho", CURVE_HEIGHT, scale["domain"])
    layers = [*interval_and_point({"x": x}, y, LOOK, size=80, opacity=1), end_layer(x, y)]
    body = {"data": {"values": rows}, "height": CURVE_HEIGHT, "layer": layers}
    note = f"means over instances and {ranking['seeds']} orders; bars: 95% intervals over instances"
    return column_spec(body, [title], [note], theme)
