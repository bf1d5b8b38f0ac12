"""A judge against gold: accuracy in each order, agreement of the orders, position, and sound rationales."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from analysis.errors import ShapeError, UnknownValue
from analysis.judges.accuracy import (
    MEASURES,
    AgainstGold,
    accuracy_sums,
    agreeing_accuracy_sums,
    both_right_sums,
    positional_agreement_sums,
    share,
    sound_when_wrong_sums,
    wrong_when_sound_sums,
)

pytestmark = pytest.mark.slow

NAN = np.nan
verdict = st.sampled_from([-1.0, 0.0, 1.0, NAN])


@st.composite
def judged(draw, *, asked=True):
    n = draw(st.integers(0, 7))
    verdicts = draw(hnp.arrays(float, (n, 2), elements=verdict))
    gold = draw(hnp.arrays(float, n, elements=verdict))
    was_asked = draw(hnp.arrays(bool, (n, 2))) if asked else np.ones((n, 2), dtype=bool)
    return AgainstGold(np.where(was_asked, verdicts, NAN), gold, was_asked)


def value(name, found):
    return share(MEASURES[name](found))


def values(found):
    return {name: value(name, found) for name in MEASURES}


def plain(found):
    """Every measure by going through the pairs one by one."""
    seen = {name: [] for name in MEASURES}
    for (ab, ba), gold, (asked_ab, asked_ba) in zip(found.verdict, found.gold, found.asked, strict=True):
        known = gold == gold
        answers = [v for v, asked in ((ab, asked_ab), (ba, asked_ba)) if asked and known]
        if answers:
            seen["accuracy"].append(sum(v == gold for v in answers) / len(answers))
        if asked_ab and known:
            seen["accuracy_ab"].append(ab == gold)
        if asked_ba and known:
            seen["accuracy_ba"].append(ba == gold)
        if asked_ab and asked_ba and known:
            seen["accuracy_both_orders_right"].append(ab == gold and ba == gold)
        if ab == ba and known:
            seen["accuracy_when_orders_agree"].append(ab == gold)
        if ab == ab and ba == ba:
            seen["positional_agreement"].append(ab == ba)
        seen["first_position_rate"] += [v == first for v, first in ((ab, -1), (ba, 1)) if v in (-1, 1)]
    return {name: float(np.mean(rows)) if rows else NAN for name, rows in seen.items()}


def test_measures_by_hand():
    # A is better in the first four pairs, B in the fifth.
    #            ab (A first)  ba (B first)
    # pair 1     A right       A right       agree, right
    # pair 2     A right       B wrong       the first text both times
    # pair 3     B wrong       B wrong       agree, wrong
    # pair 4     tie wrong     unparsed      never right, no vote
    # pair 5     B right       not asked
    found = AgainstGold(
        [[-1, -1], [-1, 1], [1, 1], [0, NAN], [1, NAN]],
        [-1, -1, -1, -1, 1],
        [[True, True], [True, True], [True, True], [True, True], [True, False]],
    )
    assert values(found) == {
        "accuracy": (1 + 0.5 + 0 + 0 + 1) / 5,
        "accuracy_ab": 3 / 5,  # pairs 1, 2 and 5
        "accuracy_ba": 1 / 4,  # pair 1 of the four that were asked this way round
        "accuracy_both_orders_right": 1 / 4,  # pair 1; pair 5 was asked once
        "accuracy_when_orders_agree": 1 / 2,  # pair 1 of pairs 1 and 3
        "positional_agreement": 2 / 3,  # pairs 1 and 3 of 1, 2 and 3: the others lack a verdict
        # First text: pair 1 once of two, pair 2 twice, pair 3 once of two, the tie is left out, pair 5 not: 4 of 7.
        "first_position_rate": 4 / 7,
    }


# Right answers of one judge on the four kinds of adversarial pairs, and their numbers, as tables 2 and 9 of
# "The Comparative Trap" print them: each kind to two decimals, the total over all pairs and not over the kinds.
PAIRS = (46, 92, 47, 134)
PUBLISHED = [
    pytest.param((19, 31, 19, 46), (41.30, 33.70, 40.43, 34.33), 36.05, id="pairwise"),
    pytest.param((13, 36, 22, 30), (28.26, 39.13, 46.81, 22.39), 31.66, id="chain-of-thought"),
    pytest.param((26, 57, 18, 66), (56.52, 61.96, 38.30, 49.25), 52.35, id="pointwise"),
    pytest.param((24, 59, 23, 67), (52.17, 64.13, 48.94, 50.00), 54.23, id="prepair"),
]


@pytest.mark.parametrize(("right", "kinds", "total"), PUBLISHED)
def test_published_tables_are_met(right, kinds, total):
    kind = np.repeat(np.arange(4), PAIRS)
    shown = np.concatenate([np.where(np.arange(n) < k, -1.0, 1.0) for k, n in zip(right, PAIRS, strict=True)])
    verdicts = np.stack([shown, np.full(len(shown), NAN)], axis=1)
    found = AgainstGold(verdicts, np.full(len(shown), -1.0), ~np.isnan(verdicts))
    sums = accuracy_sums(found, 0)
    assert [round(100 * share(sums[kind == one]), 2) for one in range(4)] == list(kinds)
    assert round(100 * share(sums), 2) == total
    assert value("accuracy", found) == share(sums)  # asked in one order, the mean over orders is that order's


# Counts over the published verdicts of GPT-4 (no rules in its prompt) on 100 natural and 92 adversarial pairs:
# both orders right, only the first, only the second, none. LLMBar's paper prints the mean accuracy and the agreement.
@pytest.mark.parametrize(
    ("both", "ab", "ba", "none", "accuracy", "agreement"),
    [pytest.param(92, 0, 3, 5, 93.5, 97.0, id="natural"), pytest.param(66, 5, 4, 17, 76.6, 90.2, id="gptinst")],
)
def test_published_accuracy_and_agreement_are_met(both, ab, ba, none, accuracy, agreement):
    rows = [[-1, -1]] * both + [[-1, 1]] * ab + [[1, -1]] * ba + [[1, 1]] * none
    found = AgainstGold(np.array(rows, dtype=float), [-1] * len(rows))
    assert round(100 * value("accuracy", found), 1) == accuracy
    assert round(100 * value("positional_agreement", found), 1) == agreement


@given(judged())
def test_measures_equal_the_plain_version(found):
    expected = plain(found)
    for name, number in values(found).items():
        np.testing.assert_allclose(number, expected[name], err_msg=name)


@given(judged(asked=False))
def test_without_a_third_argument_every_cell_was_asked(found):
    default = AgainstGold(found.verdict, found.gold)
    assert default.asked.all()
    np.testing.assert_allclose(list(values(default).values()), [plain(found)[name] for name in MEASURES])
    ab, ba, mean = (value(name, default) for name in ("accuracy_ab", "accuracy_ba", "accuracy"))
    assert mean == pytest.approx((ab + ba) / 2, nan_ok=True)


@given(judged())
def test_swapping_the_systems_swaps_the_orders_and_order_of_pairs_does_not_matter(found):
    swapped = values(AgainstGold(-found.verdict[::-1, ::-1], -found.gold[::-1], found.asked[::-1, ::-1]))
    swapped["accuracy_ab"], swapped["accuracy_ba"] = swapped["accuracy_ba"], swapped["accuracy_ab"]
    np.testing.assert_allclose(list(swapped.values()), list(values(found).values()))


@given(judged())
def test_measures_are_shares_that_fit_together(found):
    for name, sums in MEASURES.items():
        rows = sums(found)
        assert rows.shape == (len(found), 2)
        assert (rows[:, 0] <= rows[:, 1]).all(), name
    both, agreeing = both_right_sums(found), agreeing_accuracy_sums(found)
    assert (both[:, 0] == agreeing[:, 0] * found.counted.all(axis=1)).all()  # right in both is agreeing, and right
    assert (agreeing[:, 1] <= positional_agreement_sums(found)[:, 0]).all()


@pytest.mark.parametrize(
    ("found", "defined"),
    [
        pytest.param(AgainstGold(np.empty((0, 2)), np.empty(0)), {}, id="no-pairs"),
        pytest.param(AgainstGold([[NAN, NAN]], [-1], [[False, False]]), {}, id="nobody-asked"),
        pytest.param(
            AgainstGold([[-1, -1], [1, -1]], [NAN, NAN]),
            {"positional_agreement": 0.5, "first_position_rate": 0.25},
            id="no-gold",
        ),
    ],
)
def test_nothing_to_measure_is_undefined(found, defined):
    assert {name: number for name, number in values(found).items() if not np.isnan(number)} == defined


@pytest.mark.parametrize(
    ("call", "arguments", "error"),
    [
        pytest.param(AgainstGold, ([-1, 1], [-1]), ShapeError, id="one-order-only"),
        pytest.param(AgainstGold, ([[-1, 1]], [-1, 1]), ShapeError, id="more-gold-than-pairs"),
        pytest.param(AgainstGold, ([[-1, 1]], [-1], [True, True]), ShapeError, id="asked-of-another-shape"),
        pytest.param(AgainstGold, ([[2, 1]], [-1]), UnknownValue, id="unknown-verdict"),
        pytest.param(AgainstGold, ([[-1, 1]], [3]), UnknownValue, id="unknown-gold"),
        pytest.param(AgainstGold, ([[-1, 1]], [-1], [[True, False]]), UnknownValue, id="verdict-where-nobody-asked"),
        pytest.param(accuracy_sums, (AgainstGold([[-1, -1]], [-1]), 2), UnknownValue, id="third-order"),
        pytest.param(wrong_when_sound_sums, ([1], [1, 1], [1, 1]), ShapeError, id="marks-of-other-length"),
        pytest.param(wrong_when_sound_sums, ([[1]], [[1]], [[1]]), ShapeError, id="marks-not-in-columns"),
        pytest.param(wrong_when_sound_sums, ([-1], [1], [1]), UnknownValue, id="unknown-mark"),
        pytest.param(wrong_when_sound_sums, ([1], [2], [1]), UnknownValue, id="unknown-verdict-beside-a-mark"),
    ],
)
def test_what_does_not_fit_is_refused(call, arguments, error):
    with pytest.raises(error):
        call(*arguments)


def test_sound_rationales_by_hand():
    # Sound: right, wrong, wrong (a tie beside gold A), no verdict, no gold. Not sound: wrong. Not marked: wrong.
    sound = [1, 1, 1, 1, 1, 0, NAN]
    verdicts = [-1, 1, 0, NAN, -1, 1, 1]
    gold = [-1, -1, -1, -1, NAN, -1, -1]
    assert share(wrong_when_sound_sums(sound, verdicts, gold)) == 2 / 3
    assert share(sound_when_wrong_sums(sound, verdicts, gold)) == 2 / 3  # of the three marked wrong ones two are sound


def test_published_share_of_sound_rationales_is_met():
    # "The Comparative Trap", §3.3: of 100 wrong verdicts 64 came with an accurate explanation.
    sound = np.repeat([1.0, 0.0], [64, 36])
    assert share(sound_when_wrong_sums(sound, np.ones(100), -np.ones(100))) == 0.64


@given(hnp.arrays(float, (3, 6), elements=verdict))
def test_sound_rationales_equal_the_plain_version(columns):
    sound, verdicts, gold = np.where(columns[0] == -1, NAN, columns[0]), columns[1], columns[2]
    rows = [row for row in zip(sound, verdicts, gold, strict=True) if all(one == one for one in row)]
    of_sound = [v != g for s, v, g in rows if s == 1]
    of_wrong = [s == 1 for s, v, g in rows if v != g]
    for sums, expected in ((wrong_when_sound_sums, of_sound), (sound_when_wrong_sums, of_wrong)):
        np.testing.assert_allclose(share(sums(sound, verdicts, gold)), np.mean(expected) if expected else NAN)
