"""Votes before and after a comparison table: scores, flips, the others' first votes, the table's verdict, medians."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from analysis.bias.revision import (
    BY_CHANGE,
    BY_MOVE,
    BY_TABLE,
    CHANGES,
    SCORES,
    Decisions,
    agreement_with_others,
    away_sums,
    change_sums,
    difference,
    joint_sums,
    move_sums,
    reached_sums,
    revised_sums,
    score,
    towards_sums,
)
from analysis.errors import AnalysisError, ShapeError, UnknownValue
from analysis.intervals.bootstrap import (
    cluster_interval,
    median_difference_interval,
    median_interval,
    ratio,
)

pytestmark = pytest.mark.slow

NAN = np.nan
A, TIE, B = -1.0, 0.0, 1.0
NOBODY = {"first": [], "first_pair": [], "first_rater": []}
RNG = np.random.default_rng(0)  # of calls that are refused before they draw
verdict = st.sampled_from([A, TIE, B, NAN])


@st.composite
def decided(draw):
    n = draw(st.integers(0, 12))
    column = hnp.arrays(float, n, elements=verdict)
    return Decisions(*(draw(column) for _ in range(4)))


def share(sums):
    return float(ratio(sums.sum(axis=0)))


def counted(sums):
    return sums.sum(axis=0).tolist()


# By hand


def test_scores_are_1_for_right_minus_1_for_wrong_and_0_for_a_tie_that_is_not_gold():
    for gold, scores in ((A, [1, 0, -1]), (B, [-1, 0, 1]), (TIE, [-1, 1, -1])):
        assert score([A, TIE, B], [gold] * 3).tolist() == scores
    assert np.isnan(score([NAN, A], [A, NAN])).all()


#                   before after gold implied
BY_HAND = np.array([
    (A, B, B, B),      # wrong → right, to the table's verdict
    (A, B, A, B),      # right → wrong, to the table's verdict
    (A, A, A, B),      # kept, though the table says otherwise
    (TIE, B, B, A),    # tie → right, away from the table
    (B, TIE, A, A),    # wrong → tie, half-way to the table
    (A, B, TIE, TIE),  # wrong → wrong, as far from the table as before
    (A, TIE, TIE, NAN),  # wrong → right: here the tie is right; what the table says is unknown
    (A, B, NAN, B),    # no gold
    (A, NAN, A, A),    # no second vote: in no number
])  # fmt: skip


def test_measures_by_hand():
    by_hand = Decisions(*BY_HAND.T)
    # Seven decisions are scored. Before: -1 +1 +1 0 -1 -1 -1 = -2; after: +1 -1 +1 +1 0 -1 +1 = 2.
    assert {name: counted(sums(by_hand)) for name, sums in SCORES.items()} == {
        "score_before": [-2, 7],
        "score_after": [2, 7],
        "score_change": [4, 7],
    }
    assert {kind: counted(sums(by_hand)) for kind, sums in BY_CHANGE.items()} == {
        "wrong_to_right": [2, 7],
        "tie_to_right": [1, 7],
        "wrong_to_tie": [1, 7],
        "right_to_tie": [0, 7],
        "tie_to_wrong": [0, 7],
        "right_to_wrong": [1, 7],
        "wrong_to_wrong": [1, 7],
        "unchanged": [1, 7],
    }
    # Moves need no gold.
    assert {kind: counted(sums(by_hand)) for kind, sums in BY_MOVE.items()} == {
        "kept": [1, 8],
        "reversed": [4, 8],
        "to_tie": [2, 8],
        "from_tie": [1, 8],
    }
    assert counted(revised_sums(by_hand)) == [7, 8]
    # Six changed beside a table whose verdict is known: three came nearer (one of them half-way), one went away, and
    # one from A to B is as far from a tie as before; the sixth is the one without gold, which came nearer too.
    assert counted(towards_sums(by_hand)) == [4, 6]
    assert counted(away_sums(by_hand)) == [1, 6]
    # All seven with a known verdict began elsewhere; three ended there: the first, the second and the one without gold.
    assert counted(reached_sums(by_hand)) == [3, 7]
    assert counted(SCORES["score_change"](by_hand.of([0, 4, 7]))) == [2 + 1, 2]


def test_agreement_with_the_others_by_hand():
    # Pair 7: Ann A, Bob A, Cid B. Pair 8: Ann tie, alone. Ann's vote on pair 7 is held against A and B, never her own.
    ann, bob, cid = 1, 2, 3
    first = {"first": [A, A, B, TIE], "first_pair": [7, 7, 7, 8], "first_rater": [ann, bob, cid, ann]}
    found = agreement_with_others([A, B, TIE, B, TIE, NAN], [7, 7, 7, 7, 8, 7], [ann, ann, ann, cid, ann, ann], **first)
    np.testing.assert_array_equal(found, [0.5, 0.5, 0, 0, NAN, NAN])


def test_a_difference_is_the_arms_change_less_the_controls():
    table = Decisions([A, A], [B, A], [B, A])  # changes 2 and 0: mean 1
    control = Decisions([A, B, B], [A, A, B], [A, B, TIE])  # changes 0, -2, 0: mean -2/3
    rows = [SCORES["score_change"](one) for one in (table, control)]
    sums = joint_sums(rows[0], [5, 6], rows[1], [6, 7, 7])
    assert sums.tolist() == [[[2, 1], [0, 0]], [[0, 1], [0, 1]], [[0, 0], [-2, 2]]]
    assert difference(sums.sum(axis=0)) == pytest.approx(1 + 2 / 3)


def test_differences_of_several_measures_are_those_of_each():
    rows, control = np.arange(12.0).reshape(3, 2, 2), np.ones((2, 2, 2))
    together = joint_sums(rows, [0, 1, 1], control, [1, 2])
    for one in range(2):
        np.testing.assert_array_equal(together[:, one], joint_sums(rows[:, one], [0, 1, 1], control[:, one], [1, 2]))
    assert difference(together.sum(axis=0)).shape == (2,)


def test_decisions_of_both_arms_on_an_instance_are_drawn_together():
    # Each instance changes by as much in either arm, so their difference is 0 in every round.
    rows, instance = np.array([[2.0, 1], [-2, 1], [0, 1], [1, 1]]), np.arange(4)
    rng = np.random.default_rng(1)
    together = cluster_interval(joint_sums(rows, instance, rows, instance), difference, rng=rng, rounds=200)
    assert (together.low, together.high) == (0, 0)
    apart = cluster_interval(joint_sums(rows, instance, rows, instance + 4), difference, rng=rng, rounds=200)
    assert apart.low < 0 < apart.high


def test_the_interval_of_a_difference_of_medians_by_hand():
    # Both instances are drawn for both arms. Drawn twice, the first differs by 10 - 4 = 6 and the second by 30 - 20 =
    # 10; once each, the medians are 20 and 12, which differ by 8. Drawn apart they would differ by up to 30 - 4 = 26.
    found = median_difference_interval(
        [10, 30], [7, 8], [4, 20, NAN], [7, 8, 9], rng=np.random.default_rng(2), rounds=200, level=0.9
    )
    assert (found.low, found.high, found.undefined) == (6, 10, 0)


# Properties


@given(decided())
def test_kinds_of_changes_and_of_moves_add_up_and_no_share_is_above_1(found):
    for kinds, all_of_them in ((BY_CHANGE, found.scored), (BY_MOVE, found.complete)):
        rows = np.stack([sums(found) for sums in kinds.values()])
        np.testing.assert_array_equal(rows[:, :, 0].sum(axis=0), all_of_them)
        assert (rows[:, :, 1] == all_of_them).all()
    for sums in (*BY_CHANGE.values(), *BY_MOVE.values(), *BY_TABLE.values(), revised_sums):
        rows = sums(found)
        assert ((rows[:, 0] >= 0) & (rows[:, 0] <= rows[:, 1])).all()


@given(decided())
def test_changes_explain_the_change_of_the_score(found):
    steps = sum(
        ((after - before) * change_sums(found, kind)[:, 0] for kind, (before, after) in CHANGES.items()),
        start=np.zeros(len(found)),
    )
    np.testing.assert_array_equal(SCORES["score_change"](found)[:, 0], steps)


@given(decided())
def test_systems_changed_over_change_nothing(found):
    turned = Decisions(-found.before, -found.after, -found.gold, -found.implied)
    for sums in (*SCORES.values(), *BY_CHANGE.values(), *BY_MOVE.values(), *BY_TABLE.values(), revised_sums):
        np.testing.assert_array_equal(sums(found), sums(turned))


@given(decided())
def test_going_back_undoes_every_change(found):
    back = Decisions(found.after, found.before, found.gold, found.implied)
    np.testing.assert_array_equal(SCORES["score_change"](found)[:, 0], -SCORES["score_change"](back)[:, 0])
    for kind, (before, after) in CHANGES.items():
        (opposite,) = (other for other, way in CHANGES.items() if way == (after, before))
        np.testing.assert_array_equal(change_sums(found, kind), change_sums(back, opposite))
    np.testing.assert_array_equal(towards_sums(found), away_sums(back))


@st.composite
def crowd(draw):
    """First votes of a few people on a few pairs, and votes held against them."""
    cells = list(product(range(3), range(4)))
    firsts = {cell: draw(verdict) for cell in draw(st.lists(st.sampled_from(cells), unique=True))}
    votes = [(*draw(st.sampled_from(cells)), draw(verdict)) for _ in range(draw(st.integers(0, 6)))]
    return firsts, votes


@given(crowd())
def test_agreement_is_that_of_going_through_the_others_one_by_one(drawn):
    firsts, votes = drawn
    found = agreement_with_others(
        [vote for _, _, vote in votes],
        np.array([pair for pair, _, _ in votes], dtype=int),
        np.array([rater for _, rater, _ in votes], dtype=int),
        first=list(firsts.values()),
        first_pair=np.array([pair for pair, _ in firsts], dtype=int),
        first_rater=np.array([rater for _, rater in firsts], dtype=int),
    )
    for value, (pair, rater, vote) in zip(found, votes, strict=True):
        others = [v for (p, r), v in firsts.items() if p == pair and r != rater and v == v]
        expected = np.mean([v == vote for v in others]) if others and vote == vote else NAN
        np.testing.assert_equal(value, expected)


times = st.floats(0, 1000, allow_nan=False)


timed = st.lists(st.tuples(st.one_of(st.just(NAN), times), st.integers(0, 3)), max_size=7)


@given(timed)
def test_medians_of_resamples_are_those_of_the_values_written_out(rows):
    values, clusters = np.array([v for v, _ in rows]), np.array([c for _, c in rows], dtype=int)
    found = median_interval(values, clusters, rng=np.random.default_rng(3), rounds=20, level=0.9)
    known = ~np.isnan(values)
    kept = np.unique(clusters[known])
    if len(kept) < 2:
        assert np.isnan(found.low)
        return
    drawn = np.random.default_rng(3).integers(len(kept), size=(20, len(kept)))
    medians = [np.median(np.concatenate([values[known & (clusters == kept[one])] for one in row])) for row in drawn]
    np.testing.assert_allclose((found.low, found.high), np.quantile(medians, [0.05, 0.95]), rtol=1e-12)


@given(timed, timed)
def test_differences_of_medians_are_those_of_the_times_written_out(rows, control_rows):
    sides = [(np.array([v for v, _ in one]), np.array([c for _, c in one], dtype=int)) for one in (rows, control_rows)]
    found = median_difference_interval(*sides[0], *sides[1], rng=np.random.default_rng(3), rounds=20, level=0.9)
    known = [(values[~np.isnan(values)], codes[~np.isnan(values)]) for values, codes in sides]
    kept = np.unique(np.concatenate([codes for _, codes in known]))
    differences = []
    for row in np.random.default_rng(3).integers(len(kept), size=(20, len(kept))) if len(kept) > 1 else []:
        drawn = [np.concatenate([values[codes == kept[one]] for one in row]) for values, codes in known]
        if all(one.size for one in drawn):
            differences.append(np.median(drawn[0]) - np.median(drawn[1]))
    assert found.undefined == 20 - len(differences)
    expected = np.quantile(differences, [0.05, 0.95]) if differences else [NAN, NAN]
    np.testing.assert_allclose([found.low, found.high], expected, rtol=1e-12, atol=1e-12)


# Degenerate input


def test_nothing_at_all_has_no_value():
    measures = (*SCORES.values(), *BY_CHANGE.values(), *BY_TABLE.values())
    nothing = Decisions([], [])
    for sums in (*measures, *BY_MOVE.values(), revised_sums):
        assert sums(nothing).shape == (0, 2)
        assert np.isnan(share(sums(nothing)))
    without_gold = Decisions([A, B], [B, B])
    assert all(np.isnan(share(sums(without_gold))) for sums in measures)
    assert sorted(move_sums(without_gold, "kept")[:, 0]) == [0, 1]
    assert np.isnan(difference(joint_sums([[1, 1]], [0], np.zeros((0, 2)), []).sum(axis=0)))
    assert agreement_with_others([], [], [], **NOBODY).shape == (0,)
    assert np.isnan(agreement_with_others([A], [1], [1], **NOBODY)).all()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        pytest.param(lambda: Decisions([A], [A, B]), ShapeError, id="lengths"),
        pytest.param(lambda: Decisions([[A]], [[A]]), ShapeError, id="dimensions"),
        pytest.param(lambda: Decisions([2], [A]), UnknownValue, id="verdict"),
        pytest.param(lambda: score([A], [A, B]), ShapeError, id="score"),
        pytest.param(lambda: change_sums(Decisions([A], [A]), "better"), UnknownValue, id="change"),
        pytest.param(lambda: move_sums(Decisions([A], [A]), "up"), UnknownValue, id="move"),
        pytest.param(lambda: agreement_with_others([A], [1, 2], [1], **NOBODY), ShapeError, id="others"),
        pytest.param(lambda: agreement_with_others([A], [0.5], [1], **NOBODY), UnknownValue, id="codes"),
        pytest.param(lambda: joint_sums([[1, 1]], [0], [[[1, 1]]], [0]), ShapeError, id="joint"),
        pytest.param(lambda: median_interval([1.0], [1, 2], rng=RNG), ShapeError, id="median"),
        pytest.param(lambda: median_interval([1.0], [1], rng=RNG, level=1), AnalysisError, id="level"),
        pytest.param(lambda: median_difference_interval([1], [1], [1], [1, 2], rng=RNG), ShapeError, id="control"),
        pytest.param(lambda: median_difference_interval([1], [1], [1], [1], rng=RNG, rounds=0), AnalysisError, id="rounds"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(make, error):
    with pytest.raises(error):
        make()
