"""How consistent a rater is with itself among several texts: transitivity, commutativity, negation, repeats, position."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.logic import coin_transitivity, complete_set_sums, cyclic_triples, first_sums, self_agreement_sums
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
    """What a measure is a mean of.

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
        found = (share_estimate if self.share else mean_estimate)(self.rows, self.instance, self.basis, settings)
        if self.basis.n < self.least:
            found |= {"value": None, "low": None, "high": None, **self.basis.why.as_json()}
        return found if self.coin is None else {**found, "coin": self.coin}

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
    asked: Presentations, settings: IntervalSettings, *, sizes: Sequence[int] = SIZES, graphs: Graphs | None = None
) -> dict[str, Any]:
    """Return the measures over all instances and in each data set.

    An answer that was repeated counts by the majority of its repeats, an even split as a tie.

    graphs : as of `preference_graphs`, which are made when left out
    """
    sets = _complete_sets(asked, preference_graphs(asked) if graphs is None else graphs, sizes)
    whole = _measures(asked, sets, np.ones(len(asked.instances), dtype=bool), settings)
    named = list(enumerate(asked.datasets))
    return {
        "texts": len(asked.generation),
        "instances": len(asked.instances),
        "answers": int((~np.isnan(asked.verdict)).sum()),
        "unread": int(np.isnan(asked.verdict).sum()),
        **whole,
        "datasets": {
            name: _measures(asked, sets, asked.dataset == code, settings) if len(named) > 1 else whole
            for code, name in named
        },
    }


def by_instance(asked: Presentations, *, sizes: Sequence[int] = SIZES) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield each instance's place, the name of each measure, and its value there, without an interval."""
    everything = np.ones(len(asked.instances), dtype=bool)
    sets = _complete_sets(asked, preference_graphs(asked), sizes)
    for name, counted in _counted(asked, sets, everything).items():
        for place, (value, n) in enumerate(counted.by_instance(len(asked.instances)).tolist()):
            why = {"why": None, "why_code": None} if n else counted.basis.why.as_json()
            about = {"n": int(n), "of": counted.basis.of, "tie_rule": counted.basis.tie_rule}
            yield place, name, {"value": value if n else None, **why, **about}


def preference_graphs(asked: Presentations) -> Graphs:
    """Return (items, preferences among them) of each group of texts that comparisons connect, within their instances.

    One presentation of each pair makes the graph: that with the lower item first, the other one where it alone was asked. Of
    people, whose sides are drawn for each vote, both orders are taken together.
    """
    said = _balances(asked, ~asked.negated)
    pairs = np.array([*{(min(pair), max(pair)) for pair in said}], dtype=np.int64).reshape(-1, 2)
    component = connected_items(pairs[:, 0], pairs[:, 1], n_items=len(asked.generation))
    order = np.argsort(component, kind="stable")
    sets = np.split(order, np.flatnonzero(np.diff(component[order])) + 1) if len(order) else []
    place = np.empty(len(order), dtype=np.int64)
    for items in sets:
        place[items] = np.arange(len(items))
    graphs = {int(component[items[0]]): np.zeros((len(items), len(items)), dtype=bool) for items in sets}
    for one, other in pairs.tolist():
        here, turned = said.get((one, other)), said.get((other, one))
        says = (here or 0) - (turned or 0) if asked.pooled or here is None else here
        if says:
            better, worse = (one, other) if says < 0 else (other, one)
            graphs[int(component[one])][place[better], place[worse]] = True
    return [(items, graphs[int(component[items[0]])]) for items in sets]


def found_in(asked: Presentations, graphs: Graphs | None = None) -> dict[str, list[list[int]]]:
    """Return the items of each contradiction, by its kind.

    graphs : as of `preference_graphs`, which are made when left out
    """
    return {
        "cycles": cycles(preference_graphs(asked) if graphs is None else graphs),
        "order_effects": order_effects(asked),
    }


def cycles(graphs: Graphs) -> list[list[int]]:
    """List the cycles of three: items of which each is preferred to the next, and the last to the first."""
    return [items[one].tolist() for items, graph in graphs if len(items) > 2 for one in cyclic_triples(graph)]


def order_effects(asked: Presentations) -> list[list[int]]:
    """List the pairs of items that were asked in both orders with different verdicts."""
    said = majorities(asked, ~asked.negated & asked.sided)
    return [list(pair) for pair in _both_orders(said) if said[pair] != -said[pair[::-1]]]


def majorities(asked: Presentations, chosen: BoolArray) -> Verdicts:
    """Return the majority of the chosen answers to each presentation; an even split is a tie."""
    return {shown: float(np.sign(balance)) for shown, balance in _balances(asked, chosen).items()}


def _balances(asked: Presentations, chosen: BoolArray) -> Verdicts:
    """Return the sum of the chosen answers to each presentation."""
    known = chosen & ~np.isnan(asked.verdict)
    shown = np.stack([asked.first[known], asked.second[known]], axis=1)
    units, row = np.unique(shown, axis=0, return_inverse=True)
    balance = np.bincount(row.reshape(-1), weights=asked.verdict[known], minlength=len(units))
    return {(one, other): says for (one, other), says in zip(units.tolist(), balance.tolist(), strict=True)}


def _both_orders(said: Verdicts) -> list[tuple[int, int]]:
    return [pair for pair in said if pair[0] < pair[1] and pair[::-1] in said]


def _measures(asked: Presentations, sets: Sets, wanted: BoolArray, settings: IntervalSettings) -> dict[str, Any]:
    """Return the measures over the wanted instances."""
    counted = _counted(asked, sets, wanted)
    edges, possible = counted.pop("density").rows.sum(axis=0).tolist()
    found = {name: measure.estimate(settings) for name, measure in counted.items()}
    transitivity = {str(k): found.pop(f"transitivity_{k}") for k in sets.sizes}
    density = {"value": edges / possible if possible else None, "n": int(possible), "of": "pairs"}
    return {**found, "transitivity": transitivity, "density": density}


def _counted(asked: Presentations, sets: Sets, wanted: BoolArray) -> dict[str, Counted]:
    here = wanted[asked.instance[asked.first]]
    plain, negated = (majorities(asked, here & chosen) for chosen in (~asked.negated, asked.negated))
    return {
        "human_agreement": _human_agreement(asked, here),
        **_transitivity(sets, wanted),
        "density": _density(asked, sets, wanted),
        "commutativity": _commutativity(asked, majorities(asked, here & ~asked.negated & asked.sided)),
        "negation_invariance": _negation(asked, plain, negated),
        "self_agreement": _self_agreement(asked, here),
        "preferred_first": _preferred_first(asked, here),
    }


def _complete_sets(asked: Presentations, graphs: Graphs, sizes: Sequence[int]) -> Sets:
    """Look at the complete sets; an instance has one group of compared texts, or several that nothing compares."""
    by_size: dict[int, list[int]] = {}
    for place, (items, _) in enumerate(graphs):
        by_size.setdefault(len(items), []).append(place)
    sums = np.zeros((len(graphs), len(sizes), 2))
    for listed in by_size.values():
        sums[listed] = complete_set_sums(np.stack([graphs[one][1] for one in listed]), sizes)
    pairs = np.array([graph.sum() for _, graph in graphs], dtype=np.int64)
    return Sets(tuple(sizes), sums, pairs, asked.instance[[int(items[0]) for items, _ in graphs]])


def _transitivity(sets: Sets, wanted: BoolArray) -> dict[str, Counted]:
    found = {}
    for place, k in enumerate(sets.sizes):
        known = wanted[sets.instance] & (sets.sums[:, place, 1] > 0)
        rows, instance = sets.sums[known, place], sets.instance[known]
        without = int(wanted.sum()) - len(np.unique(instance))
        why = FEW_COMPLETE_SETS.with_values(least=LEAST_SETS, k=k)
        basis = Basis(int(rows[:, 1].sum()), "complete sets", TIE_IS_NO_EDGE, without, why)
        coin = coin_transitivity(k)
        found[f"transitivity_{k}"] = Counted(rows, instance, basis, share=False, coin=coin, least=LEAST_SETS)
    return found


def _density(asked: Presentations, sets: Sets, wanted: BoolArray) -> Counted:
    """Return the share of the pairs of an instance's texts that have a preference."""
    texts = np.bincount(asked.instance, minlength=len(asked.instances))
    possible = texts * (texts - 1) // 2
    edges = np.bincount(sets.instance, sets.pairs, minlength=len(texts))
    instances = np.flatnonzero(wanted & (possible > 0))
    rows = np.stack([edges[instances], possible[instances]], axis=1).astype(np.float64)
    basis = Basis(int(rows[:, 1].sum()), "pairs", TIE_IS_NO_EDGE, 0, NOTHING_COMPARED)
    return Counted(rows, instances, basis)


def _commutativity(asked: Presentations, plain: Verdicts) -> Counted:
    both = _both_orders(plain)
    alone = len(plain) - 2 * len(both)
    basis = Basis(len(both), "pairs", TIE_EQUALS_TIE, alone, NOT_BOTH_ORDERS)
    return _share(asked, [(pair, plain[pair] == -plain[pair[::-1]]) for pair in both], basis)


def _negation(asked: Presentations, plain: Verdicts, negated: Verdicts) -> Counted:
    both = [unit for unit in negated if unit in plain]
    alone = len(plain) + len(negated) - 2 * len(both) if negated else 0
    basis = Basis(len(both), "presentations", TIE_EQUALS_TIE, alone, NOT_NEGATED)
    return _share(asked, [(unit, plain[unit] == negated[unit]) for unit in both], basis)


def _share(asked: Presentations, found: list[tuple[tuple[int, int], bool]], basis: Basis) -> Counted:
    rows = np.array([[held, 1] for _, held in found], dtype=np.float64).reshape(-1, 2)
    items = np.array([unit[0] for unit, _ in found], dtype=np.int64)
    return Counted(rows, asked.instance[items], basis)


def _self_agreement(asked: Presentations, here: BoolArray) -> Counted:
    chosen = here & ~asked.negated & ~np.isnan(asked.verdict)
    shown = np.stack([asked.first[chosen], asked.second[chosen]], axis=1)
    units, row = np.unique(shown, axis=0, return_inverse=True)
    table = np.full((len(units), int(asked.repeat[chosen].max(initial=0)) + 1), np.nan)
    table[row.reshape(-1), asked.repeat[chosen]] = asked.verdict[chosen]
    sums: FloatArray = self_agreement_sums(table)
    kept = sums[:, 1] > 0
    n = int(sums[:, 1].sum())
    basis = Basis(n, "repeated answers", TIE_EQUALS_TIE, int(chosen.sum()) - n, NOTHING_TWICE)
    return Counted(sums[kept], asked.instance[units[kept, 0]], basis, share=False)


def _preferred_first(asked: Presentations, here: BoolArray) -> Counted:
    chosen = here & ~asked.negated & ~np.isnan(asked.verdict) & asked.sided & asked.ordered
    sums = first_sums(asked.verdict[chosen], np.ones(int(chosen.sum()), dtype=bool))
    kept = sums[:, 1] > 0
    n = int(kept.sum())
    basis = Basis(n, "answers that are no ties", TIES_LEFT_OUT, len(sums) - n, _why_no_share(asked))
    return Counted(sums[kept], asked.instance[asked.first[chosen]][kept], basis)


def _why_no_share(asked: Presentations) -> Reason:
    """Return why there is no share of the first place."""
    if not asked.ordered:
        return NO_ORDER
    return ONLY_TIES if asked.sided.any() or not len(asked.sided) else UNKNOWN_ORDER


def _human_agreement(asked: Presentations, here: BoolArray) -> Counted:
    known = here & ~asked.negated & (asked.repeat == 0) & ~np.isnan(asked.verdict) & ~np.isnan(asked.target)
    decided = known & (asked.verdict != 0) & (asked.target != 0)
    n = int(decided.sum())
    rows = np.stack([asked.verdict[decided] == asked.target[decided], np.ones(n)], axis=1).astype(np.float64)
    basis = Basis(n, "answers", TIES_LEFT_OUT, int(known.sum()) - n, NO_GOLD_OR_MAJORITY)
    return Counted(rows, asked.instance[asked.first[decided]], basis)
