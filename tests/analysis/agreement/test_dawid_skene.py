"""Dawid and Skene's verdicts and confusion matrices."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from analysis.agreement.dawid_skene import dawid_skene
from analysis.agreement.leave_one_out import Votes, votes_of
from analysis.errors import NotEnough, ShapeError, UnknownValue

NAN = np.nan
A, TIE, B = -1.0, 0.0, 1.0
value = st.sampled_from([A, TIE, B])
tables = hnp.arrays(
    float, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.sampled_from([A, TIE, B, NAN])
).filter(lambda table: not np.isnan(table).all())


def plain_rounds(ratings, rounds, smoothing=1e-10):
    """Posteriors after so many rounds of EM, with dictionaries and products."""
    units = [{r: v for r, v in enumerate(unit) if v == v} for unit in ratings.tolist()]
    classes = (A, TIE, B)
    truth = [{c: list(unit.values()).count(c) / len(unit) for c in classes} for unit in units if unit]
    units = [unit for unit in units if unit]
    for _ in range(rounds):
        prior = {c: sum(t[c] for t in truth) / len(truth) for c in classes}
        chance = {}
        for r in range(ratings.shape[1]):
            for c in classes:
                row = {
                    v: smoothing + sum(t[c] for t, u in zip(truth, units, strict=True) if u.get(r) == v)
                    for v in classes
                }
                chance.update({(r, c, v): row[v] / sum(row.values()) for v in classes})
        for k, unit in enumerate(units):
            product = {c: prior[c] * math.prod(chance[r, c, v] for r, v in unit.items()) for c in classes}
            truth[k] = {c: product[c] / sum(product.values()) for c in classes}
    return np.array([[t[c] for c in classes] for t in truth])


@pytest.mark.slow
@given(tables, st.integers(1, 4))
def test_rounds_equal_the_plain_version(ratings, rounds):
    found = dawid_skene(ratings, max_iterations=rounds, tolerance=1e-300)
    rated = ~np.isnan(ratings).all(axis=1)
    expected = plain_rounds(ratings, found.iterations)
    np.testing.assert_allclose(found.posterior[rated], expected, atol=1e-6)
    assert np.isnan(found.posterior[~rated]).all()


def test_one_round_by_hand():
    # Two units A A, one A B; shares (1, 0), (1, 0), (1/2, 1/2): prevalence of A 5/6, of B 1/6. Rater 0 says A throughout; rater 1
    # where A is true: A 2, B 1/2 of 2.5; where B is true: always B. Unit 3: A 5/6 · 1/5 = 1/6, B 1/6 · 1: one half each.
    found = dawid_skene([[A, A], [A, A], [A, B]], max_iterations=1)
    np.testing.assert_allclose(found.posterior, [[1, 0, 0], [1, 0, 0], [0.5, 0, 0.5]], atol=1e-9)
    np.testing.assert_array_equal(found.verdict, [A, A, NAN])
    np.testing.assert_allclose(found.confusion[1, [0, 2]], [[0.8, 0, 0.2], [0, 0, 1]], atol=1e-9)
    np.testing.assert_allclose(found.prevalence, [5 / 6, 0, 1 / 6], atol=1e-9)
    assert found.iterations == 1


@pytest.mark.slow
@given(st.lists(value, min_size=1, max_size=8), st.integers(1, 4))
def test_perfect_raters_get_their_labels_back(truth, raters):
    found = dawid_skene(np.tile(np.array(truth)[:, np.newaxis], (1, raters)))
    assert found.verdict.tolist() == truth
    assert found.converged
    for place, label in enumerate((A, TIE, B)):
        if label in truth:
            np.testing.assert_allclose(found.confusion[:, place, place], 1, atol=1e-6)


def test_confusions_of_simulated_raters_are_recovered(rng):
    skills = (0.9, 0.9, 0.85, 0.4, 0.4)
    truth = rng.choice([A, TIE, B], 3000, p=[0.4, 0.2, 0.4])
    right = rng.random((3000, 5)) < np.array(skills)
    ratings = np.where(right, truth[:, np.newaxis], rng.choice([A, TIE, B], (3000, 5)))
    found = dawid_skene(ratings)
    assert found.converged
    assert 2 < found.iterations < 1000
    assert (found.verdict == truth).mean() > 0.93
    # With chance s the truth, else any of three: s + (1 - s) / 3.
    for rater, skill in enumerate(skills):
        np.testing.assert_allclose(np.diagonal(found.confusion[rater]), skill + (1 - skill) / 3, atol=0.08)
    np.testing.assert_allclose(found.prevalence, [0.4, 0.2, 0.4], atol=0.05)
    short = dawid_skene(ratings, max_iterations=2)
    assert (short.converged, short.iterations) == (False, 2)


@pytest.mark.slow
@given(tables)
def test_order_plays_no_part_and_swapped_systems_mirror_everything(ratings):
    one, other = dawid_skene(ratings, max_iterations=5), dawid_skene(-ratings[::-1, ::-1], max_iterations=5)
    np.testing.assert_allclose(other.posterior, one.posterior[::-1, ::-1], atol=1e-6)
    np.testing.assert_allclose(other.confusion, one.confusion[::-1, ::-1, ::-1], atol=1e-6)


def test_smoothing_keeps_a_rater_of_few_votes_from_certainty():
    plain, smooth = (dawid_skene([[A, A], [B, B]], smoothing=s) for s in (1e-10, 1.0))
    assert plain.confusion[0, 0, 0] == pytest.approx(1)
    assert smooth.confusion[0, 0, 0] < 0.7
    many = dawid_skene(np.tile([[A], [B]], (1, 3000)), smoothing=0.5)  # whose product is below the smallest number
    assert many.verdict.tolist() == [A, B]


def test_missing_votes_have_no_answer():
    found = dawid_skene([[A, A, NAN], [NAN, NAN, NAN], [B, B, NAN]])
    np.testing.assert_array_equal(found.verdict, [A, NAN, B])
    assert np.isnan(found.confusion[2]).all()
    assert np.isfinite(found.confusion[:2]).all()
    np.testing.assert_allclose(found.confusion[0, 1], 1 / 3)  # no tie: nothing is known of it
    assert found.prevalence.sum() == pytest.approx(1)


def test_all_ties_and_one_rater():
    assert dawid_skene(np.zeros((4, 3))).verdict.tolist() == [0, 0, 0, 0]
    assert dawid_skene([[A], [B], [TIE]]).verdict.tolist() == [A, B, TIE]


def test_what_does_not_fit_is_refused():
    for nothing in (np.empty((0, 3)), np.empty((3, 0)), [[NAN, NAN]]):
        with pytest.raises(NotEnough):
            dawid_skene(nothing)
    with pytest.raises(ShapeError):
        dawid_skene([A, B])
    with pytest.raises(UnknownValue):
        dawid_skene([[2.0]])
    for wrong in ({"smoothing": 0}, {"smoothing": NAN}, {"max_iterations": 0}, {"tolerance": 0}):
        with pytest.raises(UnknownValue):
            dawid_skene([[A]], **wrong)


@pytest.mark.slow
@given(tables, st.randoms())
def test_votes_in_rows_equal_the_table(ratings, random):
    votes = votes_of(ratings)
    order = list(range(len(votes.unit)))
    random.shuffle(order)
    rows = Votes(votes.unit[order], votes.person[order], votes.verdict[order], *ratings.shape)
    found, whole = dawid_skene(rows, max_iterations=5), dawid_skene(ratings, max_iterations=5)
    np.testing.assert_allclose(found.posterior, whole.posterior, atol=1e-9)
    np.testing.assert_allclose(found.confusion, whole.confusion, atol=1e-9)
    np.testing.assert_allclose(found.prevalence, whole.prevalence, atol=1e-9)


def test_groups_have_a_prevalence_of_their_own(rng):
    group = np.repeat([0, 2], 400)
    truth = np.where(group == 0, rng.choice([A, B], 800, p=[0.9, 0.1]), rng.choice([A, B], 800, p=[0.1, 0.9]))
    ratings = np.where(rng.random((800, 3)) < 0.8, truth[:, np.newaxis], -truth[:, np.newaxis])
    found = dawid_skene(ratings, group=group)
    np.testing.assert_allclose(found.prevalence[[0, 2]], [[0.9, 0, 0.1], [0.1, 0, 0.9]], atol=0.06)
    assert np.isnan(found.prevalence[1]).all()
    assert (found.verdict == truth).mean() > (dawid_skene(ratings).verdict == truth).mean() + 0.02
    with pytest.raises(ShapeError):
        dawid_skene(ratings, group=[0])
