"""Logical consistency of a rater: transitivity, commutativity, negation, repeats, position."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.logic.transitivity import coin_transitivity, complete_set_sums, cyclic_triples
from analysis.logic.verdicts import first_sums, self_agreement_sums
from analysis.ranking.refinement import connected_items
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.reasons import Reason
from reporting.core.estimates import Basis, Estimate, IntervalSettings, mean_estimate, share_estimate
from reporting.core.reasons import FEW_COMPLETE_SETS, NO_ORDER, NOT_BOTH_ORDERS, UNKNOWN_ORDER
from reporting.logic.presentations import Presentations

SIZES = tuple(range(3, 9))  # K of the transitivity
LEAST_SETS = 20  # complete ones, for a transitivity
KINDS = ("cycles", "order_effects")  # of contradictions
TIE_IS_NO_EDGE = "a tie is no preference"
TIE_EQUALS_TIE = "a tie agrees with a tie only"
TIES_LEFT_OUT = "ties are left out"
NOTHING_COMPARED = Reason("nothing_compared", "no instance has two texts that were compared")
NOT_NEGATED = Reason("not_negated", "the negated question was not asked")
NOTHING_TWICE = Reason("nothing_twice", "nothing was asked twice")
ONLY_TIES = Reason("all_ties", "no answer but ties")
NO_GOLD_OR_MAJORITY = Reason("no_gold_or_majority", "no answer stands beside gold or a majority")

Verdicts = dict[tuple[int, int], float]  # by the items shown first and second: -1 the first is preferred, 0 a tie
Graphs = list[tuple[IntArray, BoolArray]]


@dataclass(frozen=True, eq=False)
class Counted:
    """The cases of which a measure is the mean.

    rows     : (n, 2) sum and weight of each unit
    instance : (n,) of each unit
    share    : whether units are 0 or 1
    coin     : the value of a coin's answers, to be shown beside
    least    : below it there is no value
    """

    rows: FloatArray
    instance: IntArray
    basis: Basis
    share: bool = True
    coin: float | None = None
    least: int = 0

    def estimate(self, settings: IntervalSettings) -> Estimate:
        """Return the mean over all units."""
        estimate_ = (share_estimate if self.share else mean_estimate)(self.rows, self.instance, self.basis, settings)
        if self.basis.n < self.least:
            estimate_ |= {"value": None, "low": None, "high": None, **self.basis.why.as_json()}
        return estimate_ if self.coin is None else {**estimate_, "coin": self.coin}

    def by_instance(self, n_instances: int) -> FloatArray:
        """(n_instances, 2) mean of the units of each instance, NaN where it has none, and their weight."""
        sums, weights = (np.bincount(self.instance, column, minlength=n_instances) for column in self.rows.T)
        values = np.divide(sums, weights, out=np.full(n_instances, np.nan), where=weights > 0)
        return np.stack([values, weights], axis=1)


@dataclass(frozen=True, eq=False)
class Sets:
    """Complete sets of texts, by the groups of texts that comparisons connect.

    sizes    : numbers of texts of a set
    sums     : (n_groups, len(sizes), 2) as of `complete_set_sums`
    pairs    : (n_groups,) pairs of texts with a preference
    instance : (n_groups,) code of each group's instance
    """

    sizes: tuple[int, ...]
    sums: FloatArray
    pairs: IntArray
    instance: IntArray


def audit(
    presentations: Presentations,
    settings: IntervalSettings,
    *,
    sizes: Sequence[int] = SIZES,
    graphs: Graphs | None = None,
) -> dict[str, Any]:
    """Return the measures over all instances and in each data set.

    An answer that was repeated counts by the majority of its repeats, an even split as a tie.

    graphs : as of `preference_graphs`, which are made when left out
    """
    sets = _complete_sets(presentations, preference_graphs(presentations) if graphs is None else graphs, sizes)
    overall = _measures(presentations, sets, np.ones(len(presentations.instances), dtype=bool), settings)
    named = list(enumerate(presentations.datasets))
    return {
        "texts": len(presentations.generation),
        "instances": len(presentations.instances),
        "answers": int((~np.isnan(presentations.verdict)).sum()),
        "unread": int(np.isnan(presentations.verdict).sum()),
        **overall,
        "datasets": {
            name: _measures(presentations, sets, presentations.dataset == code, settings) if len(named) > 1 else overall
            for code, name in named
        },
    }


def by_instance(presentations: Presentations) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield each instance's place, the name of each measure, and its value there, without an interval."""
    everything = np.ones(len(presentations.instances), dtype=bool)
    sets = _complete_sets(presentations, preference_graphs(presentations), SIZES)
    for name, counted in _counted(presentations, sets, everything).items():
        for index, (value, n) in enumerate(counted.by_instance(len(presentations.instances)).tolist()):
            why = {"why": None, "why_code": None} if n else counted.basis.why.as_json()
            description = {"n": int(n), "of": counted.basis.of, "tie_rule": counted.basis.tie_rule}
            yield index, name, {"value": value if n else None, **why, **description}


def preference_graphs(presentations: Presentations) -> Graphs:
    """Return (items, preferences among them) of each group of texts that comparisons connect, within their instances.

    One presentation of each pair makes the graph: that with the lower item first, the other one where it alone was asked. Of
    people, whose sides are drawn for each vote, both orders are taken together.
    """
    balances = _balances(presentations, ~presentations.negated)
    pairs = np.array([*{(min(pair), max(pair)) for pair in balances}], dtype=np.int64).reshape(-1, 2)
    component = connected_items(pairs[:, 0], pairs[:, 1], n_items=len(presentations.generation))
    order = np.argsort(component, kind="stable")
    sets = np.split(order, np.flatnonzero(np.diff(component[order])) + 1) if len(order) else []
    index_of = np.empty(len(order), dtype=np.int64)
    for items in sets:
        index_of[items] = np.arange(len(items))
    graphs = {int(component[items[0]]): np.zeros((len(items), len(items)), dtype=bool) for items in sets}
    for first, second in pairs.tolist():
        balance, turned = balances.get((first, second)), balances.get((second, first))
        says = (balance or 0) - (turned or 0) if presentations.pooled or balance is None else balance
        if says:
            better, worse = (first, second) if says < 0 else (second, first)
            graphs[int(component[first])][index_of[better], index_of[worse]] = True
    return [(items, graphs[int(component[items[0]])]) for items in sets]


def found_in(presentations: Presentations, graphs: Graphs | None = None) -> dict[str, list[list[int]]]:
    """Return the items of each contradiction, by its kind.

    graphs : as of `preference_graphs`, which are made when left out
    """
    return {
        "cycles": cycles(preference_graphs(presentations) if graphs is None else graphs),
        "order_effects": order_effects(presentations),
    }


def cycles(graphs: Graphs) -> list[list[int]]:
    """List the cycles of three: items of which each is preferred to the next, and the last to the first."""
    return [items[triple].tolist() for items, graph in graphs if len(items) > 2 for triple in cyclic_triples(graph)]


def order_effects(presentations: Presentations) -> list[list[int]]:
    """List the pairs of items that were asked in both orders with different verdicts."""
    verdicts = majorities(presentations, ~presentations.negated & presentations.sided)
    return [list(pair) for pair in _both_orders(verdicts) if verdicts[pair] != -verdicts[pair[::-1]]]


def majorities(presentations: Presentations, is_selected: BoolArray) -> Verdicts:
    """Return the majority of the chosen answers to each presentation. An even split is a tie."""
    return {displayed: float(np.sign(balance)) for displayed, balance in _balances(presentations, is_selected).items()}


def _balances(presentations: Presentations, is_selected: BoolArray) -> Verdicts:
    """Return the sum of the chosen answers to each presentation."""
    is_known = is_selected & ~np.isnan(presentations.verdict)
    displayed = np.stack([presentations.first[is_known], presentations.second[is_known]], axis=1)
    units, row = np.unique(displayed, axis=0, return_inverse=True)
    balance = np.bincount(row.reshape(-1), weights=presentations.verdict[is_known], minlength=len(units))
    return {(item, second): says for (item, second), says in zip(units.tolist(), balance.tolist(), strict=True)}


def _both_orders(verdicts: Verdicts) -> list[tuple[int, int]]:
    return [pair for pair in verdicts if pair[0] < pair[1] and pair[::-1] in verdicts]


def _measures(
    presentations: Presentations, sets: Sets, is_selected: BoolArray, settings: IntervalSettings
) -> dict[str, Any]:
    """Return the measures over the wanted instances."""
    counted = _counted(presentations, sets, is_selected)
    edges, possible = counted.pop("density").rows.sum(axis=0).tolist()
    estimates = {name: measure.estimate(settings) for name, measure in counted.items()}
    transitivity = {str(k): estimates.pop(f"transitivity_{k}") for k in sets.sizes}
    density = {"value": edges / possible if possible else None, "n": int(possible), "of": "pairs"}
    return {**estimates, "transitivity": transitivity, "density": density}


def _counted(presentations: Presentations, sets: Sets, is_selected: BoolArray) -> dict[str, Counted]:
    is_counted = is_selected[presentations.instance[presentations.first]]
    plain, negated = (
        majorities(presentations, is_counted & selected) for selected in (~presentations.negated, presentations.negated)
    )
    by_size = {}
    for index, k in enumerate(sets.sizes):
        is_known = is_selected[sets.instance] & (sets.sums[:, index, 1] > 0)
        rows, instance = sets.sums[is_known, index], sets.instance[is_known]
        without = int(is_selected.sum()) - len(np.unique(instance))
        why = FEW_COMPLETE_SETS.with_values(least=LEAST_SETS, k=k)
        basis = Basis(int(rows[:, 1].sum()), "complete sets", TIE_IS_NO_EDGE, without, why)
        coin = coin_transitivity(k)
        by_size[f"transitivity_{k}"] = Counted(rows, instance, basis, share=False, coin=coin, least=LEAST_SETS)
    return {
        "human_agreement": _human_agreement(presentations, is_counted),
        **by_size,
        "density": _density(presentations, sets, is_selected),
        "commutativity": _commutativity(
            presentations, majorities(presentations, is_counted & ~presentations.negated & presentations.sided)
        ),
        "negation_invariance": _negation(presentations, plain, negated),
        "self_agreement": _self_agreement(presentations, is_counted),
        "preferred_first": _preferred_first(presentations, is_counted),
    }


def _complete_sets(presentations: Presentations, graphs: Graphs, sizes: Sequence[int]) -> Sets:
    """Look at the complete sets. An instance has one group of compared texts, or several that nothing compares."""
    by_size: dict[int, list[int]] = {}
    for index, (items, _) in enumerate(graphs):
        by_size.setdefault(len(items), []).append(index)
    sums = np.zeros((len(graphs), len(sizes), 2))
    for listed in by_size.values():
        sums[listed] = complete_set_sums(np.stack([graphs[item][1] for item in listed]), sizes)
    pairs = np.array([graph.sum() for _, graph in graphs], dtype=np.int64)
    return Sets(tuple(sizes), sums, pairs, presentations.instance[[int(items[0]) for items, _ in graphs]])


def _density(presentations: Presentations, sets: Sets, is_selected: BoolArray) -> Counted:
    """Return the share of the pairs of an instance's texts that have a preference."""
    texts = np.bincount(presentations.instance, minlength=len(presentations.instances))
    possible = texts * (texts - 1) // 2
    edges = np.bincount(sets.instance, sets.pairs, minlength=len(texts))
    instances = np.flatnonzero(is_selected & (possible > 0))
    rows = np.stack([edges[instances], possible[instances]], axis=1).astype(np.float64)
    basis = Basis(int(rows[:, 1].sum()), "pairs", TIE_IS_NO_EDGE, 0, NOTHING_COMPARED)
    return Counted(rows, instances, basis)


def _commutativity(presentations: Presentations, plain: Verdicts) -> Counted:
    both = _both_orders(plain)
    alone = len(plain) - 2 * len(both)
    basis = Basis(len(both), "pairs", TIE_EQUALS_TIE, alone, NOT_BOTH_ORDERS)
    return _share(presentations, [(pair, plain[pair] == -plain[pair[::-1]]) for pair in both], basis)


def _negation(presentations: Presentations, plain: Verdicts, negated: Verdicts) -> Counted:
    both = [unit for unit in negated if unit in plain]
    alone = len(plain) + len(negated) - 2 * len(both) if negated else 0
    basis = Basis(len(both), "presentations", TIE_EQUALS_TIE, alone, NOT_NEGATED)
    return _share(presentations, [(unit, plain[unit] == negated[unit]) for unit in both], basis)


def _share(presentations: Presentations, results: list[tuple[tuple[int, int], bool]], basis: Basis) -> Counted:
    rows = np.array([[held_values, 1] for _, held_values in results], dtype=np.float64).reshape(-1, 2)
    items = np.array([unit[0] for unit, _ in results], dtype=np.int64)
    return Counted(rows, presentations.instance[items], basis)


def _self_agreement(presentations: Presentations, is_selected: BoolArray) -> Counted:
    selected = is_selected & ~presentations.negated & ~np.isnan(presentations.verdict)
    displayed = np.stack([presentations.first[selected], presentations.second[selected]], axis=1)
    units, row = np.unique(displayed, axis=0, return_inverse=True)
    table = np.full((len(units), int(presentations.repeat[selected].max(initial=0)) + 1), np.nan)
    table[row.reshape(-1), presentations.repeat[selected]] = presentations.verdict[selected]
    sums: FloatArray = self_agreement_sums(table)
    is_kept = sums[:, 1] > 0
    n = int(sums[:, 1].sum())
    basis = Basis(n, "repeated answers", TIE_EQUALS_TIE, int(selected.sum()) - n, NOTHING_TWICE)
    return Counted(sums[is_kept], presentations.instance[units[is_kept, 0]], basis, share=False)


def _preferred_first(presentations: Presentations, is_selected: BoolArray) -> Counted:
    selected = (
        is_selected
        & ~presentations.negated
        & ~np.isnan(presentations.verdict)
        & presentations.sided
        & presentations.ordered
    )
    sums = first_sums(presentations.verdict[selected], np.ones(int(selected.sum()), dtype=bool))
    is_kept = sums[:, 1] > 0
    n = int(is_kept.sum())
    why = ONLY_TIES if presentations.sided.any() or not len(presentations.sided) else UNKNOWN_ORDER
    why = why if presentations.ordered else NO_ORDER
    basis = Basis(n, "answers that are no ties", TIES_LEFT_OUT, len(sums) - n, why)
    return Counted(sums[is_kept], presentations.instance[presentations.first[selected]][is_kept], basis)


def _human_agreement(presentations: Presentations, is_selected: BoolArray) -> Counted:
    is_known = (
        is_selected
        & ~presentations.negated
        & (presentations.repeat == 0)
        & ~np.isnan(presentations.verdict)
        & ~np.isnan(presentations.target)
    )
    decided = is_known & (presentations.verdict != 0) & (presentations.target != 0)
    n = int(decided.sum())
    rows = np.stack([presentations.verdict[decided] == presentations.target[decided], np.ones(n)], axis=1).astype(
        np.float64
    )
    basis = Basis(n, "answers", TIES_LEFT_OUT, int(is_known.sum()) - n, NO_GOLD_OR_MAJORITY)
    return Counted(rows, presentations.instance[presentations.first[decided]], basis)
