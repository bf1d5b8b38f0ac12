"""A judge against gold labels: accuracy in each order, agreement between the orders, position bias, sound rationales.

Each measure is a ratio of sums, one row of (numerator, denominator) per pair: summed per instance they go into
`analysis.intervals.bootstrap` with `ratio`, and summed over everything they give the value itself (`share`).

A missing verdict is an answer without one (unparsed or refused): it is never right and never a vote. It stays in the
denominator of every accuracy, and in neither part of an agreement or of the share for the first text. A tie is right
where the gold is a tie, and nowhere else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError, UnknownValue
from analysis.intervals.bootstrap import counted_rows, ratio
from analysis.types import BoolArray, FloatArray, check_columns, verdict_array

A_FIRST, B_FIRST = 0, 1  # columns


@dataclass(frozen=True, eq=False)
class AgainstGold:
    """One judge's verdicts on n pairs in both orders, with the gold labels.

    verdict : (n_pairs, 2) in study order; column 0 with A's text shown first, column 1 with B's; NaN for missing
    gold    : (n_pairs,) -1 A is better, +1 B, 0 neither; NaN where unknown: such a pair is in no accuracy
    asked   : (n_pairs, 2) whether the judge answered in this order; everywhere when left out
    raises  : ShapeError if the shapes differ; UnknownValue for an unknown verdict, or one in an order not asked
    """

    verdict: FloatArray
    gold: FloatArray
    asked: BoolArray = None  # type: ignore[assignment]  # filled below, so readers always see an array

    def __post_init__(self) -> None:
        verdict, gold = verdict_array(self.verdict), verdict_array(self.gold)
        asked = np.ones(verdict.shape, dtype=bool) if self.asked is None else np.asarray(self.asked, dtype=bool)
        if (
            verdict.ndim != 2
            or verdict.shape[1] != 2
            or asked.shape != verdict.shape
            or gold.shape != verdict.shape[:1]
        ):
            raise ShapeError(
                f"need (n, 2) verdicts, (n,) gold and (n, 2) asked, got {verdict.shape}, {gold.shape}, {asked.shape}"
            )
        if (~asked & ~np.isnan(verdict)).any():
            raise UnknownValue(f"{(~asked & ~np.isnan(verdict)).sum()} verdicts in orders that were not asked")
        for name, value in (("verdict", verdict), ("gold", gold), ("asked", asked)):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.gold)

    @property
    def right(self) -> BoolArray:
        """(n_pairs, 2) whether the verdict equals the gold. False where either is missing."""
        equal: BoolArray = self.verdict == self.gold[:, np.newaxis]
        return equal

    @property
    def counted(self) -> BoolArray:
        """(n_pairs, 2) whether there is an answer and a gold label."""
        return self.asked & ~np.isnan(self.gold)[:, np.newaxis]


Sums = Callable[[AgainstGold], FloatArray]


def share(sums: npt.ArrayLike) -> float:
    """Return all numerators over all denominators. NaN if there is nothing.

    sums : (n_rows, 2)
    """
    return float(ratio(np.asarray(sums, dtype=np.float64).reshape(-1, 2).sum(axis=0)))


def accuracy_sums(pairs: AgainstGold, order: int) -> FloatArray:
    """Right answers, and answers, with A's text shown first (order 0) or B's (order 1).

    returns : (n_pairs, 2) of 0 and 1
    raises  : UnknownValue for another order
    source  : Zeng et al. 2024, Evaluating Large Language Models at Evaluating Instruction Following
    """
    if order not in (A_FIRST, B_FIRST):
        raise UnknownValue(f"orders are {A_FIRST} (A first) and {B_FIRST} (B first), got {order}")
    return counted_rows(pairs.right[:, order], pairs.counted[:, order])


def mean_accuracy_sums(pairs: AgainstGold) -> FloatArray:
    """Share of right answers over the orders that a pair was asked in, and whether it was asked: a pair counts once.

    With both orders of every pair it is the mean of the two accuracies; with one of each, the plain accuracy.

    returns : (n_pairs, 2); numerators are 0, 1/2 or 1
    source  : Zeng et al. 2024 (their average accuracy)
    """
    orders = pairs.counted.sum(axis=1)
    right = (pairs.right & pairs.counted).sum(axis=1)
    return counted_rows(np.divide(right, orders, out=np.zeros(len(pairs)), where=orders > 0), orders > 0)


def both_right_sums(pairs: AgainstGold) -> FloatArray:
    """Pairs right in both orders, and pairs asked in both.

    returns : (n_pairs, 2) of 0 and 1
    """
    return counted_rows(pairs.right.all(axis=1), pairs.counted.all(axis=1))


def agreeing_accuracy_sums(pairs: AgainstGold) -> FloatArray:
    """Right pairs, and pairs, among those where both orders gave the same verdict.

    returns : (n_pairs, 2) of 0 and 1
    """
    agreeing = _agreeing(pairs) & ~np.isnan(pairs.gold)
    return counted_rows(agreeing & pairs.right[:, A_FIRST], agreeing)


def positional_agreement_sums(pairs: AgainstGold) -> FloatArray:
    """Pairs with the same verdict in both orders, and pairs with a verdict in both. A tie agrees with a tie only.

    Needs no gold. One verdict and one missing is no disagreement: the pair is left out.

    returns : (n_pairs, 2) of 0 and 1
    source  : Zeng et al. 2024 (their positional agreement rate)
    """
    return counted_rows(_agreeing(pairs), ~np.isnan(pairs.verdict).any(axis=1))


def first_position_sums(pairs: AgainstGold) -> FloatArray:
    """Verdicts for the text shown first, and verdicts for either text. Ties are left out. Needs no gold.

    returns : (n_pairs, 2) of 0, 1 and 2
    """
    first = (pairs.verdict == np.array([-1.0, 1.0])).sum(axis=1)
    decided = (np.abs(pairs.verdict) == 1).sum(axis=1)
    return counted_rows(first, decided)


MEASURES: dict[str, Sums] = {
    "accuracy": mean_accuracy_sums,
    "accuracy_ab": partial(accuracy_sums, order=A_FIRST),
    "accuracy_ba": partial(accuracy_sums, order=B_FIRST),
    "accuracy_both_orders_right": both_right_sums,
    "accuracy_when_orders_agree": agreeing_accuracy_sums,
    "positional_agreement": positional_agreement_sums,
    "first_position_rate": first_position_sums,
}


def wrong_when_sound_sums(sound: npt.ArrayLike, verdict: npt.ArrayLike, gold: npt.ArrayLike) -> FloatArray:
    """Wrong verdicts, and verdicts, among judgments whose rationale was found sound.

    A verdict is wrong when it isn't the gold's, so also when it is a tie and the gold is none.

    sound   : (n_judgments,) 1 sound, 0 not, NaN where unmarked or disputed
    verdict : (n_judgments,); gold : (n_judgments,); both of -1, 0, +1, NaN for missing
    returns : (n_judgments, 2) of 0 and 1; a judgment that lacks any of the three adds nothing
    raises  : ShapeError if the lengths differ; UnknownValue for other values
    """
    is_sound, wrong, complete = _rationales(sound, verdict, gold)
    return counted_rows(is_sound & wrong & complete, is_sound & complete)


def sound_when_wrong_sums(sound: npt.ArrayLike, verdict: npt.ArrayLike, gold: npt.ArrayLike) -> FloatArray:
    """Sound rationales, and marked rationales, among wrong verdicts.

    Arguments, result and errors as for `wrong_when_sound_sums`.

    source : Jeong et al. 2025, The Comparative Trap, §3.3, where it is 64 of 100
    """
    is_sound, wrong, complete = _rationales(sound, verdict, gold)
    return counted_rows(is_sound & wrong & complete, wrong & complete)


def _agreeing(pairs: AgainstGold) -> BoolArray:
    """(n_pairs,) whether both orders gave one verdict. NaN equals nothing."""
    agreeing: BoolArray = pairs.verdict[:, A_FIRST] == pairs.verdict[:, B_FIRST]
    return agreeing


def _rationales(
    sound: npt.ArrayLike, verdict: npt.ArrayLike, gold: npt.ArrayLike
) -> tuple[BoolArray, BoolArray, BoolArray]:
    marks, verdicts, right = np.asarray(sound, dtype=np.float64), verdict_array(verdict), verdict_array(gold)
    check_columns(marks, verdicts, right)
    if not (np.isnan(marks) | np.isin(marks, [0.0, 1.0])).all():
        raise UnknownValue(f"marks are 1, 0 or NaN, got {np.unique(marks[~np.isnan(marks)])[:5].tolist()}")
    complete = ~(np.isnan(marks) | np.isnan(verdicts) | np.isnan(right))
    return marks == 1, verdicts != right, complete
