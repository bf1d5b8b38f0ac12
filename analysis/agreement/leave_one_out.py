"""Each vote against the other people's on the same pair, and a judge's verdict against the very same votes."""

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from analysis.agreement.confusion import Agreement
from analysis.errors import ShapeError
from analysis.grouping import groups, joint_codes
from analysis.intervals.bootstrap import quotient, ratio
from analysis.types import BoolArray, FloatArray, IntArray, code_array, verdict_array


@dataclass(frozen=True, eq=False)
class Votes:
    """People's votes as rows, for studies where units × people would be too large.

    unit, person : (n_votes,) codes from 0; a person has one vote on a unit
    verdict      : (n_votes,) of -1, 0, +1
    """

    unit: IntArray
    person: IntArray
    verdict: FloatArray
    n_units: int
    n_people: int


@dataclass(frozen=True, eq=False)
class VoteShares:
    """Per vote beside another person's, the share of the other people who gave it, and who gave the judge's verdict.

    unit, who     : (n,) unit and person of the vote; verdict : (n,) the vote, of -1, 0, +1
    person, judge : (n,) in [0, 1], 0 where `counted` is false
    counted       : (n,) whether the judge has a verdict on the unit
    equal         : (n,) 1 where a counted vote is the judge's verdict, else 0
    """

    unit: IntArray
    who: IntArray
    verdict: FloatArray
    person: FloatArray
    judge: FloatArray
    counted: BoolArray
    equal: FloatArray

    @property
    def without_judge(self) -> int:
        """Votes that are not counted because the judge has no verdict."""
        return int((~self.counted).sum())

    def at(self, rows: BoolArray) -> "VoteShares":
        """Return some of the votes."""
        return VoteShares(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


def votes_of(people: npt.ArrayLike | Votes) -> Votes:
    """Return votes as rows.

    people : `Votes`, or (n_units, n_people) of -1, 0, +1, NaN for missing
    raises : ShapeError, UnknownValue
    """
    if isinstance(people, Votes):
        return people
    votes = verdict_array(people)
    if votes.ndim != 2:
        raise ShapeError(f"need (n_units, n_people) votes, got shape {votes.shape}")
    unit, person = np.nonzero(~np.isnan(votes))
    return Votes(unit, person, votes[unit, person], *votes.shape)


def vote_shares(judge: npt.ArrayLike, people: npt.ArrayLike | Votes) -> VoteShares:
    """Compare each vote, and the judge's verdict in its place, with the other people's votes on the unit.

    judge   : (n_units,) of -1, 0, +1, NaN for missing; people : as for `votes_of`
    returns : `VoteShares`
    raises  : ShapeError, UnknownValue
    """
    verdict, votes = verdict_array(judge), votes_of(people)
    if verdict.shape != (votes.n_units,):
        raise ShapeError(f"need one verdict for each of {votes.n_units} units, got shape {verdict.shape}")
    vote = (votes.verdict + 1).astype(np.int64)
    counts = np.bincount(3 * votes.unit + vote, minlength=3 * votes.n_units).reshape(-1, 3)
    n_others = counts.sum(axis=1)[votes.unit] - 1
    accompanied = n_others > 0
    unit, vote, n_others = votes.unit[accompanied], vote[accompanied], n_others[accompanied]
    judged = verdict[unit]
    counted = ~np.isnan(judged)
    code = np.where(counted, judged + 1, 0).astype(np.int64)
    equal = counted & (code == vote)
    return VoteShares(
        unit=unit,
        who=votes.person[accompanied],
        verdict=votes.verdict[accompanied],
        person=np.where(counted, counts[unit, vote] - 1, 0) / n_others,
        judge=np.where(counted, counts[unit, code] - equal, 0) / n_others,
        counted=counted,
        equal=equal.astype(np.float64),
    )


def shares_by_instance(
    judge: npt.ArrayLike, people: npt.ArrayLike | Votes, instance: npt.ArrayLike
) -> tuple[VoteShares, IntArray]:
    """Return `vote_shares` and the instance of each unit as codes, or raise ShapeError."""
    votes, codes = votes_of(people), code_array("instance", instance)
    if codes.shape != (votes.n_units,):
        raise ShapeError(f"need one instance for each of {votes.n_units} units, got shape {codes.shape}")
    return vote_shares(judge, votes), codes


def shares_elsewhere(verdict: npt.ArrayLike, instance: npt.ArrayLike, group: npt.ArrayLike | None = None) -> FloatArray:
    """Share of the votes on other instances that are the same as each vote: what people's agreement would be by chance.

    As chance in Scott's π, the sum over verdicts of their squared shares, but that a vote meets none on its own instance,
    which would raise chance where there are few.

    verdict  : (n,) of -1, 0, +1; instance : (n,) integer codes
    group    : (n,) integer codes, such as of what A and B stand for; votes of other groups are not met. One when left out
    returns  : (n,) in [0, 1]; NaN where the group has no other instance
    raises   : ShapeError, UnknownValue
    source   : Scott 1955, Reliability of content analysis: the case of nominal scale coding, Public Opinion Quarterly 19
    """
    vote = (verdict_array(verdict) + 1).astype(np.int64)
    codes = code_array("instance", instance)
    _, kind = groups(np.zeros_like(codes) if group is None else code_array("group", group))
    _, cell = groups(joint_codes(kind, codes))
    of_cell, all_of_group = (
        np.bincount(3 * codes_of + vote, minlength=3 * (codes_of.max(initial=-1) + 1)).reshape(-1, 3)
        for codes_of in (cell, kind)
    )
    elsewhere = all_of_group[kind] - of_cell[cell]
    return quotient(elsewhere[np.arange(len(vote)), vote], elsewhere.sum(axis=1))


def leave_one_out_sums(people: npt.ArrayLike | Votes) -> FloatArray:
    """Sum of the shares of other people who gave a person's vote, and number of such votes, per unit, for `ratio`.

    people  : as for `votes_of`
    returns : (n_units, 2); a unit with fewer than two votes adds nothing
    raises  : ShapeError, UnknownValue
    """
    votes = votes_of(people)
    shares = vote_shares(np.zeros(votes.n_units), votes)  # any verdict will do: only that there is one matters
    columns = (np.bincount(shares.unit, weights, votes.n_units) for weights in (shares.person, shares.counted))
    return np.stack(list(columns), axis=1)


def leave_one_out_agreement(people: npt.ArrayLike | Votes) -> Agreement:
    """Mean over votes of the share of the other people who gave the same. A tie agrees with a tie only.

    Unlike `agreement.raw_agreement`, where a unit of m votes counts m (m - 1) / 2 times, it counts m times here, as it does
    in a judge's agreement with people (`agreement.votes_agreement`): so the two stand side by side.

    people  : as for `votes_of`
    returns : `Agreement` over votes; `left_out` counts votes that stand alone on their unit; NaN if all do
    raises  : ShapeError, UnknownValue
    source  : Calderon, Reichart and Dror 2025, The Alternative Annotator Test for LLM-as-a-Judge, §3 (accuracy)
    """
    votes = votes_of(people)
    sums = leave_one_out_sums(votes).sum(axis=0)
    return Agreement(float(ratio(sums)), int(sums[1]), len(votes.unit) - int(sums[1]))
