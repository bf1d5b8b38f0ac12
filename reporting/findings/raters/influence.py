"""The influence of each person on the rankings, by leaving out their votes."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from analysis.intervals.bootstrap import ratio
from analysis.ranking import WinMatrix, fit_win_matrices, rating
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.reasons import Reason
from reporting.findings.data.vote_table import VoteTable
from reporting.findings.reasons import NOBODY_ELSE, NOT_CONNECTED

BLOCK_CELLS = 2**20  # of win matrices that are fitted together
EQUAL = 1e-9  # values that differ by less share a rank


def influences(votes: VoteTable) -> list[dict[str, Any]]:
    """Return, for each person, the largest change of a system's win rate, Bradley-Terry rating and rank without them.

    A change is the value without the person less that with them. Ratings are on Elo's scale, where more than two
    systems are compared; ranks are those of the ratings, and of the win rates of two systems.
    """
    n = len(votes.systems)
    total = _matrices(votes, np.zeros(len(votes.person), dtype=np.int64), 1)
    fits = fit_win_matrices(total) if n > 2 else None
    results: list[dict[str, Any]] = []
    for own in _by_person(votes):
        without_own = WinMatrix(total.won - own.won, total.tied - own.tied)
        rates = _changes(_win_rates(without_own), _win_rates(total), votes.systems, NOBODY_ELSE)
        if fits is None:
            ranks = _rank_changes(_win_rates(without_own), _win_rates(total), votes.systems, "win_rate", NOBODY_ELSE)
            results += [{"win_rate": rate, "rank": rank} for rate, rank in zip(rates, ranks, strict=True)]
            continue
        without = fit_win_matrices(without_own)
        same = (without.component == fits.component).all(axis=1)
        before, after = rating(fits.strengths), np.where(same[:, np.newaxis], rating(without.strengths), np.nan)
        strengths = _changes(after, before, votes.systems, NOT_CONNECTED)
        ranks = _rank_changes(after, before, votes.systems, "bradley_terry", NOT_CONNECTED, fits.component)
        results += [
            {"win_rate": rate, "bradley_terry": strength, "rank": rank}
            for rate, strength, rank in zip(rates, strengths, ranks, strict=True)
        ]
    return results


def _by_person(votes: VoteTable) -> Iterator[WinMatrix]:
    """Yield the win matrices of blocks of persons, in the order of their codes."""
    size = max(1, BLOCK_CELLS // len(votes.systems) ** 2) if votes.systems else 1
    order = np.argsort(votes.person, kind="stable")
    starts = range(0, len(votes.people), size)
    bounds = np.searchsorted(votes.person[order], [*starts, len(votes.people)])
    for number, start in enumerate(starts):
        rows = order[bounds[number] : bounds[number + 1]]
        yield _matrices(votes, votes.person - start, min(size, len(votes.people) - start), rows)


def _matrices(votes: VoteTable, round_: IntArray, rounds: int, rows: IntArray | slice = slice(None)) -> WinMatrix:
    """Sum votes by round: (rounds, n, n)."""
    n = len(votes.systems)
    configuration, verdict, of_round = votes.configuration[votes.unit[rows]], votes.verdict[rows], round_[rows]
    a, b = votes.system_a[configuration], votes.system_b[configuration]

    def summed(first: IntArray, second: IntArray, is_selected: BoolArray) -> FloatArray:
        cells = (of_round * n + first) * n + second
        sums = np.bincount(cells, weights=is_selected, minlength=rounds * n * n)
        return sums.astype(np.float64).reshape(rounds, n, n)

    tied = summed(a, b, verdict == 0)
    return WinMatrix(
        won=summed(a, b, verdict == -1) + summed(b, a, verdict == 1), tied=tied + np.swapaxes(tied, -1, -2)
    )


def _win_rates(matrix: WinMatrix) -> FloatArray:
    return ratio(np.stack([matrix.points.sum(axis=-1), matrix.played.sum(axis=-1)], axis=-1))


def _changes(without: FloatArray, total: FloatArray, systems: tuple[str, ...], why: Reason) -> list[dict[str, Any]]:
    """Return the largest change of a system in each row, and why there is none: a system has no value without them."""
    moved = without - total
    lost: BoolArray = np.any(np.isnan(without) & ~np.isnan(total), axis=1)
    sizes = np.where(np.isnan(moved), -1.0, np.abs(moved).round(12))  # of two mirrored changes the first system's
    largest = sizes.argmax(axis=1).tolist() if systems else []
    return [
        {"change": None, "system": None, **why.as_json()}
        if gone or np.isnan(row[index])
        else {"change": float(row[index]) + 0.0, "system": systems[index]}
        for row, index, gone in zip(moved, largest, lost.tolist(), strict=True)
    ]


def _rank_changes(
    without: FloatArray,
    total: FloatArray,
    systems: tuple[str, ...],
    by: str,
    why: Reason,
    component: IntArray | None = None,
) -> list[dict[str, Any]]:
    together = np.ones((len(systems),) * 2, dtype=bool) if component is None else component == component.T
    changes = _changes(_ranks(without, together), _ranks(total, together), systems, why)
    return [
        {**change, "by": by, "change": None if change["change"] is None else int(change["change"])}
        for change in changes
    ]


def _ranks(values: FloatArray, together: BoolArray) -> FloatArray:
    """(rounds, n) one more than the number of better systems among those that compare, or NaN for one without a value."""
    better = (values[:, np.newaxis, :] > values[:, :, np.newaxis] + EQUAL) & together
    return np.where(np.isnan(values), np.nan, 1.0 + better.sum(axis=2))
