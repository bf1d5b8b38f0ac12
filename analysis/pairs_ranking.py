"""PairS: ranks items with a rater as the comparator of a merge sort, greedily or with a beam inside each merge.

The sort goes from the worst to the best, as published. A merge is a generator of comparisons, so that a caller with many
calls in flight can advance all merges of one level side by side.
"""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from analysis.errors import UnknownValue

Compare = Callable[[int, int], float]
Merge = Generator[tuple[int, int], float, list[int]]  # yields (i, j), is sent P(i is better), returns the worst first
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
    raises    : UnknownValue for a negative n, or a comparison that is no probability
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
    known: dict[tuple[int, int], float] = {}
    beam = [_Partial(0, 0, 0.0, 0, ())]
    for step in range(len(left) + len(right)):
        longer: list[_Partial] = []
        for partial in beam:
            heads = partial.left, partial.right
            if heads[0] < len(left) and heads[1] < len(right):
                if heads not in known:
                    known[heads] = yield left[heads[0]], right[heads[1]]
                both = _compared(partial, left, right, known[heads], prob_gap)
                longer += both if step else reversed(both)
            else:
                longer.append(_forced(partial, left, right))
        beam = sorted(longer, key=lambda partial: partial.mean, reverse=True)[:beam_size]
    return list(beam[0].taken)


def _compared(
    partial: _Partial, left: Sequence[int], right: Sequence[int], probability: float, prob_gap: float
) -> list[_Partial]:
    """Follow one side or both; the left list's head is worse with the probability that the right one is better."""
    found = []
    if not probability > 0.5 + prob_gap:
        mean = _mean(partial, 1 - probability)
        taken = (*partial.taken, left[partial.left])
        found.append(_Partial(partial.left + 1, partial.right, mean, partial.compared + 1, taken))
    if not 1 - probability > 0.5 + prob_gap:
        mean = _mean(partial, probability)
        taken = (*partial.taken, right[partial.right])
        found.append(_Partial(partial.left, partial.right + 1, mean, partial.compared + 1, taken))
    return found


def _forced(partial: _Partial, left: Sequence[int], right: Sequence[int]) -> _Partial:
    """Take the rest of the list that is left."""
    rest = (*left[partial.left :], *right[partial.right :])
    taken = (*partial.taken, *rest[:1])
    from_left = partial.left < len(left)
    return _Partial(partial.left + from_left, partial.right + (not from_left), partial.mean, partial.compared, taken)


def _mean(partial: _Partial, probability: float) -> float:
    n = partial.compared
    return partial.mean * n / (n + 1) + math.log(probability + SMALLEST) / (n + 1)


def _ranked(
    merge: Callable[[Sequence[int], Sequence[int]], Merge], compare: Compare, n: int, *, calibrate: bool
) -> list[int]:
    if n < 0:
        raise UnknownValue(f"cannot rank {n} items")

    def better(i: int, j: int) -> float:
        found = _probability(compare(i, j))
        return (found + 1 - _probability(compare(j, i))) / 2 if calibrate else found

    def ascending(items: list[int]) -> list[int]:
        if len(items) < 2:
            return items
        middle = len(items) // 2
        return _answered(merge(ascending(items[:middle]), ascending(items[middle:])), better)

    return ascending(list(range(n)))[::-1]


def _answered(merging: Merge, better: Compare) -> list[int]:
    try:
        asked = next(merging)
        while True:
            asked = merging.send(better(*asked))
    except StopIteration as done:
        merged: list[int] = done.value
        return merged


def _probability(value: float) -> float:
    if not 0 <= value <= 1:
        raise UnknownValue(f"a comparison gives a probability from 0 to 1, got {value}")
    return value
