"""Spearman's rank correlation with ties, missing values and its interval."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.agreement.rank_correlation import kendall, rank_correlation, spearman
from analysis.errors import AnalysisError, ShapeError, UnknownValue


def plain_ranks(values: list[float]) -> list[float]:
    return [sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values]


def plain(x: list[float], y: list[float]) -> float:
    """Pearson's correlation of the ranks, straight from the definition."""
    if len(set(x)) < 2 or len(set(y)) < 2:
        return float("nan")
    return float(np.corrcoef(plain_ranks(x), plain_ranks(y))[0, 1])


def test_ties_share_the_mean_of_their_ranks() -> None:
    # Ranks 1.5 1.5 3 4 and 1 2 3.5 3.5, each less 2.5: -1 -1 .5 1.5 and -1.5 -.5 1 1.
    # Together 1.5 + .5 + .5 + 1.5 = 4; squares 4.5 and 4.5: 4 / 4.5.
    assert spearman([7, 7, 8, 9], [1, 2, 3, 3]) == pytest.approx(4 / 4.5)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        pytest.param([], [], id="empty"),
        pytest.param([1], [2], id="one"),
        pytest.param([1, 2], [np.nan, 2], id="one-known"),
        pytest.param([1, 1, 1], [1, 2, 3], id="constant"),
    ],
)
def test_undefined_is_nan(x: list[float], y: list[float]) -> None:
    assert np.isnan(spearman(x, y))
    found = rank_correlation(x, y, rng=np.random.default_rng(0), rounds=5)
    assert np.isnan(found.value)
    assert np.isnan(found.interval.low)


def test_missing_rows_are_left_out_and_counted() -> None:
    found = rank_correlation(
        [1, 2, np.nan, 3, 4], [1, 2, 9, np.nan, 4], rng=np.random.default_rng(0), rounds=50, level=0.9
    )
    assert (found.n, found.missing, found.value) == (3, 2, 1)
    assert found.interval.level == 0.9
    assert found.interval.rounds == 50


def test_bad_input_is_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ShapeError):
        spearman([1, 2], [1])
    with pytest.raises(UnknownValue):
        spearman([1, np.inf], [1, 2])
    for bad in ({"level": 1.0}, {"rounds": 0}):
        with pytest.raises(AnalysisError):
            rank_correlation([1, 2], [1, 2], rng=rng, **bad)


def test_interval_ranks_every_resample_again() -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 6, 30).astype(float)
    y = x + rng.normal(0, 2, 30).round()
    found = rank_correlation(x, y, rng=np.random.default_rng(1), rounds=200)
    draw_counts = np.random.default_rng(1).integers(30, size=(200, 30))
    values = [plain(x[rows].tolist(), y[rows].tolist()) for rows in draw_counts]
    assert [found.interval.low, found.interval.high] == pytest.approx(np.quantile(values, [0.025, 0.975]).tolist())


SMALL = st.integers(-3, 3).map(float)


@pytest.mark.slow
@given(st.lists(st.tuples(SMALL, SMALL), min_size=2, max_size=12))
def test_equals_the_definition_is_symmetric_and_bounded(rows: list[tuple[float, float]]) -> None:
    x, y = [row[0] for row in rows], [row[1] for row in rows]
    value = spearman(x, y)
    assert value == pytest.approx(plain(x, y), nan_ok=True)
    assert value == pytest.approx(spearman(y, x), nan_ok=True)
    assert spearman([-one for one in x], y) == pytest.approx(-value, nan_ok=True)
    assert spearman([one**3 for one in x], y) == pytest.approx(value, nan_ok=True)
    assert np.isnan(value) or -1 <= value <= 1


def test_kendall_by_hand_with_a_tie_and_a_gap() -> None:
    # Of the six pairs of the four known rows five are untied in x and all in y: 4 agree, 1 does not. 3 / sqrt(5 * 6).
    assert kendall([1, 2, 2, 3, 9], [1, 3, 2, 2.5, np.nan]) == pytest.approx(3 / np.sqrt(30))
    assert kendall([1, 2, 3], [6, 4, 2]) == -1
    assert np.isnan(kendall([1, 1], [1, 2]))
    assert np.isnan(kendall([1], [2]))
    with pytest.raises(ShapeError):
        kendall([1, 2], [1])


def test_copies_in_one_cluster_change_no_interval(rng: np.random.Generator) -> None:
    x, y = rng.integers(9, size=(2, 40)).astype(float)
    alone = rank_correlation(x, y, rng=np.random.default_rng(1), rounds=50)
    doubled = np.repeat(x, 2), np.repeat(y, 2)
    copied = rank_correlation(*doubled, rng=np.random.default_rng(1), rounds=50, clusters=np.repeat(np.arange(40), 2))
    assert (copied.interval.low, copied.interval.high) == pytest.approx((alone.interval.low, alone.interval.high))
    assert copied.n == 80
