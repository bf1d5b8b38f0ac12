"""Judges against gold, by subset: accuracy either way round, agreement of the orders, position, calls and tokens."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.accuracy import MEASURES, AgainstGold, sound_when_wrong_sums, wrong_when_sound_sums
from analysis.bootstrap import cluster_sums
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.models import Study
from annotation.version import VERSION
from judging.gold_tables import GoldPairs, JudgedGold, gold_pairs, judged_gold
from reporting.estimates import Basis, Sampler, estimates_of_ratios

TIE_IN_ACCURACY = "a tie is right where the gold is a tie, and nowhere else"
TIE_IN_AGREEMENT = "a tie agrees with a tie only"
TIE_IN_POSITION = "ties are left out"
TIE_IN_COST = "a tie is a verdict"
TIE_IN_WRONG = "a tie is wrong unless the gold is a tie"
NO_GOLD = "no pair of the study has a gold label: instances need a gold that names the better system, or scores"
NO_ANSWER = "no pair with a gold label was judged yet"
NOT_BOTH = "no pair was asked in both orders"
NEVER_AGREED = "no pair has the same verdict in both orders"
ALL_TIES = "no verdict but ties"
NO_VERDICT = "no verdict"
UNTOLD = "nobody said how many these verdicts took"
NO_MARKS = "no judgment with a verdict and a gold label was marked"
COSTS = {
    "calls_per_verdict": "calls",
    "calls_made_per_verdict": "calls_made",
    "tokens_per_verdict": "tokens",
    "tokens_made_per_verdict": "tokens_made",
}
RATIONALES = {
    "wrong_when_sound": (wrong_when_sound_sums, "verdicts with a sound rationale"),
    "sound_when_wrong": (sound_when_wrong_sums, "wrong verdicts with a marked rationale"),
}
NAMES = (*MEASURES, *COSTS, *RATIONALES)  # of the numbers of a row, in their order


@dataclass(frozen=True, eq=False)
class Subset:
    """Some of the pairs: those of a data set, with a tag, or all; `pairs` is a mask over `GoldPairs`."""

    kind: str
    name: str
    pairs: BoolArray


def judge_accuracy(study: Study, *, rounds: int = 1000, seed: int = 0) -> dict[str, Any]:
    """Compute every judge's accuracy on every subset of the pairs that have a gold label.

    rounds, seed : of the bootstrap over instances; the same seed gives the same intervals
    """
    gold, sampler = gold_pairs(study), Sampler(seed, rounds)
    subsets = subsets_of(gold)
    judges = judged_gold(study, gold) if len(gold) else []
    rows = [_rows(judges, subset, sampler) for subset in subsets]
    found: dict[str, Any] = {
        "study": study.slug,
        "version": VERSION,
        "filters": {"rounds": rounds, "level": sampler.level, "seed": seed},
        "subsets": [_subset(one, gold) for one in subsets],
        "judges": [_judge(judged, [of[place] for of in rows]) for place, judged in enumerate(judges)],
    }
    if not judges:
        found["why"] = NO_ANSWER if len(gold) else NO_GOLD
    return found


def subsets_of(gold: GoldPairs) -> list[Subset]:
    """List the subsets: data sets, tags, and all pairs, which there always are."""
    datasets = [Subset("dataset", name, pairs) for name, pairs in gold.datasets.items()]
    tags = [Subset("tag", name, pairs) for name, pairs in gold.tags.items()]
    return [*datasets, *tags, Subset("all", "all", np.ones(len(gold), dtype=bool))]


def _subset(subset: Subset, gold: GoldPairs) -> dict[str, Any]:
    return {
        "kind": subset.kind,
        "subset": subset.name,
        "instances": len(np.unique(gold.instance[subset.pairs])),
        "pairs": int(subset.pairs.sum()),
        "gold": _abt(gold.gold[subset.pairs]),
    }


def _judge(judged: JudgedGold, rows: list[dict[str, Any]]) -> dict[str, Any]:
    judge = judged.judge
    return {
        "judge": judge.name,
        "method": judge.method,
        "model": judge.endpoint.model if judge.endpoint else None,
        "label": str(judge.params.get("label", judge.name)) if judge.method == "imported" else judge.name,
        "subsets": [row for row in rows if row["asked"]],
    }


@dataclass(frozen=True, eq=False)
class _Sums:
    """One judge's numbers on a subset before their intervals; `table` has one row per instance that it answered on."""

    instances: bytes
    table: FloatArray
    bases: dict[str, Basis]


def _rows(judges: list[JudgedGold], subset: Subset, sampler: Sampler) -> list[dict[str, Any]]:
    """Return the judges' rows on one subset.

    Judges with answers on the same instances share the resamples: these depend on nothing but how many instances there
    are, so that another judge beside it leaves a judge's interval as it was, and a tag has that of its data set.
    """
    rows = [_counted(judged, subset) for judged in judges]
    sums = [_summed(judged, subset) for judged in judges]
    groups: dict[bytes, list[int]] = {}
    for place, one in enumerate(sums):
        groups.setdefault(one.instances, []).append(place)
    for places in groups.values():
        found = iter(
            estimates_of_ratios(
                np.concatenate([sums[place].table for place in places], axis=1),
                [basis for place in places for basis in sums[place].bases.values()],
                sampler=sampler,
                labels=("judge accuracy",),
            )
        )
        for place in places:
            rows[place] |= dict(zip(sums[place].bases, found, strict=False))
    return rows


def _counted(judged: JudgedGold, subset: Subset) -> dict[str, Any]:
    asked = subset.pairs & (judged.status > 0).any(axis=1)
    return {
        "kind": subset.kind,
        "subset": subset.name,
        "instances": len(np.unique(judged.gold.instance[asked])),
        "pairs": int(asked.sum()),
        "asked": int((judged.status[asked] > 0).sum()),
        **_abt(judged.verdict[asked]),
        **{name: int(judged.count(status)[asked].sum()) for status, name in _STATUSES.items()},
    }


def _summed(judged: JudgedGold, subset: Subset) -> _Sums:
    answered = subset.pairs & judged.answered.any(axis=1)  # an instance without any answer has nothing to resample
    measured = list(_measured(judged, answered, judged.errors(subset.pairs)))
    instances = judged.gold.instance[answered]
    return _Sums(
        instances=np.unique(instances).tobytes(),
        table=cluster_sums(np.stack([rows for _, rows, _ in measured], axis=1), instances),
        bases={name: basis for name, _, basis in measured},
    )


_STATUSES = {"unparsed": "unparsed", "refused": "refused", "error": "errors"}
Measured = tuple[str, FloatArray, Basis]


def _measured(judged: JudgedGold, pairs: BoolArray, errors: IntArray) -> Iterator[Measured]:
    """Yield name, sums per pair and basis of each number of a row."""
    found = judged.against_gold(pairs)
    for name, sums_of in MEASURES.items():
        sums = sums_of(found)
        yield name, sums, _BASES[name](found, int(sums[:, 1].sum()), errors)
    verdicts = (~np.isnan(found.verdict)).sum(axis=1)
    for name, column in COSTS.items():
        spent = getattr(judged, column)[pairs]
        untold = bool(np.isnan(spent[found.asked]).any())
        above = np.where(found.asked, spent, 0.0).sum(axis=1) if not untold else np.zeros(len(found))
        below = np.zeros(len(found)) if untold else verdicts
        basis = Basis(int(below.sum()), "verdicts", TIE_IN_COST, why=UNTOLD if untold else NO_VERDICT)
        yield name, np.stack([above, below], axis=1), basis
    marked = judged.sound[pairs]
    told = int((~np.isnan(marked)).sum() + judged.disputed[pairs].sum())
    for name, (sums_of_marks, unit) in RATIONALES.items():
        of_orders = [sums_of_marks(marked[:, order], found.verdict[:, order], found.gold) for order in range(2)]
        rows = np.sum(of_orders, axis=0)
        n = int(rows[:, 1].sum())
        usable = int((~np.isnan(marked) & ~np.isnan(found.verdict)).sum())
        yield name, rows, Basis(n, unit, TIE_IN_WRONG, told - usable, NO_MARKS)


def _of_order(order: int) -> Callable[[AgainstGold, int, IntArray], Basis]:
    def basis(found: AgainstGold, n: int, errors: IntArray) -> Basis:
        return Basis(n, "answers", TIE_IN_ACCURACY, int(errors[order]), _UNASKED[order])

    return basis


_UNASKED = ("no pair was asked with A shown first", "no pair was asked with B shown first")


def _of_agreeing(found: AgainstGold, n: int, errors: IntArray) -> Basis:
    left_out = int(found.asked.all(axis=1).sum()) - n
    return Basis(n, "pairs with one verdict in both orders", TIE_IN_ACCURACY, left_out, NEVER_AGREED)


def _of_agreement(found: AgainstGold, n: int, errors: IntArray) -> Basis:
    left_out = int(found.asked.all(axis=1).sum()) - n
    return Basis(n, "pairs with a verdict in both orders", TIE_IN_AGREEMENT, left_out, NOT_BOTH)


def _of_first(found: AgainstGold, n: int, errors: IntArray) -> Basis:
    why = NO_VERDICT if np.isnan(found.verdict).all() else ALL_TIES
    return Basis(n, "verdicts for either text", TIE_IN_POSITION, int((found.verdict == 0).sum()), why)


# An error is no answer: it is in no accuracy, but counted beside it.
_BASES: dict[str, Callable[[AgainstGold, int, IntArray], Basis]] = {
    "accuracy": lambda found, n, errors: Basis(n, "pairs", TIE_IN_ACCURACY, int(errors.sum()), NO_ANSWER),
    "accuracy_ab": _of_order(0),
    "accuracy_ba": _of_order(1),
    "accuracy_both_orders_right": lambda found, n, errors: Basis(
        n, "pairs asked in both orders", TIE_IN_ACCURACY, len(found) - n, NOT_BOTH
    ),
    "accuracy_when_orders_agree": _of_agreeing,
    "positional_agreement": _of_agreement,
    "first_position_rate": _of_first,
}


def _abt(verdicts: FloatArray) -> dict[str, int]:
    return {name: int((verdicts == value).sum()) for name, value in (("a", -1), ("tie", 0), ("b", 1))}
