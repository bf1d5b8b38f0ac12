"""A run's figures on its judge: position bias, length bias, self-agreement, negation invariance."""

from dataclasses import dataclass

import numpy as np

from analysis.bias.length import EXCESS, longer_by_excess, longer_sums
from analysis.logic.verdicts import (
    FIRST,
    MIXED,
    SAME,
    SECOND,
    first_sums,
    negation_sums,
    order_sums,
    self_agreement_sums,
)
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.questions.questions import MAIN
from judging.core.proportions import Proportion, proportion
from judging.models import JudgeRun
from judging.outcomes.judgments import RunCells, cells_of


@dataclass(frozen=True)
class Orders:
    """Pairs that were judged in both orders, by outcome. `agreement` is the share with the same verdict."""

    agreement: Proportion
    same: int
    first: int
    second: int
    mixed: int


@dataclass(frozen=True)
class LengthBin:
    """Verdicts on pairs whose longer text is longer by more than `low` and at most `high` percent. `None`: no limit."""

    low: int
    high: int | None
    longer: int
    decided: int

    @property
    def value(self) -> float | None:
        """Share of verdicts for the longer text."""
        return self.longer / self.decided if self.decided else None


@dataclass(frozen=True)
class RunFigures:
    """The figures of one run on one question, or `None` for what was not asked.

    Position and length use the first repeat of the plain question, as findings do.
    """

    first: Proportion | None
    longer: Proportion
    length_bins: tuple[LengthBin, ...]
    orders: Orders | None
    self_agreement: Proportion | None
    negation: Proportion | None


def figures_of(run: JudgeRun, *, question: int = MAIN) -> RunFigures:
    """Compute a run's figures on one question, in two queries whatever its size."""
    cells = cells_of(run, question=question)
    counted = ~cells.negated & (cells.repeat == 0)
    verdict = cells.verdict[counted]
    lengths = cells.length_a[counted], cells.length_b[counted]
    parsed = int((~np.isnan(verdict)).sum())
    first, longer = first_sums(verdict, cells.first_is_a[counted]), longer_sums(verdict, *lengths)
    instance = cells.instance[counted]
    edges = [0, *(None if np.isinf(edge) else round(100 * edge) for edge in EXCESS)]
    bins = zip(edges, edges[1:], longer_by_excess(verdict, *lengths), strict=False)
    return RunFigures(
        first=None if run.judge.is_jury else proportion(first, instance, left_out=parsed - int(first[:, 1].sum())),
        longer=proportion(longer, instance, left_out=parsed - int(longer[:, 1].sum())),
        length_bins=tuple(LengthBin(low or 0, high, int(won), int(decided)) for low, high, (won, decided) in bins),
        orders=_orders(cells, counted),
        self_agreement=_self_agreement(cells),
        negation=_negation(cells),
    )


def _orders(cells: RunCells, counted: BoolArray) -> Orders | None:
    """Compare the two orders of each pair, or `None` if no pair was asked in both."""
    table, instance = _side_by_side(cells, counted, [cells.pair], (~cells.first_is_a).astype(np.int64), 2)
    asked_twice = np.bincount(np.unique(cells.pair[counted], return_inverse=True)[1], minlength=len(table)) > 1
    if not asked_twice.any():
        return None
    sums = order_sums(table[:, 0], table[:, 1])
    kinds = sums.sum(axis=0).astype(int)
    of_pairs = np.stack([sums[:, SAME], sums.sum(axis=1)], axis=1)
    agreement = proportion(of_pairs, instance, left_out=int(asked_twice.sum() - kinds.sum()))
    return Orders(agreement, *(int(kinds[kind]) for kind in (SAME, FIRST, SECOND, MIXED)))


def _self_agreement(cells: RunCells) -> Proportion | None:
    """Compare the repeats of each plain presentation, or `None` if none was repeated."""
    plain = ~cells.negated
    repeats = int(cells.repeat[plain].max(initial=0)) + 1
    if repeats < 2:
        return None
    table, instance = _side_by_side(cells, plain, [cells.pair, cells.first_is_a], cells.repeat, repeats)
    sums = self_agreement_sums(table)
    count = int((~np.isnan(table)).sum())
    return proportion(sums, instance, left_out=count - int(sums[:, 1].sum()))


def _negation(cells: RunCells) -> Proportion | None:
    """Compare the plain and the negated question on each presentation, or `None` if none was negated."""
    if not cells.negated.any():
        return None
    everything = np.ones(len(cells.pair), dtype=bool)
    keys = [cells.pair, cells.first_is_a, cells.repeat]
    table, instance = _side_by_side(cells, everything, keys, cells.negated.astype(np.int64), 2)
    sums = negation_sums(table[:, 0], table[:, 1])
    count = int((~np.isnan(table)).any(axis=1).sum())
    return proportion(sums, instance, left_out=count - int(sums[:, 1].sum()))


def _side_by_side(
    cells: RunCells, is_selected: BoolArray, keys: list[np.ndarray], column: IntArray, width: int
) -> tuple[FloatArray, IntArray]:
    """Pivot the chosen verdicts into one row per unit (same `keys`) and return the units' instances too."""
    rows = np.stack([key[is_selected].astype(np.int64) for key in keys], axis=1)
    units, at, row = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    table = np.full((len(units), width), np.nan)
    table[row.reshape(-1), column[is_selected]] = cells.verdict[is_selected]
    return table, cells.instance[is_selected][at]
