"""A judge against a single person's agreement with others: overall, two ways, and by separability bin."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.agreement.confusion import votes_agreement
from analysis.agreement.leave_one_out import leave_one_out_agreement
from analysis.errors import AnalysisError, ShapeError, UnknownValue
from analysis.intervals.jackknife import student_quantile, student_tail
from analysis.judges.non_inferiority import MOST_INSTANCES, instances_to_pass, non_inferiority, non_inferiority_by_bin

NAN = np.nan
A, TIE, B = -1.0, 0.0, 1.0


def crowd(rng, n=60, people=4, skill=0.7, judge_skill=0.9, pairs=2):
    """A study whose raters give the truth of a pair with these chances."""
    truth = rng.choice([A, B], n * pairs)
    votes = np.where(rng.random((n * pairs, people)) < skill, truth[:, np.newaxis], -truth[:, np.newaxis])
    return np.where(rng.random(n * pairs) < judge_skill, truth, -truth), votes, np.repeat(np.arange(n), pairs)


def plain(judge, people, instance):
    """The difference, its variance by leaving out one instance at a time, and the effective instances, in loops."""
    rows = []
    for unit, code in enumerate(instance):
        for h, vote in enumerate(people[unit]):
            others = [r for k, r in enumerate(people[unit]) if k != h and r == r]
            if vote == vote and judge[unit] == judge[unit] and others:
                rows.append((code, (vote == judge[unit]) - np.mean([r == vote for r in others])))
    codes = sorted({code for code, _ in rows})
    left = np.array([np.mean([d for code, d in rows if code != without]) for without in codes])
    variance = (len(codes) - 1) / len(codes) * ((left - left.mean()) ** 2).sum()
    sizes = np.array([sum(code == one for code, _ in rows) for one in codes])
    return np.mean([d for _, d in rows]), variance, sizes.sum() ** 2 / (sizes**2).sum()


def test_difference_by_hand():
    # Unit 1, judge A: votes A A B: 1 1 0, others 1/2 1/2 0: sum 1. Unit 2, judge B: votes tie tie: 0 0, others 1 1: sum -2.
    found = non_inferiority([A, B], [[A, A, B], [TIE, TIE, NAN]], [0, 1])
    assert found.difference == pytest.approx(-1 / 5)
    assert (found.judge_agreement, found.people_agreement) == (pytest.approx(2 / 5), pytest.approx(3 / 5))
    assert (found.n_votes, found.n_instances, found.n_people) == (5, 2, 3)


def test_default_arguments_equal_the_plain_version(rng):
    for judge_skill in (0.4, 0.7, 0.95):
        study = crowd(rng, skill=0.85, judge_skill=judge_skill)
        whole = non_inferiority(*study)
        assert whole.judge_agreement == pytest.approx(votes_agreement(*study[:2]).value)
        assert whole.people_agreement == pytest.approx(leave_one_out_agreement(study[1]).value)
        study[1][rng.random(study[1].shape) < 0.3] = NAN
        study[0][:7] = NAN
        found = non_inferiority(*study)
        difference, variance, n = plain(*study)
        reach = student_quantile(0.975, n - 1) * variance**0.5
        assert (found.difference, found.low, found.high) == pytest.approx(
            (difference, min(difference - reach, found.low), difference + reach)
        )
        assert found.skewness < 0 or found.low == pytest.approx(difference - reach)
        assert found.passes == (found.low > -0.1)
    assert found.passes


def test_margin_decides(rng):
    study = crowd(rng, judge_skill=0.6)
    low = non_inferiority(*study).low
    assert low < 0
    assert non_inferiority(*study, margin=-low + 1e-9).passes
    assert not non_inferiority(*study, margin=-low).passes


@pytest.mark.slow
@given(st.integers(0, 2**32), st.booleans())
def test_order_and_sides_play_no_part(seed, two_way):
    rng = np.random.default_rng(seed)
    judge, people, instance = crowd(rng, n=8, people=6)
    people[rng.random(people.shape) < 0.4] = NAN
    one = non_inferiority(judge, people, instance, two_way=two_way)
    rows, columns = rng.permutation(len(judge)), rng.permutation(people.shape[1])
    other = non_inferiority(-judge[rows], -people[np.ix_(rows, columns)], instance[rows] + 5, two_way=two_way)
    assert (other.difference, other.low, other.high) == pytest.approx((one.difference, one.low, one.high), nan_ok=True)
    assert other.refusal == one.refusal


def test_two_ways_widen_the_interval_where_people_differ(rng):
    judge, people, instance = crowd(rng, n=80, people=6)
    people[:, :3] = -judge[:, np.newaxis]  # three people are always against the judge
    one, two = (non_inferiority(judge, people, instance, two_way=way) for way in (False, True))
    assert two.difference == one.difference
    assert two.high - two.low > 3 * (one.high - one.low)


def test_four_people_or_instances_give_a_reason_and_five_an_interval(rng):
    assert non_inferiority(*crowd(rng, people=5, skill=0.9), two_way=True).refusal is None
    assert non_inferiority(*crowd(rng, n=5, pairs=8, skill=0.95)).refusal is None
    for few, two_way in (("people", True), ("instances", False)):
        study = crowd(rng, people=4) if two_way else crowd(rng, n=4)
        refused = non_inferiority(*study, two_way=two_way)
        assert (refused.passes, str(refused.refusal)) == (None, f"4 of the 5 {few} needed")
        assert np.isnan([refused.low, refused.difference]).tolist() == [True, False]
    judge, people, instance = crowd(rng, n=5, people=3)
    judge[:2] = NAN  # instances without a verdict do not count
    found = non_inferiority(judge, people, instance)
    assert (found.n_instances, found.without_judge, found.passes) == (4, 6, None)


def test_all_ties_leave_room_for_instances_that_differ():
    # No spread: 20 equal instances leave up to 1 - 0.025^(1/20) = .168 others, each of which may be at -1.
    found = non_inferiority(np.zeros(20), np.zeros((20, 3)), np.arange(20))
    assert found.difference == 0
    assert found.low == pytest.approx(0.025 ** (1 / 20) - 1)
    assert non_inferiority(np.zeros(40), np.zeros((40, 3)), np.arange(40)).low > -0.1
    # All of 40 instances alike agree by chance too.
    assert (found.people_by_chance, found.passes, found.refusal.what) == (1, None, "chance")


@pytest.mark.parametrize("people", [np.empty((0, 3)), np.empty((0, 0)), np.ones((30, 1))])
def test_nothing_and_one_rater_give_a_reason(people):
    found = non_inferiority(np.ones(len(people)), people, np.arange(len(people)))
    assert (found.passes, found.n_votes, str(found.refusal)) == (None, 0, "0 of the 5 instances needed")
    assert np.isnan([found.difference, found.low, found.judge_agreement, found.people_agreement]).all()


def bins_of(rng, skills, sizes):
    """Bins whose judges have these skills, and so many instances."""
    parts = [crowd(rng, n=n, skill=0.85, judge_skill=skill, pairs=1) for skill, n in zip(skills, sizes, strict=True)]
    judge, people = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    return judge, people, np.arange(len(judge)), np.repeat(np.arange(len(sizes)), sizes), len(sizes)


def test_sequence_goes_from_the_most_separable_bin_to_the_first_that_fails(rng):
    study = bins_of(rng, [0.98, 0.3, 0.98, 0.98], [60, 60, 60, 60])
    found = non_inferiority_by_bin(*study)
    assert [one.passes for one in found] == [None, False, True, True]
    assert str(found[0].refusal) == "a more separable bin did not pass"
    assert found[0].low > -0.1  # its numbers stay
    assert [one.refusal for one in found[1:]] == [None, None, None]
    # The numbers of a bin are those of its units alone.
    judge, people, instance, bins, _ = study
    bins[-10:] = -1
    last = slice(180, 230)
    alone = non_inferiority(judge[last], people[last], instance[last], margin=0.2, level=0.9)
    assert non_inferiority_by_bin(*study, margin=0.2, level=0.9)[3] == alone


def test_bin_that_is_too_small_to_tell_stops_the_sequence_and_an_empty_one_does_not(rng):
    judge, people, instance, bins, _ = bins_of(rng, [0.98, 0.98, 0.98], [60, 4, 60])
    small = non_inferiority_by_bin(judge, people, instance, bins, 3)
    assert [one.passes for one in small] == [None, None, True]
    assert [one.refusal.what for one in small[:2]] == ["sequence", "instances"]
    keep = bins != 1
    empty = non_inferiority_by_bin(judge[keep], people[keep], instance[keep], bins[keep], 3)
    assert [one.passes for one in empty] == [True, None, True]
    assert empty[1].refusal.found == 0


def test_interval_above_chance_by_hand():
    # Eight instances of each verdict, six with A A or B B, two with A B. Agreement 3/4; elsewhere an agreeing pair meets
    # 14 of 30, a mixed one 15 of 30: by chance (3 · 14/30 + 1/2) / 4 = 19/40.
    people = [[A, A], [B, B], [A, A], [B, B], [A, A], [B, B], [A, B], [A, B]] * 2
    found = non_inferiority([row[0] for row in people], people, np.arange(16), margin=0.3)
    assert found.people_by_chance == pytest.approx(19 / 40)
    # Per instance 1 - 28/30 + c (12 times) and 0 - 1 + c (4 times): apart by 16/15, with variance 3/16 · 16/15 (16/15) / 15.
    reach = student_quantile(0.975, 15) * (3 / 16 * (16 / 15) ** 2 / 15) ** 0.5
    above = found.above_chance
    assert found.people_above_chance == pytest.approx(11 / 40)
    assert (above.low, above.high) == (pytest.approx(11 / 40 - reach), pytest.approx(11 / 40 + reach))
    assert (found.passes, found.refusal) == (True, None)
    half = non_inferiority([row[0] for row in people[:8]], people[:8], np.arange(8))
    assert half.low > -0.5
    assert (half.passes, str(half.refusal)) == (None, "people are not shown to agree more than by chance")


def test_chance_is_within_groups_whichever_system_is_a_in_each(rng):
    group = np.repeat([7, 3], 60)
    votes = np.where(rng.random((120, 4)) < np.where(group == 7, 0.9, 0.1)[:, np.newaxis], A, B)  # one system preferred
    instance, mirror = np.tile(np.arange(60), 2), np.where(group == 7, 1, -1)
    found = non_inferiority(np.full(120, A), votes, instance, group=group)
    turned = non_inferiority(mirror * A, mirror[:, np.newaxis] * votes, instance, group=group)
    assert turned.above_chance == found.above_chance
    assert found.above_chance.low <= 0
    assert non_inferiority(np.full(120, A), votes, instance).above_chance.low > 0.2  # as of one group


def test_votes_of_a_group_with_one_instance_say_nothing_of_chance():
    people = [[A, A], [B, B], [A, B], [B, B]]
    found = non_inferiority([A, B, A, B], people, [0, 1, 2, 3], group=[0, 0, 0, 1])
    # Of the first three: A A meets 1 A 3 B, B B meets 3 A 1 B, A B meets 2 A 2 B. By chance (4 · 1/4 + 2 · 1/2) / 6.
    assert found.people_by_chance == pytest.approx(1 / 3)
    assert found.people_above_chance == pytest.approx(2 / 3 - 1 / 3)
    assert found.people_agreement == pytest.approx(3 / 4)
    alone = non_inferiority([A, B] * 10, [[A, A], [B, B]] * 10, np.arange(20), group=np.arange(20))
    assert np.isnan(alone.people_by_chance)
    assert (alone.passes, alone.refusal.what) == (None, "chance")


def test_bin_where_people_agree_by_chance_stops_the_sequence(rng):
    judge, people, instance, bins, n = bins_of(rng, [0.98, 0.98, 0.98], [60, 60, 60])
    middle = np.flatnonzero(bins == 1)
    people[middle] = rng.choice([A, B], (60, people.shape[1]))
    found = non_inferiority_by_bin(judge, people, instance, bins, n, margin=0.2)
    assert [one.passes for one in found] == [None, None, True]
    assert [one.refusal and one.refusal.what for one in found] == ["sequence", "chance", None]
    assert found[1].low > -0.2


def test_loss_beyond_the_margin_is_told_even_where_people_agree_by_chance(rng):
    found = non_inferiority(np.zeros(200), rng.choice([A, B], (200, 4)), np.arange(200))
    assert found.above_chance.low <= 0
    assert (found.passes, found.refusal) == (False, None)


def test_what_does_not_fit_is_refused(rng):
    study = crowd(rng, n=6, pairs=1)
    with pytest.raises(UnknownValue):
        non_inferiority(*study, margin=-0.1)
    with pytest.raises(UnknownValue):
        non_inferiority(*study, margin=NAN)
    with pytest.raises(AnalysisError, match="level"):
        non_inferiority(*study, level=1)
    with pytest.raises(ShapeError):
        non_inferiority_by_bin(*study, [0, 0], 1)
    with pytest.raises(ShapeError):
        non_inferiority(*study, group=[0, 0])
    for bins in ([0, 1, 2, 0, 0, 0], [-2, 1, 1, 0, 0, 0]):
        with pytest.raises(UnknownValue):
            non_inferiority_by_bin(*study, bins, 2)


def test_instances_to_pass_is_the_least_number_that_does(rng):
    found = replace(non_inferiority(*crowd(rng, n=40, judge_skill=0.66)), skewness=0.0)
    n = instances_to_pass(found, margin=0.1)
    spread, room = found.standard_error * 40**0.5, found.difference + 0.1

    def short(k):
        return (student_quantile(0.975, k - 1) + 0.8416212335729143) * spread / k**0.5 > room

    assert short(n - 1)
    assert not short(n)


def test_one_that_did_not_pass_needs_more_than_it_has_or_never_passes(rng):
    for seed in range(40):
        found = non_inferiority(*crowd(np.random.default_rng(seed), n=25, judge_skill=0.65))
        needed = instances_to_pass(found, margin=0.1)
        if not found.low > -0.1 and found.difference > -0.1:
            assert needed is None or needed > 25
    assert instances_to_pass(replace(found, skewness=0.0), margin=1.0) == 5
    worse = non_inferiority(*crowd(rng, n=40, judge_skill=0.4))
    # Worse than the margin, by just the margin, by less than can be told from it, and of an unknown spread.
    for margin in (0.1, -worse.difference, -worse.difference + 1e-6):
        assert instances_to_pass(worse, margin=margin) is None
    assert MOST_INSTANCES == 100_000
    assert instances_to_pass(non_inferiority(*crowd(rng, n=1)), margin=0.5) is None


@pytest.mark.parametrize("margin", [0.05, 0.1, 0.2, 0.5, 0.9999, 1.5])
def test_equal_instances_pass_with_as_many_as_their_limit_needs(margin):
    def of(n):
        return non_inferiority(np.full(n, A), np.full((n, 3), A), np.arange(n), margin=margin)

    needed = instances_to_pass(of(6), margin=margin)
    assert of(needed).low > -margin
    assert needed == 5 or not of(needed - 1).low > -margin


def judged_instances(right, n):
    """Three people who agree on every pair, and a judge that is right on the first `right` of n instances."""
    judge = np.where(np.arange(n) < right, A, B)
    return judge, np.full((n, 3), A), np.arange(n)


def test_p_value_by_hand_is_halls_where_few_instances_fail_clearly():
    # Nine differences of 0 and one of -1: mean -0.1, s² = 0.1, s/√n = 0.1; margin 0.3: Student's t = 0.2 / 0.1 = 2.
    # Skewness of 0 and -1 at 9 to 1: -(0.9 - 0.1) / √0.09 = -8/3; W = 0.2 / √0.1 = 0.6325.
    # W + γW²/3 + γ²W³/27 + γ/60 = 0.6325 - 0.3556 + 0.0666 - 0.0444 = 0.2991; √10 of it is 0.9458.
    found = non_inferiority(*judged_instances(9, 10), margin=0.3)
    assert found.skewness == pytest.approx(-8 / 3)
    assert found.p_value == pytest.approx(student_tail(0.9458, 9), abs=1e-4)
    assert found.p_value > student_tail(2, 9)


def test_p_value_is_students_where_the_differences_are_not_skewed_to_the_left(rng):
    found = non_inferiority(*judged_instances(1, 10), margin=0.95)  # one right, nine wrong: skewed to the right
    assert found.skewness == pytest.approx(8 / 3)
    assert found.p_value == pytest.approx(student_tail((found.difference + 0.95) / found.standard_error, 9))
    many = non_inferiority(*crowd(rng, n=200))
    assert many.p_value >= student_tail((many.difference + 0.1) / many.standard_error, 199)


def test_p_value_of_equal_instances_is_that_of_their_limit():
    for n in (20, 40):
        found = non_inferiority(*judged_instances(n, n), margin=0.1)
        assert (found.skewness, found.p_value) == (0.0, pytest.approx(0.9**n))
        at_limit = non_inferiority(*judged_instances(n, n), margin=0.1, level=1 - 2 * 0.9**n)
        assert at_limit.low == pytest.approx(-0.1)
    assert np.isnan(non_inferiority(*judged_instances(4, 4)).p_value)
    assert non_inferiority(*judged_instances(0, 20)).p_value == 1.0


def nearly_equal_instances(n, failed):
    """People agree on all of an instance's 60 votes but one on every other; the judge fails on all of `failed` instances."""
    truth = np.where(np.arange(n) // 2 % 2, A, B)[:, np.newaxis]
    votes, judge = np.repeat(truth, 60, axis=1).reshape(n, 20, 3), np.repeat(truth, 20, axis=1)
    votes[::2, 0, 0] *= -1
    judge[np.random.default_rng(0).permutation(n)[:failed]] *= -1
    return judge.ravel(), votes.reshape(-1, 3), np.repeat(np.arange(n), 20)


@pytest.mark.parametrize("margin", [0.1, 0.2])
@pytest.mark.parametrize("n", [6, 8, 14, 20, 28, 36, 50])
def test_a_judge_that_fails_wholly_on_some_instances_passes_as_rarely_as_the_level_says(n, margin):
    tests = [non_inferiority(*nearly_equal_instances(n, failed), margin=margin) for failed in range(n + 1)]
    first, last = tests[0].difference, tests[-1].difference
    fails = (first + margin) / (first - last)  # the share of all instances at which the difference is -margin
    chances = [math.comb(n, k) * fails**k * (1 - fails) ** (n - k) for k in range(n + 1)]
    assert sum(chance for chance, test in zip(chances, tests, strict=True) if test.passes) <= 0.025
    assert tests[0].p_value == pytest.approx(((1 - margin) / (1 + first)) ** n)
    needed = instances_to_pass(tests[0], margin=margin)
    assert non_inferiority(*nearly_equal_instances(needed, 0), margin=margin).passes
    assert not non_inferiority(*nearly_equal_instances(needed - 1, 0), margin=margin).passes


def test_more_instances_are_needed_at_a_stricter_level_and_for_skewed_differences():
    found = non_inferiority(*judged_instances(9, 10), margin=0.3)
    even = replace(found, skewness=0.0)
    plain, stricter = (instances_to_pass(even, margin=0.3, level=level) for level in (0.95, 0.975))
    skewed = instances_to_pass(found, margin=0.3, level=0.975)
    assert plain < stricter < skewed
    assert instances_to_pass(replace(found, skewness=2.0), margin=0.3) == plain


@pytest.mark.parametrize("n", [8, 20, 50, 100])
def test_a_judge_that_is_rarely_worse_is_covered(n: int) -> None:
    """People agree throughout; the judge fails on 5 % of votes, those of an instance alike (ICC .5): -.05 is the difference."""
    rng, studies = np.random.default_rng([5, n]), 300
    covered = 0
    for _ in range(studies):
        fails = rng.random((n, 3)) < rng.beta(0.05, 0.95, size=(n, 1))
        judge = np.where(fails, -1.0, 1.0).ravel()
        test = non_inferiority(judge, np.ones((3 * n, 2)), np.repeat(np.arange(n), 3))
        covered += test.low <= -0.05 <= test.high
    assert covered / studies >= 0.93 - 3 * (0.93 * 0.07 / studies) ** 0.5
