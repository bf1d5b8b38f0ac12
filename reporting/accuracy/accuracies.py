"""Judges against gold labels, by subset: accuracy in each order, position bias, calls and tokens."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from analysis.judges.accuracy import MEASURES, AgainstGold, sound_when_wrong_sums, wrong_when_sound_sums
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.reasons import Reason
from annotation.core.version import VERSION
from annotation.models import Study
from judging.outcomes.gold import GoldPairs, JudgedGold, gold_pairs, judged_gold
from reporting.core.estimates import Basis, IntervalSettings, mean_estimate, share_estimate
from reporting.core.reasons import ALL_TIES, NO_ORDER, NOT_BOTH_ORDERS
from reporting.core.wordings import JudgeSettings, sets_of_wordings, settings_of, spread_over_wordings

TIE_IN_ACCURACY = "a tie is right where the gold is a tie, and nowhere else"
TIE_IN_AGREEMENT = "a tie agrees with a tie only"
TIE_IN_POSITION = "ties are left out"
TIE_IN_COST = "a tie is a verdict"
TIE_IN_WRONG = "a tie is wrong unless the gold is a tie"
NO_GOLD = Reason(
    "no_gold", "no pair of the study has a gold label: instances need a gold that names the better system, or scores"
)
NO_ANSWER = Reason("no_answer", "no pair with a gold label was judged yet")
NO_A_FIRST = Reason("no_a_first", "no pair was asked with A shown first")
NO_B_FIRST = Reason("no_b_first", "no pair was asked with B shown first")
NEVER_AGREED = Reason("never_agreed", "no pair has the same verdict in both orders")
NO_VERDICT = Reason("no_verdict", "no verdict")
COST_UNKNOWN = Reason("cost_unknown", "the number of calls is not known for all of these verdicts")
NO_MARKS = Reason("no_marks", "no judgment with a verdict and a gold label was marked")
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
JURY = "jury"  # the method: its verdicts are on pairs
MEASURE_NAMES = (*MEASURES, *COSTS, *RATIONALES)  # in the order of a row


def judge_accuracy(study: Study, *, rounds: int = 1000, seed: int = 0) -> dict[str, Any]:
    """Compute every judge's accuracy on every subset of the pairs that have a gold label, as `accuracies`."""
    return accuracies(study.slug, *judges_beside_gold(study), rounds=rounds, seed=seed)


def judges_beside_gold(study: Study) -> tuple[GoldPairs, list[tuple[JudgeSettings, JudgedGold]]]:
    """Read the pairs with gold, and what each judge said of them."""
    gold = gold_pairs(study)
    judged_gold_rows = judged_gold(study, gold) if len(gold) else []
    return gold, [(settings_of(judge), judged) for judge, judged in judged_gold_rows]


@dataclass(frozen=True, eq=False)
class Subset:
    """Some of the pairs: those of a data set, with a tag, or all. `pairs` is a mask over `GoldPairs`."""

    kind: str
    name: str
    pairs: BoolArray


def accuracies(
    slug: str, gold: GoldPairs, judges: Sequence[tuple[JudgeSettings, JudgedGold]], *, rounds: int = 1000, seed: int = 0
) -> dict[str, Any]:
    """Compute every judge's accuracy on every subset of the pairs that have a gold label.

    judges       : sorted by name
    rounds, seed : reported as the filters; no interval here draws
    """
    datasets = [Subset("dataset", name, pairs) for name, pairs in gold.datasets.items()]
    tags = [Subset("tag", name, pairs) for name, pairs in gold.tags.items()]
    subsets = [*datasets, *tags, Subset("all", "all", np.ones(len(gold), dtype=bool))]
    settings = IntervalSettings(seed=seed, rounds=rounds, clusters=gold.clusters)
    rows = [[_row(item, judged, subset, settings) for subset in subsets] for item, judged in judges]
    result: dict[str, Any] = {
        "study": slug,
        "version": VERSION,
        "filters": {"rounds": rounds, "level": settings.level, "seed": seed},
        "subsets": [
            {
                "kind": subset.kind,
                "subset": subset.name,
                "instances": len(np.unique(gold.instance[subset.pairs])),
                "pairs": int(subset.pairs.sum()),
                "gold": _verdict_counts(gold.gold[subset.pairs]),
            }
            for subset in subsets
        ],
        "judges": [
            {
                "judge": item.name,
                "method": item.method,
                "model": None if item.endpoint is None else item.model,
                "label": str(item.params.get("label", item.name)) if item.method == "imported" else item.name,
                "subsets": [row for row in of_it if row["asked"]],
            }
            for (item, _), of_it in zip(judges, rows, strict=True)
        ],
    }
    result["wordings"] = over_wordings(result["judges"], {item.name: item for item, _ in judges})
    if not judges:
        result |= (NO_ANSWER if len(gold) else NO_GOLD).as_json()
    return result


def _row(judge: JudgeSettings, judged: JudgedGold, subset: Subset, settings: IntervalSettings) -> dict[str, Any]:
    answered = subset.pairs & judged.answered.any(axis=1)
    instance = judged.gold.instance[answered]
    measured = _measures(judged, answered, judged.errors(subset.pairs), in_orders=judge.method != JURY)
    was_asked = subset.pairs & (judged.status > 0).any(axis=1)
    return {
        "kind": subset.kind,
        "subset": subset.name,
        "instances": len(np.unique(judged.gold.instance[was_asked])),
        "pairs": int(was_asked.sum()),
        "asked": int((judged.status[was_asked] > 0).sum()),
        **_verdict_counts(judged.verdict[was_asked]),
        **{name: int(judged.count(status)[was_asked].sum()) for status, name in _STATUSES.items()},
        # A mean where a row is a mean itself, of two orders or of costs.
        **{
            name: mean_estimate(rows, instance, basis, settings, ceiling=math.inf if name in COSTS else 1.0)
            if name in COSTS or (rows % 1).any()
            else share_estimate(rows, instance, basis, settings)
            for name, rows, basis in measured
        },
    }


OF_ORDERS = ("accuracy_ab", "accuracy_ba", "first_position_rate")
_STATUSES = {"unparsed": "unparsed", "refused": "refused", "error": "errors"}


def _measures(
    judged: JudgedGold, pairs: BoolArray, errors: IntArray, *, in_orders: bool
) -> Iterator[tuple[str, FloatArray, Basis]]:
    """Yield name, sums per pair and basis of each measure."""
    against = judged.against_gold(pairs)
    for name, sums_of in MEASURES.items():
        sums = sums_of(against)
        basis = _basis(name, against, int(sums[:, 1].sum()), errors)
        if not in_orders and name in OF_ORDERS:
            sums, basis = np.zeros_like(sums), Basis(0, basis.of, basis.tie_rule, why=NO_ORDER)
        yield name, sums, basis
    verdicts = (~np.isnan(against.verdict)).sum(axis=1)
    for name, column in COSTS.items():
        spent = getattr(judged, column)[pairs]
        unknown = bool(np.isnan(spent[against.asked]).any())
        numerators = np.where(against.asked, spent, 0.0).sum(axis=1) if not unknown else np.zeros(len(against))
        denominators = np.zeros(len(against)) if unknown else verdicts
        basis = Basis(int(denominators.sum()), "verdicts", TIE_IN_COST, why=COST_UNKNOWN if unknown else NO_VERDICT)
        yield name, np.stack([numerators, denominators], axis=1), basis
    marked = judged.sound[pairs]
    marked_total = int((~np.isnan(marked)).sum() + judged.disputed[pairs].sum())
    for name, (sums_of_marks, unit) in RATIONALES.items():
        of_orders = [sums_of_marks(marked[:, order], against.verdict[:, order], against.gold) for order in range(2)]
        rows = np.sum(of_orders, axis=0)
        n = int(rows[:, 1].sum())
        usable = int((~np.isnan(marked) & ~np.isnan(against.verdict)).sum())
        yield name, rows, Basis(n, unit, TIE_IN_WRONG, marked_total - usable, NO_MARKS)


def _basis(name: str, against: AgainstGold, n: int, errors: IntArray) -> Basis:
    """Return what an accuracy rests on. An error is not an answer: it is excluded from every accuracy."""
    in_both = int(against.asked.all(axis=1).sum())
    without_position = NO_VERDICT if np.isnan(against.verdict).all() else ALL_TIES
    bases: dict[str, tuple[str, str, int, Reason]] = {
        "accuracy": ("pairs", TIE_IN_ACCURACY, int(errors.sum()), NO_ANSWER),
        "accuracy_ab": ("answers", TIE_IN_ACCURACY, int(errors[0]), NO_A_FIRST),
        "accuracy_ba": ("answers", TIE_IN_ACCURACY, int(errors[1]), NO_B_FIRST),
        "accuracy_both_orders_right": (
            "pairs asked in both orders",
            TIE_IN_ACCURACY,
            len(against) - n,
            NOT_BOTH_ORDERS,
        ),
        "accuracy_when_orders_agree": (
            "pairs with one verdict in both orders",
            TIE_IN_ACCURACY,
            in_both - n,
            NEVER_AGREED,
        ),
        "positional_agreement": ("pairs with a verdict in both orders", TIE_IN_AGREEMENT, in_both - n, NOT_BOTH_ORDERS),
        "first_position_rate": (
            "verdicts for either text",
            TIE_IN_POSITION,
            int((against.verdict == 0).sum()),
            without_position,
        ),
    }
    of, tie_rule, left_out, why = bases[name]
    return Basis(n, of, tie_rule, left_out, why)


def _verdict_counts(verdicts: FloatArray) -> dict[str, int]:
    return {name: int((verdicts == value).sum()) for name, value in (("a", -1), ("tie", 0), ("b", 1))}


def over_wordings(rows: Sequence[dict[str, Any]], judges: Mapping[str, JudgeSettings]) -> list[dict[str, Any]]:
    """Return the accuracy on each subset over the wordings of each judge that has two or more.

    rows   : the judges' rows of `judge_accuracy`; `judges` by name. Those without an endpoint have no wording
    `pairs`: least and most pairs that a wording has answered on; the accuracies are each on its own
    source : The Comparative Trap, table 10, which has one paraphrase
    """

    def alike(row: dict[str, Any]) -> str:
        judge = judges[row["judge"]]
        return "" if judge.endpoint is None else judge.besides_wording

    def answers(row: dict[str, Any]) -> int:
        return sum(subset["accuracy"]["n"] for subset in row["subsets"] if subset["kind"] == "all")

    sets = sets_of_wordings(rows, alike=alike, wording=lambda row: judges[row["judge"]].wording, answers=answers)
    return [_over(sorted(rows_of_set, key=itemgetter("judge")), judges) for rows_of_set in sets]


def _over(rows: Sequence[dict[str, Any]], judges: Mapping[str, JudgeSettings]) -> dict[str, Any]:
    by_subset: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        for subset in row["subsets"]:
            by_subset.setdefault((subset["kind"], subset["subset"]), []).append(subset["accuracy"])
    return {
        "method": rows[0]["method"],
        "model": rows[0]["model"],
        "judges": [{"judge": row["judge"], "wording": judges[row["judge"]].wording} for row in rows],
        "subsets": [
            {
                "kind": kind,
                "subset": subset,
                "pairs": [min(rate["n"] for rate in accuracies), max(rate["n"] for rate in accuracies)],
                "accuracy": spread_over_wordings([rate["value"] for rate in accuracies]),
            }
            for (kind, subset), accuracies in by_subset.items()
        ],
    }
