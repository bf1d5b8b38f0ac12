"""Juries: verdicts by each rule, cross-fitted weights, and how many independent votes a jury is worth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from analysis.agreement.dawid_skene import dawid_skene
from analysis.errors import ShapeError, UnknownValue
from analysis.judges.juries import (
    RULES,
    JuryUnits,
    effective_members,
    error_sums,
    jury_verdicts,
    majority_verdicts,
    mean_error_correlation,
    member_weights,
    weighted_verdicts,
)

NAN = np.nan
A, TIE, B = -1.0, 0.0, 1.0


@st.composite
def units(draw, least_members=1):
    n, members = draw(st.integers(1, 8)), draw(st.integers(least_members, 4))
    votes = draw(hnp.arrays(float, (n, members), elements=st.sampled_from([A, TIE, B, NAN])))
    people = draw(hnp.arrays(float, (n, 3), elements=st.integers(0, 4).map(float)))
    instance, group = (draw(hnp.arrays(int, n, elements=st.integers(0, most))) for most in (3, 1))
    return JuryUnits(votes, people, instance, group)


def of(votes, people=None, instance=None):
    n = len(votes)
    instance = np.arange(n) if instance is None else np.array(instance)
    people = np.zeros((n, 3)) if people is None else np.array(people, dtype=float)
    return JuryUnits(np.array(votes, dtype=float), people, instance, np.zeros(n, dtype=int))


def plain_weight(units, unit, member):
    """Log-odds of agreement on other instances, vote by vote."""
    agreed = disagreed = 0.5
    for other in range(len(units.votes)):
        said = units.votes[other, member]
        if units.instance[other] == units.instance[unit] or said != said:
            continue
        for value, count in zip((A, TIE, B), units.people[other], strict=True):
            agreed, disagreed = agreed + count * (value == said), disagreed + count * (value != said)
    return math.log(agreed / disagreed) if agreed + disagreed > 1 else NAN


def plain_verdict(votes, weights):
    totals = {}
    for vote, weight in zip(votes, weights, strict=True):
        if vote == vote and weight == weight:
            totals[vote] = totals.get(vote, 0.0) + weight
    if not totals:
        return NAN
    first = [vote for vote, total in totals.items() if total > max(totals.values()) - 1e-9]
    return first[0] if len(first) == 1 else TIE


def test_majority_by_hand():
    # Most; two even splits; a shared first place; others abstain; all abstain.
    votes = [[A, A, B], [A, B, NAN], [A, TIE, NAN], [A, B, TIE], [NAN, B, NAN], [NAN, NAN, NAN]]
    np.testing.assert_equal(majority_verdicts(votes), [A, TIE, TIE, TIE, B, NAN])


def test_weights_by_hand_and_the_better_member_wins_against_two():
    # On instances 1 to 4 the first member agrees with 8 of 8 votes, the others with 2 of 8 each.
    people = [[0, 0, 2]] * 4 + [[0, 0, 0]]
    votes = [[B, B, A], [B, A, B], [B, A, A], [B, A, A], [B, A, A]]
    weights = member_weights(of(votes, people))
    np.testing.assert_allclose(weights[4], [math.log(8.5 / 0.5), math.log(2.5 / 6.5), math.log(2.5 / 6.5)])
    # Without instance 1, where the second agreed with both votes: 0 of 6.
    np.testing.assert_allclose(weights[0, 1], math.log(0.5 / 6.5))
    assert jury_verdicts(of(votes, people), "weighted")[4] == B
    assert jury_verdicts(of(votes, people), "majority")[4] == A
    # Weights below 0 never elect what nobody said.
    assert weighted_verdicts([[A, NAN], [A, B]], [[-2.0, 1.0], [-2.0, -1.0]]).tolist() == [A, B]


@pytest.mark.slow
@given(units())
def test_weights_and_verdicts_are_those_of_a_plain_version(given_units):
    weights = member_weights(given_units)
    n, members = given_units.votes.shape
    plain = [[plain_weight(given_units, unit, member) for member in range(members)] for unit in range(n)]
    np.testing.assert_allclose(weights, plain)
    expected = [plain_verdict(*row) for row in zip(given_units.votes.tolist(), plain, strict=True)]
    np.testing.assert_equal(jury_verdicts(given_units, "weighted"), expected)
    alike = [plain_verdict(votes, [1.0] * members) for votes in given_units.votes.tolist()]
    np.testing.assert_equal(jury_verdicts(given_units, "majority"), alike)


@pytest.mark.slow
@given(units(), st.data())
def test_votes_on_an_instance_have_no_part_in_its_weights(given_units, data):
    one = data.draw(st.sampled_from(given_units.instance.tolist()))
    here = given_units.instance == one
    people = given_units.people.copy()
    people[here] = data.draw(hnp.arrays(float, (int(here.sum()), 3), elements=st.integers(0, 40).map(float)))
    changed = JuryUnits(given_units.votes, people, given_units.instance, given_units.group)
    np.testing.assert_equal(member_weights(changed)[here], member_weights(given_units)[here])
    np.testing.assert_equal(jury_verdicts(changed, "weighted")[here], jury_verdicts(given_units, "weighted")[here])


@pytest.mark.slow
@given(units(), st.sampled_from(RULES), st.randoms(use_true_random=False))
def test_a_mirrored_jury_gives_mirrored_verdicts_and_order_plays_no_part(given_units, rule, random):
    verdict = jury_verdicts(given_units, rule)
    mirrored = JuryUnits(-given_units.votes, given_units.people[:, ::-1], given_units.instance, given_units.group)
    if rule != "dawid-skene":  # its rounds may end at another of several maxima
        np.testing.assert_equal(jury_verdicts(mirrored, rule), -verdict + 0.0)
        members = random.sample(range(given_units.votes.shape[1]), given_units.votes.shape[1])
        turned = JuryUnits(given_units.votes[:, members], given_units.people, given_units.instance, given_units.group)
        np.testing.assert_equal(jury_verdicts(turned, rule), verdict)
    assert np.isin(verdict[~np.isnan(verdict)], [A, TIE, B]).all()
    abstained = np.isnan(given_units.votes).all(axis=1)
    assert np.isnan(verdict[abstained]).all()
    assert rule == "weighted" or not np.isnan(verdict[~abstained]).any()


@pytest.mark.slow
def test_dawid_skene_is_that_of_the_findings_with_shared_places_as_ties():
    rng = np.random.default_rng(3)
    truth = rng.choice([A, B], 200)
    right = rng.random((200, 3)) < (0.95, 0.6, 0.6)
    votes = np.where(right, truth[:, np.newaxis], -truth[:, np.newaxis])
    found = dawid_skene(votes, group=np.zeros(200, dtype=int), tolerance=1e-6).verdict
    np.testing.assert_equal(jury_verdicts(of(votes), "dawid-skene"), found)
    assert (found == truth).mean() > (majority_verdicts(votes) == truth).mean()
    assert jury_verdicts(of([[A, B, NAN]]), "dawid-skene").tolist() == [TIE]
    assert np.isnan(jury_verdicts(of([[NAN, NAN]]), "dawid-skene")).all()


def test_nine_judges_may_be_worth_two():
    # 9 / (1 + 8 * 0.4375) = 9 / 4.5
    assert effective_members(0.4375, 9) == pytest.approx(2.0)
    assert effective_members(0.0, 9) == 9.0
    assert effective_members(1.0, 9) == 1.0
    assert math.isnan(effective_members(-1.0, 2))


def test_error_correlations_by_hand_and_against_numpy():
    people = [[0, 0, 3]] * 6 + [[1, 0, 1]]  # the last has no majority
    votes = [[A, A, B], [A, A, B], [A, B, A], [B, B, B], [B, B, B], [B, NAN, A], [A, A, A]]
    sums = error_sums(of(votes, people))
    assert sums.shape == (6, 3, 3, 4)
    # First and second on five units: errors 1 1 1 0 0 and 1 1 0 0 0: n 5, 3, 2, both 2.
    np.testing.assert_equal(sums.sum(axis=0)[0, 1], [5, 3, 2, 2])
    wrong = np.array(votes)[:6] != B
    expected = [
        np.corrcoef(wrong[:5, 0], wrong[:5, 1])[0, 1],
        np.corrcoef(wrong[:, 0], wrong[:, 2])[0, 1],
        np.corrcoef(wrong[:5, 1], wrong[:5, 2])[0, 1],
    ]
    assert mean_error_correlation(sums.sum(axis=0)) == pytest.approx(np.mean(expected))
    np.testing.assert_allclose(
        mean_error_correlation(sums.sum(axis=0) - sums),
        [mean_error_correlation(sums.sum(axis=0) - one) for one in sums],
    )


@pytest.mark.parametrize(
    "votes",
    [
        pytest.param(np.empty((0, 2)), id="no-unit"),
        pytest.param(np.full((3, 2), B), id="nobody-errs"),
        pytest.param(np.array([[A], [B], [B]]), id="one-member"),
        pytest.param(np.array([[A, NAN], [NAN, B], [B, NAN]]), id="never-on-the-same-unit"),
    ],
)
def test_without_errors_side_by_side_there_is_no_correlation(votes):
    sums = error_sums(of(votes, np.tile([0.0, 0.0, 2.0], (len(votes), 1))))
    assert np.isnan(mean_error_correlation(sums.sum(axis=0)))


def test_bad_input_is_refused():
    with pytest.raises(UnknownValue):
        jury_verdicts(of([[A, B]]), "mean")
    with pytest.raises(ShapeError):
        JuryUnits(np.zeros((2, 2)), np.zeros((2, 3)), np.zeros(3, dtype=int), np.zeros(2, dtype=int))
    with pytest.raises(ShapeError):
        of([[A, B]], [[1, 2]])
    with pytest.raises(UnknownValue):
        of([[A, B]], [[1, 0, -1]])
    with pytest.raises(ShapeError):
        weighted_verdicts([[A, B]], [[1.0]])


def test_a_jury_that_lacks_one_member():
    jury = of([[A, A, B, B], [B, B, B, A]])
    assert jury_verdicts(jury, "majority").tolist() == [TIE, B]
    assert jury_verdicts(jury.without(0), "majority").tolist() == [B, B]
