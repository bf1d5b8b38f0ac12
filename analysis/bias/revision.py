"""The effect of a comparison table on people: votes before and after it, how they change, and how long they take.

A decision is a first vote on a pair and the second one after the table (or after none). Each measure is a ratio of
sums, one row of (numerator, denominator) per decision: summed per instance they go into `analysis.intervals.bootstrap`. The sums
of two arms go side by side (`joint_sums`, `difference`), since an instance may have decisions in both: a round then
draws it for both or for neither. A decision that lacks one of its votes enters no number.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError, UnknownValue
from analysis.intervals.bootstrap import cluster_sums, counted_rows, ratio
from analysis.types import BoolArray, FloatArray, IntArray, check_columns, code_array, verdict_array, verdict_columns

RIGHT, TIE, WRONG = 1.0, 0.0, -1.0  # scores
CHANGES = {
    "wrong_to_right": (WRONG, RIGHT),
    "tie_to_right": (TIE, RIGHT),
    "wrong_to_tie": (WRONG, TIE),
    "right_to_tie": (RIGHT, TIE),
    "tie_to_wrong": (TIE, WRONG),
    "right_to_wrong": (RIGHT, WRONG),
    "wrong_to_wrong": (WRONG, WRONG),  # from A to B, or back, where the gold is a tie
}
UNCHANGED = "unchanged"
MOVES = ("kept", "reversed", "to_tie", "from_tie")


@dataclass(frozen=True, eq=False)
class Decisions:
    """Votes before and after a table, in study order, one row per decision.

    before, after : (n,) -1 A, 0 tie, +1 B; NaN where there is none
    gold          : (n,) which is known to be better, 0 neither; NaN where it is unknown
    implied       : (n,) the verdict of the judge that made the shown table, with it; NaN without a table or a verdict
    raises        : ShapeError if the columns are not 1-D and of one length; UnknownValue for other values
    """

    before: FloatArray
    after: FloatArray
    gold: FloatArray = None  # type: ignore[assignment]  # filled below, so readers always see an array
    implied: FloatArray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        unknown = np.full(np.shape(self.before), np.nan)
        gold, implied = (unknown if column is None else column for column in (self.gold, self.implied))
        columns = verdict_columns(self.before, self.after, gold, implied)
        for name, column in zip(("before", "after", "gold", "implied"), columns, strict=True):
            object.__setattr__(self, name, column)

    def __len__(self) -> int:
        return len(self.before)

    def of(self, rows: npt.ArrayLike) -> "Decisions":
        """Return the decisions of these rows: a mask or indices."""
        index = np.asarray(rows)
        return Decisions(self.before[index], self.after[index], self.gold[index], self.implied[index])

    @property
    def complete(self) -> BoolArray:
        """(n,) whether both votes are there."""
        return ~np.isnan(self.before) & ~np.isnan(self.after)

    @property
    def scored(self) -> BoolArray:
        """(n,) whether both votes are there, and a gold to hold them against."""
        return self.complete & ~np.isnan(self.gold)

    @property
    def changed(self) -> BoolArray:
        """(n,) whether both votes are there and differ."""
        differ: BoolArray = self.before != self.after
        return self.complete & differ


Sums = Callable[[Decisions], FloatArray]


def score(vote: npt.ArrayLike, gold: npt.ArrayLike) -> FloatArray:
    """Score votes: 1 for the gold's, 0 for a tie that isn't, -1 for any other.

    So where the gold is a tie, a tie is right and has 1, and both others have -1.

    vote, gold : (n,) of -1, 0, +1, NaN for missing
    returns    : (n,) of -1, 0, 1; NaN where either is missing
    raises     : ShapeError if the lengths differ; UnknownValue for other values
    source     : Predicting Text Preference Via Structured Comparative Reasoning, §6.5
    """
    votes, right = verdict_columns(vote, gold)
    scores = np.where(votes == right, RIGHT, np.where(votes == 0, TIE, WRONG))
    return np.where(np.isnan(votes) | np.isnan(right), np.nan, scores)


def score_before_sums(decisions: Decisions) -> FloatArray:
    """Score of the first vote, and whether the decision is scored.

    returns : (n, 2)
    """
    return counted_rows(score(decisions.before, decisions.gold), decisions.scored)


def score_after_sums(decisions: Decisions) -> FloatArray:
    """Score of the second vote, and whether the decision is scored.

    returns : (n, 2)
    """
    return counted_rows(score(decisions.after, decisions.gold), decisions.scored)


def score_change_sums(decisions: Decisions) -> FloatArray:
    """Score of the second vote less that of the first, and whether the decision is scored.

    returns : (n, 2); numerators from -2 to 2
    """
    change = score(decisions.after, decisions.gold) - score(decisions.before, decisions.gold)
    return counted_rows(change, decisions.scored)


def change_sums(decisions: Decisions, kind: str) -> FloatArray:
    """Decisions with this change of score, and scored decisions. The kinds (with `unchanged`) add up to all.

    A tie that is right is `right`, not `tie`: with a tie for gold, A → tie is `wrong_to_right`.

    kind    : one of `CHANGES`, or `unchanged`: the very same vote
    returns : (n, 2) of 0 and 1
    raises  : UnknownValue for another kind
    source  : Predicting Text Preference Via Structured Comparative Reasoning, §6.5
    """
    if kind == UNCHANGED:
        return counted_rows(~decisions.changed, decisions.scored)
    if kind not in CHANGES:
        raise UnknownValue(f"changes are {', '.join((*CHANGES, UNCHANGED))}, got {kind!r}")
    before, after = CHANGES[kind]
    went = (score(decisions.before, decisions.gold) == before) & (score(decisions.after, decisions.gold) == after)
    return counted_rows(decisions.changed & went, decisions.scored)


def move_sums(decisions: Decisions, kind: str) -> FloatArray:
    """Decisions with this change of vote, and all decisions. Needs no gold, and the kinds add up to all.

    kind    : `kept`, `reversed` (A to B or back), `to_tie` or `from_tie`
    returns : (n, 2) of 0 and 1
    raises  : UnknownValue for another kind
    """
    if kind not in MOVES:
        raise UnknownValue(f"moves are {', '.join(MOVES)}, got {kind!r}")
    went = {
        "kept": ~decisions.changed,
        "reversed": decisions.before * decisions.after == -1,
        "to_tie": decisions.changed & (decisions.after == 0),
        "from_tie": decisions.changed & (decisions.before == 0),
    }[kind]
    return counted_rows(went, decisions.complete)


def revised_sums(decisions: Decisions) -> FloatArray:
    """Changed votes, and decisions.

    returns : (n, 2) of 0 and 1
    """
    return counted_rows(decisions.changed, decisions.complete)


def towards_sums(decisions: Decisions) -> FloatArray:
    """Changed votes that moved towards the table's verdict, and changed votes with a table whose verdict is known.

    Votes lie on a line, A – tie – B: from A to tie is nearer to B. From A to B is neither nearer to a tie nor farther.

    returns : (n, 2) of 0 and 1
    """
    return counted_rows(_approach(decisions) > 0, _changed_beside_verdict(decisions))


def away_sums(decisions: Decisions) -> FloatArray:
    """Changed votes that moved away from the table's verdict, and changed votes with a table whose verdict is known.

    returns : (n, 2) of 0 and 1
    """
    return counted_rows(_approach(decisions) < 0, _changed_beside_verdict(decisions))


def reached_sums(decisions: Decisions) -> FloatArray:
    """Second votes equal to the table's verdict, and decisions whose first vote was another one.

    returns : (n, 2) of 0 and 1
    """
    open_to = decisions.complete & ~np.isnan(decisions.implied) & (decisions.before != decisions.implied)
    return counted_rows(decisions.after == decisions.implied, open_to)


SCORES: dict[str, Sums] = {
    "score_before": score_before_sums,
    "score_after": score_after_sums,
    "score_change": score_change_sums,
}
BY_CHANGE: dict[str, Sums] = {kind: partial(change_sums, kind=kind) for kind in (*CHANGES, UNCHANGED)}
BY_MOVE: dict[str, Sums] = {kind: partial(move_sums, kind=kind) for kind in MOVES}
BY_TABLE: dict[str, Sums] = {
    "towards_table": towards_sums,
    "away_from_table": away_sums,
    "reached_table": reached_sums,
}


def agreement_with_others(
    vote: npt.ArrayLike,
    pair: npt.ArrayLike,
    rater: npt.ArrayLike,
    *,
    first: npt.ArrayLike,
    first_pair: npt.ArrayLike,
    first_rater: npt.ArrayLike,
) -> FloatArray:
    """Share of the other people's first votes on the same pair that equal a vote, for each vote.

    Both a first and a second vote are compared with the others' *first* votes, which no table has influenced. A tie
    equals a tie only.

    vote, pair, rater              : (n,) votes (NaN for missing), codes of pair and person
    first, first_pair, first_rater : (m,) all raters' first votes, the voters' own among them
    returns                        : (n,) in [0, 1]; NaN without a vote, or without another rater's vote
    raises                         : ShapeError if columns differ in length; UnknownValue for other votes or codes
    """
    votes, pairs, raters = _columns(vote, pair, rater)
    firsts, first_pairs, first_raters = _columns(first, first_pair, first_rater)
    present = ~np.isnan(firsts)
    firsts, first_pairs, first_raters = firsts[present], first_pairs[present], first_raters[present]
    _, of_pair = np.unique(np.concatenate([pairs, first_pairs]), return_inverse=True)
    _, of_rater = np.unique(np.concatenate([raters, first_raters]), return_inverse=True)
    own = of_pair * (int(of_rater.max(initial=0)) + 1) + of_rater
    sums_of_others = _equal_and_all(votes, of_pair, firsts) - _equal_and_all(votes, own, firsts)
    return np.where(np.isnan(votes), np.nan, ratio(sums_of_others))


def joint_sums(
    rows: npt.ArrayLike, clusters: npt.ArrayLike, control_rows: npt.ArrayLike, control_clusters: npt.ArrayLike
) -> FloatArray:
    """Sums of two arms side by side, one row per cluster that is in either, for `difference`.

    rows, control_rows         : (n, ..., 2) and (m, ..., 2) sums per decision, of one measure or several
    clusters, control_clusters : (n,) and (m,) codes
    returns                    : (n_clusters, ..., 2, 2): arm, control; each numerator and denominator
    raises                     : ShapeError for sums of different measures; else as `cluster_sums`
    """
    treated, control = (np.asarray(column, dtype=np.float64) for column in (rows, control_rows))
    if treated.shape[1:] != control.shape[1:] or treated.shape[-1:] != (2,):
        raise ShapeError(f"need sums of the same measures of both, got {treated.shape} and {control.shape}")
    both = np.zeros((len(treated) + len(control), *treated.shape[1:-1], 2, 2))
    both[: len(treated), ..., 0, :] = treated
    both[len(treated) :, ..., 1, :] = control
    codes = [code_array("clusters", column) for column in (clusters, control_clusters)]
    return cluster_sums(both, np.concatenate(codes))


def difference(sums: FloatArray) -> FloatArray:
    """Statistic of `joint_sums`: the arm's ratio less the control's.

    sums    : (..., 2, 2)
    returns : (...,); NaN where either has nothing
    """
    shares = ratio(sums)
    decisions: FloatArray = (shares[..., 0] - shares[..., 1])[()]
    return decisions


def _approach(decisions: Decisions) -> FloatArray:
    """(n,) how much nearer the second vote is to the table's verdict than the first."""
    return np.abs(decisions.before - decisions.implied) - np.abs(decisions.after - decisions.implied)


def _changed_beside_verdict(decisions: Decisions) -> BoolArray:
    """(n,) whether the vote changed beside a table whose verdict is known."""
    return decisions.changed & ~np.isnan(decisions.implied)


def _columns(vote: npt.ArrayLike, pair: npt.ArrayLike, rater: npt.ArrayLike) -> tuple[FloatArray, IntArray, IntArray]:
    votes, pairs, raters = verdict_array(vote), code_array("pair", pair), code_array("rater", rater)
    check_columns(votes, pairs, raters)
    return votes, pairs, raters


def _equal_and_all(votes: FloatArray, codes: IntArray, firsts: FloatArray) -> FloatArray:
    """First votes of each vote's group that equal it, and all of the group.

    codes   : (n + m,) groups of the votes, then of the first votes
    returns : (n, 2)
    """
    _, group = np.unique(codes, return_inverse=True)
    counts = np.zeros((int(group.max(initial=-1)) + 1, 3))
    np.add.at(counts, (group[len(votes) :], (firsts + 1).astype(np.int64)), 1)
    of_vote = counts[group[: len(votes)]]
    value = np.where(np.isnan(votes), 0, votes + 1).astype(np.int64)
    return np.stack([of_vote[np.arange(len(votes)), value], of_vote.sum(axis=1)], axis=1)
