"""Juries: one verdict for each unit of several judges' verdicts, and how many independent votes these are worth."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from analysis.agreement.coefficients import VALUES, majority_of_counts
from analysis.agreement.dawid_skene import SHARED, dawid_skene
from analysis.errors import ShapeError, UnknownValue
from analysis.grouping import groups
from analysis.intervals.bootstrap import cluster_sums
from analysis.types import FloatArray, IntArray, code_array, verdict_array

MAJORITY, WEIGHTED, DAWID_SKENE = RULES = ("majority", "weighted", "dawid-skene")
# Members; of two, Dawid and Skene's model can't tell which one errs.
FEWEST = {
    MAJORITY: 2,
    WEIGHTED: 2,
    DAWID_SKENE: 3,
}
TOLERANCE = 1e-6  # of probabilities, as in findings
TIE = 1  # place in `VALUES`


@dataclass(frozen=True, eq=False)
class JuryUnits:
    """Units (pairs) with the verdicts of a jury's members and people's votes.

    votes    : (n_units, n_members) of -1, 0, +1; NaN where a member abstains
    people   : (n_units, 3) numbers of people's votes for -1, 0, +1
    instance : (n_units,) integer codes
    group    : (n_units,) integer codes of what A and B stand for; prevalences are estimated within a group
    raises   : ShapeError, UnknownValue
    """

    votes: FloatArray
    people: FloatArray
    instance: IntArray
    group: IntArray

    def __post_init__(self) -> None:
        columns = {
            "votes": verdict_array(self.votes),
            "people": np.asarray(self.people, dtype=np.float64),
            "instance": code_array("instance", self.instance),
            "group": code_array("group", self.group),
        }
        n = columns["votes"].shape[:1]
        if columns["votes"].ndim != 2 or columns["people"].shape != (*n, 3):
            raise ShapeError(
                f"need (n, members) votes and (n, 3) people, got {columns['votes'].shape}, {columns['people'].shape}"
            )
        if not columns["instance"].shape == columns["group"].shape == n:
            raise ShapeError(f"need an instance and a group for each of {n[0]} units")
        if not (columns["people"] >= 0).all():
            raise UnknownValue("numbers of people's votes are not negative")
        for name, column in columns.items():
            object.__setattr__(self, name, column)

    def without(self, member: int) -> "JuryUnits":
        """Return the units before a jury that lacks one member."""
        return replace(self, votes=np.delete(self.votes, member, axis=1))


def member_table(keys: Sequence[IntArray], verdicts: Sequence[FloatArray]) -> tuple[IntArray, FloatArray]:
    """Lay the verdicts of members, each on units of its own, side by side.

    keys     : for each member (n,) codes of units, each once; verdicts : for each member (n,)
    returns  : (n_units,) all codes, ascending; (n_units, n_members) verdicts, NaN where a member has none
    """
    units = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *keys]))
    table = np.full((len(units), len(keys)), np.nan)
    for column, (key, verdict) in enumerate(zip(keys, verdicts, strict=True)):
        table[np.searchsorted(units, key), column] = verdict
    return units, table


def vote_counts(units: IntArray, key: IntArray, verdict: FloatArray) -> FloatArray:
    """Count people's votes on each unit.

    units   : (n_units,) codes, ascending; key, verdict : (n_votes,) code of the unit and vote; votes elsewhere count nowhere
    returns : (n_units, 3) numbers of votes for -1, 0, +1
    """
    counts = np.zeros((len(units), 3))
    inside = np.isin(key, units)
    np.add.at(counts, (np.searchsorted(units, key[inside]), (verdict[inside] + 1).astype(np.int64)), 1)
    return counts


def jury_verdicts(units: JuryUnits, rule: str) -> FloatArray:
    """Return a jury's verdict on each unit.

    rule    : `majority`: most votes; `weighted`: votes weighted by `member_weights`; `dawid-skene`: the likeliest verdict
              of `analysis.agreement.dawid_skene`. Where the first place is shared, the verdict is a tie
    returns : (n_units,) of -1, 0, +1; NaN where every member abstains, or none that votes has a weight
    raises  : UnknownValue for another rule
    """
    if rule == MAJORITY:
        return majority_verdicts(units.votes)
    if rule == WEIGHTED:
        return weighted_verdicts(units.votes, member_weights(units))
    if rule == DAWID_SKENE:
        return _likeliest(units)
    raise UnknownValue(f"a jury's rule is one of {', '.join(RULES)}, got {rule!r}")


def majority_verdicts(votes: npt.ArrayLike) -> FloatArray:
    """Return the verdict with the most votes on each unit. A shared first place is a tie.

    votes   : (n_units, n_members) of -1, 0, +1; NaN abstains
    returns : (n_units,); NaN where all abstain
    """
    verdicts = verdict_array(votes)
    return weighted_verdicts(verdicts, np.ones_like(verdicts))


def weighted_verdicts(votes: npt.ArrayLike, weights: npt.ArrayLike) -> FloatArray:
    """Return the verdict with the largest sum of weights. A shared first place is a tie.

    votes   : (n_units, n_members) of -1, 0, +1; NaN abstains
    weights : the same shape; may be negative; NaN: the member abstains
    returns : (n_units,); NaN where all abstain
    raises  : ShapeError, UnknownValue
    """
    verdicts, weight = verdict_array(votes), np.asarray(weights, dtype=np.float64)
    if verdicts.ndim != 2 or weight.shape != verdicts.shape:
        raise ShapeError(f"need (n, members) votes and weights, got {verdicts.shape} and {weight.shape}")
    counts = (verdicts[:, :, np.newaxis] == VALUES) & ~np.isnan(weight)[:, :, np.newaxis]
    sums = np.where(counts, weight[:, :, np.newaxis], 0.0).sum(axis=1)
    return _first_place(np.where(counts.any(axis=1), sums, -np.inf))


def member_weights(units: JuryUnits) -> FloatArray:
    """Return each member's weight on each unit: the log-odds of agreeing with a person's vote, on other instances only.

    With k of n votes on other instances equal to the member's verdict there, log((k + 1/2) / (n - k + 1/2)): finite even
    where all or none agree. No vote on the unit's own instance has a part in it.

    returns : (n_units, n_members); NaN for a member without a verdict beside a vote on another instance
    source  : Nitzan and Paroush 1982, Optimal decision rules in uncertain dichotomous choice situations (log-odds weights);
              Haldane 1956, The estimation and significance of the logarithm of a ratio of frequencies (the halves)
    """
    cast = units.people.sum(axis=1, keepdims=True)
    voted = ~np.isnan(units.votes)
    column = np.where(voted, units.votes + 1, 0).astype(np.int64)
    equal = np.where(voted, np.take_along_axis(units.people, column, axis=1), 0.0)
    sums = np.stack([equal, np.where(voted, cast, 0.0)], axis=2)
    instances, of = groups(units.instance)
    by_instance = np.zeros((len(instances), *sums.shape[1:]))
    np.add.at(by_instance, of, sums)
    agreed, votes = np.moveaxis((by_instance.sum(axis=0) - by_instance)[of], 2, 0)
    return np.where(votes > 0, np.log((agreed + 0.5) / (votes - agreed + 0.5)), np.nan)


def error_sums(units: JuryUnits) -> FloatArray:
    """Return what correlations of errors are made of, summed by instance.

    A member errs where its verdict is not the majority of people's votes; units without a majority count for nothing.

    returns : (n_instances, n_members, n_members, 4): units on which both have a verdict, errors of the first, of the second,
              of both; only instances with a majority
    """
    majority = majority_of_counts(units.people)
    rows = ~np.isnan(majority)
    votes = units.votes[rows]
    voted = (~np.isnan(votes)).astype(np.float64)
    wrong = voted * (votes != majority[rows, np.newaxis])
    both = voted[:, :, np.newaxis] * voted[:, np.newaxis, :]
    first, second = wrong[:, :, np.newaxis] * both, wrong[:, np.newaxis, :] * both
    return cluster_sums(np.stack([both, first, second, first * second], axis=3), units.instance[rows])


def mean_error_correlation(sums: FloatArray) -> FloatArray:
    """Return the mean over pairs of members of the correlation (phi) of their errors.

    sums    : (..., n_members, n_members, 4) of `error_sums`
    returns : (...); NaN where no two members both err on some of their units and not on others
    """
    n, first, second, both = np.moveaxis(sums, -1, 0)
    spread = np.sqrt(np.maximum(first * (n - first), 0) * np.maximum(second * (n - second), 0))
    pairs = np.triu(np.ones(n.shape[-2:], dtype=bool), k=1)
    counts = pairs & (spread > 0)
    phi = np.divide(n * both - first * second, spread, out=np.zeros_like(n), where=counts)
    number = counts.sum(axis=(-2, -1))
    total = np.where(counts, phi, 0.0).sum(axis=(-2, -1))
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def effective_members(correlation: float, members: int) -> float:
    """Return how many independent members a jury is worth: n / (1 + (n - 1) rho).

    Errors that correlate negatively are worth more than n; NaN where the denominator is not above 0.

    source : Kish 1965, Survey Sampling, §5.4 (the design effect of a cluster)
    """
    effect = 1 + (members - 1) * correlation
    return members / effect if effect > 0 else float("nan")


def _likeliest(units: JuryUnits) -> FloatArray:
    if np.isnan(units.votes).all():
        return np.full(len(units.votes), np.nan)
    estimate = dawid_skene(units.votes, group=groups(units.group)[1], tolerance=TOLERANCE)
    return _first_place(np.where(np.isnan(estimate.posterior), -np.inf, estimate.posterior))


def _first_place(scores: FloatArray) -> FloatArray:
    """Return the verdict of the highest score. A tie if it is shared, NaN without any."""
    best = scores.max(axis=1, initial=-np.inf)
    decided = np.isfinite(best)
    shared = (scores >= np.where(decided, best - SHARED, 0.0)[:, np.newaxis]).sum(axis=1) > 1
    verdict = VALUES[np.where(shared, TIE, scores.argmax(axis=1))] if len(scores) else np.empty(0)
    return np.where(decided, verdict, np.nan)
