"""What a choice comes to: counts by bin, work and pay."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import ShapeError, UnknownValue
from analysis.planning.workload import combined, selection_by_bin, workload


def test_split_counts_by_hand() -> None:
    # Two bins over [0, 1]: 0.5 opens the second one, 1 closes it.
    found = selection_by_bin([0, 0.2, 0.5, 1, np.nan, np.nan, np.nan], [1, 3, 4], 2)
    assert found.edges.tolist() == [0, 0.5, 1]
    assert found.chosen.tolist() == [1, 1]
    assert found.left.tolist() == [1, 1]
    assert (found.chosen_undefined, found.left_undefined) == (1, 2)
    equal = selection_by_bin([0.3, 0.3, 0.3], [0], 10)
    assert (equal.edges.tolist(), equal.chosen.tolist(), equal.left.tolist()) == ([0.3, 0.3], [1], [2])
    none = selection_by_bin([np.nan, np.nan], [1], 10)
    assert (len(none.edges), len(none.chosen), none.chosen_undefined, none.left_undefined) == (0, 0, 1, 1)
    assert selection_by_bin([], [], 10).left_undefined == 0


@given(st.lists(st.one_of(st.floats(-1, 1), st.just(float("nan"))), max_size=60), st.integers(1, 20), st.data())
def test_split_counts_every_item_once(values: list[float], bins: int, data: st.DataObject) -> None:
    positions = data.draw(st.lists(st.sampled_from(range(len(values))), unique=True)) if values else []

    found = selection_by_bin(values, positions, bins)

    assert found.chosen.sum() + found.chosen_undefined == len(positions)
    assert found.left.sum() + found.left_undefined == len(values) - len(positions)


@pytest.mark.parametrize("positions", [[2], [-1]])
def test_split_refuses_what_is_not_there(positions: list[int]) -> None:
    with pytest.raises(UnknownValue):
        selection_by_bin([0.1, 0.2], positions, 2)
    with pytest.raises(ShapeError, match=r"\(1, 2\)"):
        selection_by_bin([[0.1, 0.2]], [0], 2)


def test_workload_by_hand() -> None:
    # 50 HITs × 3 raters = 150; 10 + 10 % checks: 150 / 0.8 = 187.5, to the even 188, so 38 checks.
    found = workload(
        hits=50, pairs_per_hit=5, raters_per_hit=3, check_share=0.2, minutes_per_hit=4, pay_per_hit=Decimal("1.20"),
        fee_percent=Decimal(40),
    )  # fmt: skip

    assert (found.hits, found.pairs, found.ratings, found.assignments, found.checks) == (50, 250, 750, 188, 38)
    assert found.hours == pytest.approx(188 * 4 / 60)
    assert (found.pay, found.fee, found.cost) == (Decimal("225.60"), Decimal("90.24"), Decimal("315.84"))
    assert (found.raters, found.hits_of_each) == (3, 63)  # 188 / 3
    # Without pay and time the cost is unknown, and not nothing.
    plain = workload(hits=2, pairs_per_hit=1, raters_per_hit=1)
    assert (plain.hours, plain.pay, plain.fee, plain.cost) == (None, None, None, None)
    assert workload(hits=2, pairs_per_hit=1, raters_per_hit=1, pay_per_hit=Decimal(0)).cost == 0
    nothing = workload(hits=0, pairs_per_hit=5, raters_per_hit=3, most_hits_per_rater=2)
    assert (nothing.raters, nothing.hits_of_each) == (0, 0)


@pytest.mark.parametrize(
    ("limits", "raters"),
    [
        ({}, 3),
        ({"most_hits_per_rater": 100}, 3),
        ({"most_hits_per_rater": 4}, 8),  # 30 / 4
        ({"most_in_study": 4}, 10),  # (30 + 10) / 4: checks count there
        ({"most_hits_per_rater": 2, "most_in_study": 4}, 15),
    ],
    ids=str,
)
def test_raters_needed_follow_from_the_limits(limits: dict[str, int], raters: int) -> None:
    assert workload(hits=10, pairs_per_hit=1, raters_per_hit=3, check_share=0.25, **limits).raters == raters  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [{"check_share": 1.0}, {"hits": -1}, {"most_hits_per_rater": 0}, {"most_in_study": 0}, {"fee_percent": Decimal(-1)}]
)  # fmt: skip
def test_workload_refuses_nonsense(wrong: dict[str, object]) -> None:
    with pytest.raises(UnknownValue):
        workload(**{"hits": 1, "pairs_per_hit": 1, "raters_per_hit": 1, **wrong})  # type: ignore[arg-type]


def test_works_of_several_batches_share_their_raters() -> None:
    # 4 HITs × 2 and 6 × 3 raters: 8 + 18. Two HITs of the second batch a rater need 18 / 2 = 9 raters, who may do the first
    # batch too; at most 2 HITs in the study need 26 / 2 = 13.
    works = [
        workload(hits=4, pairs_per_hit=1, raters_per_hit=2, minutes_per_hit=6, pay_per_hit=Decimal("0.50")),
        workload(hits=6, pairs_per_hit=5, raters_per_hit=3, minutes_per_hit=6, most_hits_per_rater=2),
    ]
    found = combined(works)

    assert (found.hits, found.pairs, found.ratings, found.assignments, found.raters) == (10, 34, 98, 26, 9)
    assert found.hours == pytest.approx(2.6)
    assert (found.pay, found.fee) == (None, None)  # of the second it is unknown
    assert combined(works, most_in_study=2).raters == 13
    assert combined(works[:1]) == works[0]
    assert (combined([]).hits, combined([]).raters) == (0, 0)
