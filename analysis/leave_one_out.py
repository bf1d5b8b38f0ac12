"""Each vote against the other people's on the same pair, and a judge's verdict against the very same votes."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.agreement import VALUES, Agreement
from analysis.bootstrap import ratio
from analysis.errors import ShapeError
from analysis.types import BoolArray, FloatArray, IntArray, code_array, verdict_array


@dataclass(frozen=True, eq=False)
class VoteShares:
    """Per vote, the share of the other people who gave it, and who gave the judge's verdict.

    person, judge : (n_units, n_people) in [0, 1], 0 where `counted` is false
    counted       : (n_units, n_people) whether there is the vote, another person's, and the judge's verdict
    equal         : (n_units, n_people) 1 where a counted vote is the judge's verdict, else 0
    without_judge : votes beside others' that are not counted because the judge has no verdict
    """

    person: FloatArray
    judge: FloatArray
    counted: BoolArray
    equal: FloatArray
    without_judge: int


def vote_shares(judge: npt.ArrayLike, people: npt.ArrayLike) -> VoteShares:
    """Compare each vote, and the judge's verdict in its place, with the other people's votes on the unit.

    judge   : (n_units,); people : (n_units, n_people); both of -1, 0, +1, NaN for missing
    returns : `VoteShares`
    raises  : ShapeError, UnknownValue
    """
    verdict, votes = verdict_array(judge), verdict_array(people)
    if verdict.ndim != 1 or votes.ndim != 2 or len(verdict) != len(votes):
        raise ShapeError(f"need (n_units,) and (n_units, n_people), got {verdict.shape} and {votes.shape}")
    voted = ~np.isnan(votes)
    others = voted.sum(axis=1, keepdims=True) - voted
    beside = voted & (others > 0)
    counted = beside & ~np.isnan(verdict)[:, np.newaxis]
    same, as_judge = np.zeros(votes.shape), np.zeros(votes.shape)
    for value in VALUES:
        given = votes == value
        number = given.sum(axis=1, keepdims=True)
        same += np.where(given, number - 1, 0)
        as_judge += np.where((verdict == value)[:, np.newaxis], number - given, 0)
    room = np.where(counted, others, 1)
    return VoteShares(
        person=np.where(counted, same, 0) / room,
        judge=np.where(counted, as_judge, 0) / room,
        counted=counted,
        equal=(counted & (votes == verdict[:, np.newaxis])).astype(np.float64),
        without_judge=int(beside.sum() - counted.sum()),
    )


def shares_by_instance(
    judge: npt.ArrayLike, people: npt.ArrayLike, instance: npt.ArrayLike
) -> tuple[VoteShares, IntArray]:
    """`vote_shares`, and the instance of each unit as codes; raises ShapeError unless there is one for each."""
    shares, codes = vote_shares(judge, people), code_array("instance", instance)
    if codes.shape != shares.counted.shape[:1]:
        raise ShapeError(f"need one instance for each of {len(shares.counted)} units, got shape {codes.shape}")
    return shares, codes


def leave_one_out_sums(people: npt.ArrayLike) -> FloatArray:
    """Sum of the shares of other people who gave a person's vote, and number of such votes, per unit, for `ratio`.

    people  : (n_units, n_people) of -1, 0, +1, NaN for missing
    returns : (n_units, 2); a unit with fewer than two votes adds nothing
    raises  : ShapeError, UnknownValue
    """
    votes = verdict_array(people)
    shares = vote_shares(np.zeros(votes.shape[:1]), votes)  # any verdict will do: only that there is one matters
    return np.stack([shares.person.sum(axis=1), shares.counted.sum(axis=1)], axis=1).astype(np.float64)


def leave_one_out_agreement(people: npt.ArrayLike) -> Agreement:
    """Mean over votes of the share of the other people who gave the same; a tie agrees with a tie only.

    Unlike `agreement.raw_agreement`, where a unit of m votes counts m (m - 1) / 2 times, it counts m times here, as it does
    in a judge's agreement with people (`agreement.votes_agreement`): so the two stand side by side.

    people  : (n_units, n_people) of -1, 0, +1, NaN for missing
    returns : `Agreement` over votes; `left_out` counts votes that stand alone on their unit; NaN if all do
    raises  : ShapeError, UnknownValue
    source  : Calderon, Reichart and Dror 2025, The Alternative Annotator Test for LLM-as-a-Judge, §3 (accuracy)
    """
    sums = leave_one_out_sums(people).sum(axis=0)
    votes = int((~np.isnan(verdict_array(people))).sum())
    return Agreement(float(ratio(sums)), int(sums[1]), votes - int(sums[1]))
