"""Chances by judges' doubts: what doubts are, what votes teach about them, and draws that cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import ShapeError, UnknownValue
from analysis.planning.active import PRIOR, active_weights, expected_errors, judges_doubts, judges_shares
from analysis.planning.selection import inclusion_probabilities

NAN = np.nan
answers = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(0, 1), st.integers(0, 2), st.integers(0, 1), st.sampled_from([-1, 0, 1, NAN])
    ),
    max_size=40,
    unique_by=lambda row: row[:4],
)


def plain_doubts(rows, n_instances):
    """The three signs, answer by answer."""
    doubts = np.full((n_instances, 3), NAN)
    answered = [row for row in rows if row[4] == row[4]]
    for instance in range(n_instances):
        own = [row for row in answered if row[0] == instance]
        single = [1 - abs(row[4]) for row in own]
        orders, split = [], []
        for pair in {row[1] for row in own}:
            by_judge = {}
            for row in own:
                if row[1] == pair:
                    by_judge.setdefault(row[2], []).append(row[4])
            orders += [float(len(set(given)) > 1) for given in by_judge.values() if len(given) == 2]
            signs = [np.sign(sum(given)) for given in by_judge.values()]
            twos = [(one, other) for k, one in enumerate(signs) for other in signs[:k]]
            split += [np.mean([one != other for one, other in twos])] if twos else []
        doubts[instance] = [np.mean(column) if column else NAN for column in (single, orders, split)]
    return doubts


@given(answers)
def test_doubts_equal_the_plain_version(rows):
    columns = [np.array([row[k] for row in rows], dtype=np.int64) for k in range(4)]
    verdicts = np.array([row[4] for row in rows], dtype=np.float64)
    pairs = columns[0] * 2 + columns[1]
    found = judges_doubts(columns[0], pairs, *columns[2:], verdicts, np.full(len(rows), NAN), 4)
    np.testing.assert_allclose(found, plain_doubts(rows, 4), atol=1e-12)


def test_probabilities_stand_in_for_verdicts():
    zeros, verdict, p_b = np.zeros(3, dtype=int), [1, -1, 0], [0.75, 0.0, NAN]
    found = judges_doubts(np.arange(3), np.arange(3), zeros, zeros, verdict, p_b, 4)[:, 0]
    np.testing.assert_allclose(found, [0.5, 0, 1, NAN])
    np.testing.assert_allclose(judges_shares(np.arange(3), verdict, p_b, 4), [0.75, 0, 0.5, NAN])
    with pytest.raises(UnknownValue):
        judges_doubts(np.arange(3), np.arange(3), zeros, zeros, verdict, [0.5, 1.5, NAN], 4)
    with pytest.raises(ShapeError):
        judges_doubts(np.arange(2), np.arange(3), zeros, zeros, verdict, p_b, 4)
    with pytest.raises(ShapeError):
        expected_errors(np.zeros((3, 2)), np.zeros(4), np.zeros(4))


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40), st.data())
def test_chances_sum_to_n_and_are_at_least_a_tenth_of_their_mean(variance, data):
    n = data.draw(st.integers(1, len(variance)))
    chances = inclusion_probabilities(active_weights(variance), n)
    assert chances.sum() == pytest.approx(n)
    assert chances.max() <= 1
    assert chances.min() >= 0.1 * n / len(variance) - 1e-12
    by_variance = chances[np.argsort(variance, kind="stable")]
    assert (np.diff(by_variance) >= -1e-9).all()


def test_equal_variances_have_equal_chances():
    for value in (0.0, 3.0):
        assert active_weights(np.full(5, value)).tolist() == pytest.approx([1] * 5)
    with pytest.raises(UnknownValue):
        active_weights([1.0, NAN])


def test_without_votes_the_prior_spreads_by_the_mean_of_the_features():
    features = np.array([[0.0, NAN, 0.3], [1.0, NAN, 0.3], [0.5, NAN, 0.3], [NAN, NAN, 0.3]])
    found = expected_errors(features, np.full(4, NAN), np.full(4, 0.5))
    np.testing.assert_allclose(np.sqrt(found.variance), [1 - PRIOR, 1 + PRIOR, 1, 1])
    assert (found.fitted_on, found.slopes.tolist()) == (0, [0, 0, 0])
    assert np.isnan([found.coefficient, found.shrinkage]).all()
    assert expected_errors(np.full((3, 1), 0.2), np.full(3, NAN), np.full(3, NAN)).variance.tolist() == [1, 1, 1]
    # The prior may be wrong about everything: a coin then needs so many more votes.
    root = np.sqrt(found.variance[:2])
    assert root.mean() * np.mean(1 / root) < 1.05


def test_votes_teach_what_doubts_tell(rng):
    doubt = rng.random((200, 1))
    judge = np.clip(rng.random(200).round() + 0.0, 0, 1)
    wrong = rng.random(200) < doubt[:, 0] / 2
    people = np.where(np.arange(200) < 100, np.where(wrong, 1 - judge, judge), NAN)
    found = expected_errors(doubt, people, judge)
    known = slice(0, 100)
    y, f = people[known] - people[known].mean(), judge[known] - judge[known].mean()
    assert found.coefficient == pytest.approx(y @ f / (f @ f))
    squares = (y - found.coefficient * f) ** 2
    x = doubt[known, 0] - doubt[known, 0].mean()
    slope = x @ squares / (x @ x)
    explained = slope**2 * (x @ x)
    ratio = explained / (((squares - squares.mean()) ** 2).sum() - explained) * 98
    assert found.shrinkage == pytest.approx(1 - 1 / ratio)
    assert found.slopes == pytest.approx([found.shrinkage * slope / squares.mean()])
    assert found.variance == pytest.approx(np.maximum(1 + (doubt[:, 0] - doubt[known].mean()) * found.slopes[0], 0))
    assert found.fitted_on == 100
    assert expected_errors(doubt, np.where(np.arange(200) < 19, people, NAN), judge).fitted_on == 0


def test_doubts_of_a_coin_teach_next_to_nothing(rng):
    kept, spread = [], []
    for _ in range(100):
        people, judge = rng.random((2, 60)).round()
        found = expected_errors(rng.random((60, 3)), people, judge)
        root = active_weights(found.variance)
        kept.append(found.shrinkage)
        spread.append(root.mean() * np.mean(1 / root))
    assert np.median(kept) < 0.3
    assert np.mean(spread) < 1.05
