"""May a judge stand in for people: the alternative-annotator test."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import ShapeError, UnknownValue
from analysis.intervals.jackknife import student_tail
from analysis.judges.replacement import alternative_annotator_test

NAN = np.nan
A, TIE, B = -1.0, 0.0, 1.0
verdict = st.sampled_from([A, TIE, B, NAN])


@st.composite
def studies(draw):
    """Judge, people and instances of a small study."""
    n, people = draw(st.integers(0, 10)), draw(st.integers(1, 4))
    column = st.lists(verdict, min_size=n, max_size=n)
    votes = draw(st.lists(column, min_size=people, max_size=people))
    instance = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    return np.array(draw(column)), np.array(votes).T.reshape(n, people), np.array(instance, dtype=int)


def plain_gaps(judge, people, instance):
    """Per person the wins of the person less those of the judge, by instance, all in loops."""
    gaps = []
    for h in range(people.shape[1]):
        found = []
        for code in sorted(set(instance.tolist())):
            pairs = []
            for unit in np.flatnonzero(instance == code):
                others = [r for k, r in enumerate(people[unit]) if k != h and r == r]
                if people[unit, h] == people[unit, h] and judge[unit] == judge[unit] and others:
                    pairs.append(
                        (np.mean([r == people[unit, h] for r in others]), np.mean([r == judge[unit] for r in others]))
                    )
            if pairs:
                own, judges = np.mean(pairs, axis=0)
                found.append(float(own >= judges - 1e-9) - float(judges >= own - 1e-9))
        gaps.append(np.array(found))
    return gaps


def plain_winning_rate(gaps, epsilon):
    p = []
    for gap in gaps:
        error = gap.std(ddof=1) / len(gap) ** 0.5
        p.append(student_tail((epsilon - gap.mean()) / error, len(gap) - 1) if error else float(gap.mean() >= epsilon))
    order = np.argsort(p)
    bounds = np.arange(1, len(p) + 1) / len(p) * 0.05 / sum(1 / k for k in range(1, len(p) + 1))
    below = np.flatnonzero(np.array(p)[order] <= bounds)
    return (below[-1] + 1) / len(p) if len(below) else 0.0


def crowd(rng, n=60, people=4, skill=0.7, judge_skill=0.9):
    """A study of one pair an instance, whose raters give the truth with these chances."""
    truth = rng.choice([A, B], n)
    votes = np.where(rng.random((n, people)) < skill, truth[:, np.newaxis], -truth[:, np.newaxis])
    return np.where(rng.random(n) < judge_skill, truth, -truth), votes, np.arange(n)


def test_wins_by_hand():
    # Instance 0, pair 0: person 0 says A, others A B: share 1/2; the judge, B: 1/2. Pair 1: person 0 says B, others B B: 1;
    # the judge, tie: 0. Means 3/4 and 1/4: person 0 wins. Instance 1: person 0 says tie, others A A: 0; the judge, A: 1.
    people = [[A, A, B], [B, B, B], [TIE, A, A]]
    found = alternative_annotator_test([B, TIE, A], people, [0, 0, 1], min_instances=1)
    assert [test.n_instances for test in found.people] == [2, 2, 2]
    assert (found.people[0].judge_wins, found.people[0].person_wins) == (0.5, 0.5)
    # Person 1, instance 0: pair 0 against A B 1/2, the judge 1/2; pair 1: 1 and 0: the person. Instance 1, against tie A:
    # 1/2 each: both. Person 2, instance 0: pair 0 against A A: 0 and the judge 0; pair 1: 1 and 0: the person; instance 1: both.
    for person in (1, 2):
        assert (found.people[person].judge_wins, found.people[person].person_wins) == (0.5, 1.0)
    assert found.advantage == 0.5


def test_p_value_by_hand():
    # Person 0 against person 1 who says A throughout, 40 instances: the judge says A on 30 of them, the person on 20. On 10 only
    # the judge wins (gap -1), on 30 it is a draw or both miss (0): mean -1/4, s² = 7.5 / 39, t = 0.35 / sqrt(7.5 / 39 / 40).
    people = np.full((40, 2), A)
    people[20:, 0] = B
    judge = np.where(np.arange(40) < 30, A, B)
    person = alternative_annotator_test(judge, people, np.arange(40)).people[0]
    assert person.judge_wins == 1.0
    assert person.person_wins == 0.75
    assert person.p_value == pytest.approx(student_tail(0.35 / (7.5 / 39 / 40) ** 0.5, 39))


@pytest.mark.slow
@settings(max_examples=60)
@given(studies(), st.floats(-0.5, 0.9))
def test_winning_rate_equals_the_plain_version(study, epsilon):
    found = alternative_annotator_test(*study, epsilon=epsilon, min_instances=2, min_people=1)
    gaps = [gap for gap in plain_gaps(*study) if len(gap) >= 2]
    if not gaps:
        assert found.refusal is not None
        assert np.isnan(found.winning_rate)
        return
    assert found.winning_rate == plain_winning_rate(gaps, epsilon)
    assert found.winning_rates.tolist() == [plain_winning_rate(gaps, one) for one in found.epsilons]


def test_default_arguments_equal_the_plain_version_and_a_better_judge_passes(rng):
    found = []
    for judge_skill in (0.3, 0.5, 0.7, 0.98):
        study = crowd(rng, judge_skill=judge_skill)
        found.append(alternative_annotator_test(*study))
        assert found[-1].winning_rate == plain_winning_rate(plain_gaps(*study), 0.1)
    worse, *_, better = found
    assert (better.passes, better.winning_rate) == (True, 1.0)
    assert (worse.passes, worse.winning_rate) == (False, 0.0)
    assert better.advantage > 0.8 > worse.advantage
    assert all(person.rejected for person in better.people)


def test_judge_who_repeats_a_person_is_neither_better_nor_worse_than_that_person(rng):
    _, votes, instance = crowd(rng)
    person = alternative_annotator_test(votes[:, 2], votes, instance).people[2]
    assert (person.judge_wins, person.person_wins, person.p_value) == (1.0, 1.0, 0.0)
    assert alternative_annotator_test(votes[:, 2], votes, instance, epsilon=0).people[2].p_value == 1.0


@pytest.mark.slow
@given(studies())
def test_order_of_people_and_rows_and_sides_play_no_part(study):
    judge, people, instance = study
    one = alternative_annotator_test(*study, min_instances=2, min_people=1)
    other = alternative_annotator_test(-judge[::-1], -people[::-1, ::-1], instance[::-1], min_instances=2, min_people=1)
    np.testing.assert_array_equal(other.winning_rates, one.winning_rates)
    last = people.shape[1] - 1
    assert {last - test.person: (test.n_instances, test.judge_wins) for test in other.people} == {
        test.person: (test.n_instances, test.judge_wins) for test in one.people
    }


def test_person_with_29_instances_is_left_out_and_with_30_is_not(rng):
    judge, votes, instance = crowd(rng)
    votes[29:, 3] = NAN
    short = alternative_annotator_test(judge, votes, instance)
    assert [(test.n_instances, test.tested) for test in short.people][3] == (29, False)
    assert not short.people[3].rejected
    assert short.passes is not None
    judge, votes, instance = crowd(rng)
    votes[30:, 3] = NAN
    assert alternative_annotator_test(judge, votes, instance).people[3].tested


def test_two_people_give_no_verdict_and_three_do(rng):
    judge, votes, instance = crowd(rng, people=3)
    assert alternative_annotator_test(judge, votes, instance).refusal is None
    refused = alternative_annotator_test(judge, votes[:, :2], instance)
    assert refused.passes is None
    assert np.isnan([refused.winning_rate, *refused.winning_rates]).all()
    assert str(refused.refusal) == "2 of the 3 people needed rated enough instances"
    assert [test.tested for test in refused.people] == [True, True]


def test_units_without_a_verdict_are_left_out_and_counted(rng):
    judge, votes, instance = crowd(rng)
    whole = alternative_annotator_test(judge[5:], votes[5:], instance[5:])
    judge[:5] = NAN
    votes[0, 1:] = NAN  # one vote, beside nobody's: not counted
    found = alternative_annotator_test(judge, votes, instance)
    assert found.people == whole.people
    assert (found.without_judge, whole.without_judge) == (16, 0)


def test_all_ties_are_draws():
    found = alternative_annotator_test(np.zeros(40), np.zeros((40, 3)), np.arange(40))
    assert (found.winning_rate, found.advantage, found.passes) == (1.0, 1.0, True)
    assert alternative_annotator_test(np.zeros(40), np.zeros((40, 3)), np.arange(40), epsilon=0).winning_rate == 0.0


@pytest.mark.parametrize("people", [np.empty((0, 3)), np.empty((0, 0)), np.zeros((40, 1))])
def test_nothing_and_one_rater_give_a_reason(people):
    found = alternative_annotator_test(np.zeros(len(people)), people, np.arange(len(people)))
    assert (found.people, found.passes, found.refusal.found, found.without_judge) == ((), None, 0, 0)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShapeError):
        alternative_annotator_test([1], [[1, 1], [1, 1]], [0])
    with pytest.raises(ShapeError):
        alternative_annotator_test([1, 1], [[1, 1], [1, 1]], [0])
    with pytest.raises(UnknownValue):
        alternative_annotator_test([2, 1], [[1, 1], [1, 1]], [0, 1])
    with pytest.raises(UnknownValue):
        alternative_annotator_test([1], [[1, 1]], [0], epsilon=NAN)


def test_numbers_of_the_published_code_are_met():
    # The steps of github.com/nitaytech/AltTest with SciPy's ttest_1samp on the same votes, ε = 0.1.
    k = np.arange(36)
    votes = np.stack([np.where(k * m % q < c, B, A) for m, q, c in ((3, 7, 5), (5, 11, 8), (9, 13, 8))], axis=1)
    found = alternative_annotator_test(np.where(k * 7 % 10 < 7, B, A), votes, k)
    expected = [0.010323046877001028, 0.010323046877001035, 0.0781002339251013]
    assert [person.p_value for person in found.people] == pytest.approx(expected, abs=1e-12)
    assert found.advantage == pytest.approx(0.9166666666666666)
    assert found.winning_rate == pytest.approx(2 / 3)
