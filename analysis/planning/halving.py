"""Choosing among candidates within a budget: a split by instance, and the sizes of rounds of successive halving."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.errors import NotEnough, UnknownValue
from analysis.types import IntArray, code_array


@dataclass(frozen=True)
class Round:
    """Candidates of a round, and instances that they have been tried on after it."""

    candidates: int
    instances: int


def split_instances(n: int, held_out: float, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Split instances at random into those to choose on and those held out.

    held_out : share of the instances, above 0 and below 1
    returns  : (n_chosen,), (n_held,) places in 0 … n - 1, in the order drawn; round(held_out * n) are held out
    raises   : UnknownValue for a share that leaves either part empty by itself
    """
    if not 0 < held_out < 1:
        raise UnknownValue(f"the share held out is above 0 and below 1, got {held_out}")
    order = rng.permutation(n).astype(np.int64)
    n_held = round(held_out * n)
    return order[n_held:], order[:n_held]


def halving_rounds(costs: npt.ArrayLike, candidates: int, budget: int, *, least: int) -> tuple[Round, ...]:
    """Plan rounds of successive halving: each tries the better half of the candidates on more instances.

    Where the budget lets all candidates try all instances there is one round: a grid. Else every round gets an equal part of the
    budget, of which it uses as much as whole instances take.

    costs      : (n_instances,) what one candidate costs on each instance, in the order in which they are used
    candidates : 2 or more
    budget     : for all rounds together, in the same unit
    least      : instances of the first round
    returns    : the rounds; the sum of new instances times candidates times costs is at most the budget
    raises     : NotEnough where the budget, or the instances, don't suffice for `least` in the first round
    source     : Karnin, Koren and Somekh 2013, Almost optimal exploration in multi-armed bandits (sequential halving)
    """
    cost = code_array("costs", costs)
    if candidates < 2 or least < 1:
        raise UnknownValue(f"need two candidates and one instance at least, got {candidates} and {least}")
    if len(cost) < least:
        raise NotEnough(f"{len(cost)} instances to choose on; {least} are needed")
    spent = np.concatenate([[0], np.cumsum(cost)])
    if candidates * int(spent[-1]) <= budget:
        return (Round(candidates, len(cost)),)
    number = math.ceil(math.log2(candidates))
    needed = least_budget(cost, candidates, least=least)
    if budget < needed:
        raise NotEnough(f"a budget of {budget} is too small for {candidates} candidates: {needed} is the least")
    rounds, before = [], 0
    for number_of_round in range(number):
        tried = math.ceil(candidates / 2**number_of_round)
        reach = int(np.searchsorted(spent, spent[before] + budget / number / tried, side="right")) - 1
        before = max(before, min(reach, len(cost)))
        rounds.append(Round(tried, before))
    return tuple(rounds)


def least_budget(costs: npt.ArrayLike, candidates: int, *, least: int) -> int:
    """Return the smallest budget with which each round of `halving_rounds` has its part, and the first one `least` instances."""
    cost = code_array("costs", costs)
    first = candidates * int(cost[:least].sum())
    return min(math.ceil(math.log2(candidates)) * first, candidates * int(cost.sum()))
