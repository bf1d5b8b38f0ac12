"""Rankings of items with a rater as the comparator: PairS (merge sort, greedy or with a beam), Swiss pairing, and all pairs.

PairS sorts from the worst to the best, as published. Each ranking is also a generator of rounds of comparisons that do not wait
for one another, for a caller with many calls in flight: `merge_rounds`, `swiss_rounds`, `all_pairs_rounds`.
"""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from analysis.errors import UnknownValue
from analysis.ranking.bradley_terry import fit_win_matrices
from analysis.ranking.comparisons import WinMatrix
from analysis.types import FloatArray

Compare = Callable[[int, int], float]
Merge = Generator[tuple[int, int], float, list[int]]  # yields (i, j), is sent P(i is better), returns the worst first
Rounds = Generator[list[tuple[int, int]], list[float], list[int]]  # as a merge, several at once; returns the best first
Question = TypeVar("Question")
Answer = TypeVar("Answer")
SMALLEST = 1e-9  # added to probabilities before their logarithm


@dataclass(frozen=True)
class _Partial:
    """A partial merge: so many items taken from the left and from the right list.

    mean, compared : mean log-probability of its compared steps, and their number; forced steps count for nothing
    """

    left: int
    right: int
    mean: float
    compared: int
    taken: tuple[int, ...]


def pairs_greedy(compare: Compare, n: int, *, calibrate: bool = False) -> list[int]:
    """Rank n items by merge sort.

    compare   : compare(i, j) is the probability that item i is better, with i shown first; from 0 to 1
    calibrate : whether a comparison is the mean of both orders, (compare(i, j) + 1 - compare(j, i)) / 2
    returns   : the items, the best first; n log2 n comparisons at most. At a probability of exactly 1/2 the item of the
                right list is the better one
    raises    : UnknownValue for a negative n, or a comparison outside [0, 1]
    source    : Liu et al. 2024, Aligning with Human Judgement: The Role of Pairwise Preference in LLM Evaluators, §4.1
    """
    return _ranked(merge_greedy, compare, n, calibrate=calibrate)


def pairs_beam(compare: Compare, n: int, *, beam_size: int, prob_gap: float, calibrate: bool = False) -> list[int]:
    """Rank n items by merge sort with a beam search inside each merge.

    compare, calibrate : as for `pairs_greedy`
    beam_size          : partial merges kept: those with the highest mean log-probability of their compared steps
    prob_gap           : where |P - 1/2| is larger only the likelier side is followed, else both
    returns            : the items, the best first; a merge asks for no comparison twice
    raises             : UnknownValue, also for a beam of none or a negative gap
    source             : Liu et al. 2024, Aligning with Human Judgement, §4.2. Equal means keep the order in which they arose:
                         the left list's item first, at a merge's first step the right list's
    """
    if beam_size < 1 or not prob_gap >= 0:
        raise UnknownValue(f"need a beam of at least 1 and a gap of at least 0, got {beam_size} and {prob_gap}")

    def merge(left: Sequence[int], right: Sequence[int]) -> Merge:
        return merge_beam(left, right, beam_size=beam_size, prob_gap=prob_gap)

    return _ranked(merge, compare, n, calibrate=calibrate)


def all_pairs(compare: Compare, n: int, *, calibrate: bool = False) -> list[int]:
    """Rank n items by Bradley-Terry strengths of all n (n - 1) / 2 comparisons. A probability is a part of a win.

    compare, calibrate : as for `pairs_greedy`; the lower item is shown first
    returns            : the items, the best first; equal strengths keep the order of the items
    """
    better = _checked(compare, n, calibrate=calibrate)
    return _answered(all_pairs_rounds(n), lambda pairs: [better(*pair) for pair in pairs])


def swiss(compare: Compare, n: int, *, rounds: int | None = None, calibrate: bool = False) -> list[int]:
    """Rank n items by rounds in which items of like score meet, none twice.

    In each round the items are in the order of their points, and each meets the next one that it has not met; the one that
    is left over rests. In the end Bradley-Terry ranks them, since points depend on whom one met.

    compare, calibrate : as for `pairs_greedy`; the item that stands higher is shown first
    rounds             : log2 n, rounded up, when left out
    returns            : the items, the best first; equal strengths keep the order of the items
    raises             : as `pairs_greedy`, and UnknownValue for a negative number of rounds
    source             : the Swiss system of tournaments, as in Csató 2013, Ranking by pairwise comparisons for Swiss-system tournaments
    """
    if rounds is not None and rounds < 0:
        raise UnknownValue(f"a number of rounds is at least 0, got {rounds}")
    better = _checked(compare, n, calibrate=calibrate)
    return _answered(swiss_rounds(n, rounds), lambda pairs: [better(*pair) for pair in pairs])


def all_pairs_rounds(n: int) -> Rounds:
    """Rank as `all_pairs` does, in one round."""
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    points = np.zeros((n, n))
    _count(points, pairs, (yield pairs) if pairs else [])
    return _by_strength(points)


def swiss_rounds(n: int, rounds: int | None = None) -> Rounds:
    """Rank as `swiss` does."""
    points = np.zeros((n, n))
    met = np.eye(n, dtype=bool)
    for _ in range(max(n - 1, 0).bit_length() if rounds is None else rounds):
        unpaired = np.argsort(-points.sum(axis=1), kind="stable").tolist()
        pairs = []
        while unpaired:
            i = unpaired.pop(0)
            j = next((opponent for opponent in unpaired if not met[i, opponent]), None)
            if j is None:
                continue
            unpaired.remove(j)
            met[i, j] = met[j, i] = True
            pairs.append((i, j))
        if pairs:
            _count(points, pairs, (yield pairs))
    return _by_strength(points)


def merge_rounds(n: int, merge: Callable[[Sequence[int], Sequence[int]], Merge]) -> Rounds:
    """Rank by merge sort as `pairs_greedy` and `pairs_beam` do, all merges of one level of the sort side by side."""
    levels: list[list[tuple[int, int]]] = [[(0, n)]]  # ranges of items, each the merge of two of the next level
    while any(stop - start > 1 for start, stop in levels[-1]):
        halves = [((start, (start + stop) // 2), ((start + stop) // 2, stop)) for start, stop in _several(levels[-1])]
        levels.append([half for both in halves for half in both])
    ascending = {
        (start, stop): list(range(start, stop)) for level in levels for start, stop in level if stop - start < 2
    }
    for level in reversed(levels):
        merging = {
            (start, stop): merge(ascending[start, (start + stop) // 2], ascending[(start + stop) // 2, stop])
            for start, stop in _several(level)
        }
        waiting = {ranges: next(merge_of_ranges) for ranges, merge_of_ranges in merging.items()}
        while waiting:
            answers = yield list(waiting.values())
            answered_ranges, waiting = list(waiting), {}
            for ranges, answer in zip(answered_ranges, answers, strict=True):
                try:
                    waiting[ranges] = merging[ranges].send(answer)
                except StopIteration as done:
                    ascending[ranges] = done.value
    return ascending[0, n][::-1]


def _several(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(start, stop) for start, stop in ranges if stop - start > 1]


def _count(points: FloatArray, pairs: list[tuple[int, int]], answers: list[float]) -> None:
    """Give both items of each pair their parts of a win."""
    for (i, j), better in zip(pairs, answers, strict=True):
        points[i, j], points[j, i] = better, 1 - better


def merge_greedy(left: Sequence[int], right: Sequence[int]) -> Merge:
    """Merge two lists, the worst first: the less probable of their heads comes next."""
    merged: list[int] = []
    i = j = 0
    while i < len(left) and j < len(right):
        if (yield left[i], right[j]) > 0.5:
            merged.append(right[j])
            j += 1
        else:
            merged.append(left[i])
            i += 1
    return [*merged, *left[i:], *right[j:]]


def merge_beam(left: Sequence[int], right: Sequence[int], *, beam_size: int, prob_gap: float) -> Merge:
    """Merge two lists, the worst first, by the partial merges that are likeliest (see `pairs_beam`)."""
    probabilities: dict[tuple[int, int], float] = {}
    beam = [_Partial(0, 0, 0.0, 0, ())]
    for step in range(len(left) + len(right)):
        longer: list[_Partial] = []
        for partial in beam:
            heads = partial.left, partial.right
            if heads[0] < len(left) and heads[1] < len(right):
                if heads not in probabilities:
                    probabilities[heads] = yield left[heads[0]], right[heads[1]]
                both = _compared(partial, left, right, probabilities[heads], prob_gap)
                longer += both if step else reversed(both)
            else:
                longer.append(_forced(partial, left, right))
        beam = sorted(longer, key=lambda partial: partial.mean, reverse=True)[:beam_size]
    return list(beam[0].taken)


def _compared(
    partial: _Partial, left: Sequence[int], right: Sequence[int], probability: float, prob_gap: float
) -> list[_Partial]:
    """Follow one side or both. The left list's head is worse with the probability that the right one is better."""
    partials = []
    if not probability > 0.5 + prob_gap:
        mean = _mean(partial, 1 - probability)
        items = (*partial.taken, left[partial.left])
        partials.append(_Partial(partial.left + 1, partial.right, mean, partial.compared + 1, items))
    if not 1 - probability > 0.5 + prob_gap:
        mean = _mean(partial, probability)
        items = (*partial.taken, right[partial.right])
        partials.append(_Partial(partial.left, partial.right + 1, mean, partial.compared + 1, items))
    return partials


def _forced(partial: _Partial, left: Sequence[int], right: Sequence[int]) -> _Partial:
    """Take the rest of the list that is left."""
    tail = (*left[partial.left :], *right[partial.right :])
    items = (*partial.taken, *tail[:1])
    from_left = partial.left < len(left)
    return _Partial(partial.left + from_left, partial.right + (not from_left), partial.mean, partial.compared, items)


def _mean(partial: _Partial, probability: float) -> float:
    n = partial.compared
    return partial.mean * n / (n + 1) + math.log(probability + SMALLEST) / (n + 1)


def _ranked(
    merge: Callable[[Sequence[int], Sequence[int]], Merge], compare: Compare, n: int, *, calibrate: bool
) -> list[int]:
    better = _checked(compare, n, calibrate=calibrate)

    def ascending(items: list[int]) -> list[int]:
        if len(items) < 2:
            return items
        middle = len(items) // 2
        return _answered(merge(ascending(items[:middle]), ascending(items[middle:])), lambda pair: better(*pair))

    return ascending(list(range(n)))[::-1]


def _checked(compare: Compare, n: int, *, calibrate: bool) -> Compare:
    """Return the comparison with its probabilities checked, in both orders if it is calibrated."""
    if n < 0:
        raise UnknownValue(f"cannot rank {n} items")

    def better(i: int, j: int) -> float:
        probability = _probability(compare(i, j))
        return (probability + 1 - _probability(compare(j, i))) / 2 if calibrate else probability

    return better


def _by_strength(points: FloatArray) -> list[int]:
    strengths = fit_win_matrices(WinMatrix(points, np.zeros_like(points))).strengths
    best_first: list[int] = np.argsort(-np.nan_to_num(strengths).round(9), kind="stable").tolist()
    return best_first


def _answered(asking: Generator[Question, Answer, list[int]], answer: Callable[[Question], Answer]) -> list[int]:
    """Answer what a merge or a ranking asks, and return its result."""
    try:
        question = next(asking)
        while True:
            question = asking.send(answer(question))
    except StopIteration as done:
        result: list[int] = done.value
        return result


def _probability(value: float) -> float:
    if not 0 <= value <= 1:
        raise UnknownValue(f"a comparison gives a probability from 0 to 1, got {value}")
    return value
