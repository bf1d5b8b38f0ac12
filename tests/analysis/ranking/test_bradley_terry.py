"""Bradley-Terry and Davidson strengths."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import AnalysisError, ShapeError, UnknownValue
from analysis.ranking.bradley_terry import bradley_terry, fit_win_matrices, rating
from analysis.ranking.comparisons import WinMatrix, preference_cycles, resampled_win_matrices, win_matrix, win_rates

NAN = np.nan
CASES = ["two_files", "confounded_by_opponents", "cycle"]
rows_of_four = st.lists(
    st.tuples(
        st.permutations(range(4)).map(lambda order: order[:2]),
        st.sampled_from([0.0, 0.5, 1.0, NAN]),
        st.sampled_from([0.25, 1.0, 3.0]),
    ),
    max_size=40,
)


def columns(rows):
    a, b = np.array([pair for pair, *_ in rows], dtype=int).reshape(-1, 2).T
    return a, b, np.array([score for _, score, _ in rows]), np.array([weight for *_, weight in rows])


def rows_of_case(case):
    """Codes in the order of names, a row per comparison."""
    names = sorted(case["bradley_terry"])
    rows = [
        (names.index(row["a"]), names.index(row["b"]), score)
        for row in case["rows"]
        for count, score in ((row["a_wins"], 1), (row["ties"], 0.5), (row["b_wins"], 0))
        for _ in range(count)
    ]
    a, b, score = np.array(rows).T
    return names, a.astype(int), b.astype(int), score


def log_likelihood(theta, tie, matrix, prior):
    """As Davidson writes it, pair by pair; without ties (tie 0) a tie counts as half of each win."""
    total = 0.0
    for i, j in itertools.combinations(range(len(theta)), 2):
        up, down = math.exp((theta[i] - theta[j]) / 2), math.exp((theta[j] - theta[i]) / 2)
        below = up + down + tie
        total += matrix.won[i, j] * math.log(up / below) + matrix.won[j, i] * math.log(down / below)
        if tie:
            total += matrix.tied[i, j] * math.log(tie / below)
        else:
            total += matrix.tied[i, j] / 2 * (math.log(up / below) + math.log(down / below))
    for value, count in zip(theta, prior, strict=True):
        total += count / 2 * (-math.log1p(math.exp(-value)) - math.log1p(math.exp(value)))
    return total


@pytest.mark.parametrize("name", CASES)
def test_golden_strengths_and_ties_are_met(golden, name):
    case = golden("ranking_cases")[name]
    names, a, b, score = rows_of_case(case)
    fit = bradley_terry(a, b, score, n_systems=len(names))
    np.testing.assert_allclose(fit.strengths, [case["bradley_terry"][one] for one in names], atol=1e-9, rtol=0)
    np.testing.assert_allclose(rating(fit.strengths), [case["elo_scale"][one] for one in names], atol=1e-9, rtol=0)
    rates = win_rates(a, b, score, n_systems=len(names))
    np.testing.assert_allclose(rates, [case["win_rate_ties_half"][one] for one in names], atol=1e-9, rtol=0)
    assert fit.connected
    assert fit.tie is None
    davidson, tolerance = (
        bradley_terry(a, b, score, n_systems=len(names), ties="davidson"),
        case["tolerance"]["davidson"],
    )
    np.testing.assert_allclose(davidson.strengths, [case["davidson"][one] for one in names], atol=tolerance, rtol=0)
    assert davidson.tie == pytest.approx(case["davidson_nu"], abs=tolerance)
    for found in (fit, davidson):
        assert found.converged
        assert not found.by_prior.any()
    cycles = preference_cycles(win_matrix(a, b, score, n_systems=len(names)))
    assert (cycles == ((0, 1, 2),)) is (name == "cycle")


def test_two_systems_by_hand():
    # 3 wins, 1 loss, 2 ties: 4 of 6 points, so the log-odds are ln(4/2), halved around a mean of 0.
    a, b, score = [0] * 6, [1] * 6, [1, 1, 1, 0, 0.5, 0.5]
    fit = bradley_terry(a, b, score, n_systems=2)
    np.testing.assert_allclose(fit.strengths, [math.log(2) / 2, -math.log(2) / 2], atol=1e-12)
    np.testing.assert_allclose(rating(fit.strengths), 1000 + 200 * math.log10(2) * np.array([1, -1]))
    # Davidson: wins are as e^d to 1, so d = ln 3; ν = ties / sqrt(wins * losses) = 2 / sqrt(3).
    fit = bradley_terry(a, b, score, n_systems=2, ties="davidson")
    np.testing.assert_allclose(fit.strengths, [math.log(3) / 2, -math.log(3) / 2], atol=1e-12)
    assert fit.tie == pytest.approx(2 / math.sqrt(3), rel=1e-12)


@pytest.mark.slow
@settings(deadline=None)
@given(rows_of_four, st.sampled_from(["half", "davidson"]), st.integers(0, 99))
def test_no_step_away_from_the_fit_is_likelier(rows, ties, seed):
    a, b, score, weight = columns(rows)
    fit = bradley_terry(a, b, score, n_systems=4, weights=weight, ties=ties)
    assert fit.converged
    matrix = win_matrix(a, b, score, n_systems=4, weights=weight)
    met = ~np.isnan(fit.strengths)
    np.testing.assert_array_equal(met, matrix.played.any(axis=1))
    for one in set(fit.component.tolist()) - {-1}:
        assert fit.strengths[fit.component == one].mean() == pytest.approx(0, abs=1e-12)
    assert fit.connected == (set(fit.component.tolist()) == {0})
    theta, tie = np.where(met, fit.strengths, 0), fit.tie or 0.0
    if not np.isfinite(tie):
        assert not matrix.won.any()
        assert not theta.any()
        return
    # The prior holds the mean of its component's strengths at a place of its own.
    theta = theta + shift_to_the_prior(theta, fit)
    best = log_likelihood(theta, tie, matrix, fit.by_prior)
    for step in np.random.default_rng(seed).normal(scale=0.01, size=(20, 5)):
        moved = log_likelihood(theta + step[:4], tie * math.exp(step[4]), matrix, fit.by_prior)
        assert moved <= best + 1e-9


def shift_to_the_prior(theta, fit):
    """What each component was moved by to have mean 0: where its prior's slopes cancel, found by bisection."""
    shift = np.zeros(len(theta))
    for one in set(fit.component[fit.by_prior].tolist()):
        inside = fit.component == one
        low, high = -50.0, 50.0
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if np.tanh((theta[inside] + middle) / 2).sum() < 0 else (low, middle)
        shift[inside] = low
    return shift


@pytest.mark.slow
@settings(deadline=None)
@given(rows_of_four, st.permutations(range(4)), st.sampled_from(["half", "davidson"]))
def test_naming_order_and_sides_do_not_matter(rows, names, ties):
    a, b, score, weight = columns(rows)
    fit = bradley_terry(a, b, score, n_systems=4, weights=weight, ties=ties)
    renamed = np.array(names)
    other = bradley_terry(
        renamed[b][::-1], renamed[a][::-1], 1 - score[::-1], n_systems=4, weights=weight[::-1], ties=ties
    )
    np.testing.assert_allclose(other.strengths[renamed], fit.strengths, atol=1e-7)
    np.testing.assert_array_equal(other.by_prior[renamed], fit.by_prior)


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_separation_is_finite_by_the_prior_and_said(ties):
    # 0 never loses a point to the others, which share theirs; 3 and 4 are a component of their own without separation.
    a, b, score = [0, 0, 1, 2, 3, 3], [1, 2, 2, 1, 4, 4], [1, 1, 1, 1, 1, 0]
    fit = bradley_terry(a, b, score, n_systems=5, ties=ties)
    np.testing.assert_array_equal(fit.by_prior, [True, True, True, False, False])
    assert np.isfinite(fit.strengths).all()
    assert fit.strengths[0] > fit.strengths[1] == pytest.approx(fit.strengths[2])
    assert fit.converged


def test_prior_of_separation_by_hand():
    # One win of 0 over 1 and a tie of each with a system at 0. By symmetry s = -s': the slope 1 / (1 + e^(2 s)) of the
    # win equals tanh(s / 2) / 2 of the prior.
    fit = bradley_terry([0], [1], [1], n_systems=2)
    top, bottom = fit.strengths
    assert top == -bottom
    assert 1 / (1 + math.exp(2 * top)) == pytest.approx(math.tanh(top / 2) / 2, rel=1e-9)


def test_davidson_needs_the_prior_where_wins_and_ties_form_grades():
    # Wins and ties, and no loss: ever larger strengths with an ever larger ν fit better, though half-wins go both ways.
    graded = bradley_terry([0] * 3, [1] * 3, [1, 1, 0.5], n_systems=2, ties="davidson")
    assert graded.by_prior.all()
    assert graded.converged
    assert graded.strengths[0] > 0
    assert np.isfinite(graded.tie)
    assert not bradley_terry([0] * 3, [1] * 3, [1, 1, 0.5], n_systems=2).by_prior.any()
    # Three grades: 0 ties with 1, 1 with 2, and 0 beats 2. A win of 2 over 0 leaves no grades.
    a, b, score = [0, 1, 0], [1, 2, 2], [0.5, 0.5, 1]
    assert bradley_terry(a, b, score, n_systems=3, ties="davidson").by_prior.all()
    assert not bradley_terry([*a, 2], [*b, 0], [*score, 1], n_systems=3, ties="davidson").by_prior.any()


def test_all_ties_are_equal_strengths_and_davidson_without_one_is_bradley_terry():
    a, b, score = [0, 1, 0], [1, 2, 2], [0.5] * 3
    fit = bradley_terry(a, b, score, n_systems=3)
    np.testing.assert_array_equal(fit.strengths, [0, 0, 0])
    assert not fit.by_prior.any()
    davidson = bradley_terry(a, b, score, n_systems=3, ties="davidson")
    np.testing.assert_array_equal(davidson.strengths, [0, 0, 0])
    assert davidson.tie == np.inf
    a, b, score = [0, 0, 0, 1, 2], [1, 1, 1, 2, 0], [1, 1, 0, 1, 1]
    davidson = bradley_terry(a, b, score, n_systems=3, ties="davidson")
    np.testing.assert_allclose(davidson.strengths, bradley_terry(a, b, score, n_systems=3).strengths, atol=1e-12)
    assert davidson.tie == 0


def test_disconnected_systems_are_ranked_within_their_components():
    # 0 and 2 share points 3 to 1, 1 and 4 1 to 1; 3 is never compared.
    a, b, score = [0, 0, 0, 2, 1, 4], [2, 2, 2, 0, 4, 1], [1] * 6
    fit = bradley_terry(a, b, score, n_systems=5)
    np.testing.assert_array_equal(fit.component, [0, 1, 0, -1, 1])
    half = math.log(3) / 2
    np.testing.assert_allclose(fit.strengths, [half, 0, -half, NAN, 0], atol=1e-12)
    assert not fit.connected
    assert not fit.by_prior.any()


@pytest.mark.parametrize("ties", ["half", "davidson"])
@pytest.mark.parametrize("n_systems", [0, 1, 3])
def test_no_comparison_gives_no_strength(n_systems, ties):
    for rows in (([], [], []), ([0], [1], [NAN])) if n_systems > 1 else (([], [], []),):
        fit = bradley_terry(*rows, n_systems=n_systems, ties=ties)
        np.testing.assert_array_equal(fit.strengths, [NAN] * n_systems)
        assert fit.converged
        assert fit.connected == (n_systems == 0)


def test_lopsided_counts_still_converge():
    # A chain of 12 systems, each beating the next 10^6 times and losing once: gaps of ln 10^6.
    a, b = np.arange(11), np.arange(1, 12)
    fit = bradley_terry([*a, *b], [*b, *a], [1] * 22, n_systems=12, weights=[1e6] * 11 + [1.0] * 11)
    np.testing.assert_allclose(-np.diff(fit.strengths), math.log(1e6), rtol=1e-6)
    assert fit.converged


@pytest.mark.slow
def test_stacked_rounds_equal_single_fits(rng):
    # Few comparisons of many systems: some rounds are separated, disconnected or miss a system.
    a = rng.integers(5, size=16)
    b = (a + rng.integers(1, 5, size=16)) % 5
    score = rng.choice([0, 0.5, 1], p=[0.2, 0.3, 0.5], size=16)
    drawn = resampled_win_matrices(
        a, b, score, n_systems=5, rng=rng, clusters=np.arange(16) // 2, rounds=60, weights=rng.uniform(0.5, 2, size=16)
    )
    for ties in ("half", "davidson"):
        together = fit_win_matrices(drawn, ties=ties)
        assert together.converged.all()
        assert together.by_prior.any()
        assert not together.by_prior.all()
        for number in range(60):
            alone = fit_win_matrices(WinMatrix(drawn.won[number], drawn.tied[number]), ties=ties)
            np.testing.assert_allclose(together.strengths[number], alone.strengths, atol=1e-9)
            np.testing.assert_array_equal(together.by_prior[number], alone.by_prior)
            np.testing.assert_allclose(together.tie[number], alone.tie, rtol=1e-8)


@pytest.mark.parametrize(
    ("won", "tied", "error"),
    [
        pytest.param(np.zeros((2, 3)), np.zeros((2, 3)), ShapeError, id="not-square"),
        pytest.param(np.zeros(3), np.zeros(3), ShapeError, id="one-axis"),
        pytest.param(np.zeros((2, 2)), np.zeros((3, 3)), ShapeError, id="unlike"),
        pytest.param(np.eye(2), np.zeros((2, 2)), AnalysisError, id="against-itself"),
        pytest.param(np.zeros((2, 2)), np.array([[0, -1], [-1, 0]]), AnalysisError, id="negative"),
        pytest.param(np.array([[0, NAN], [0, 0]]), np.zeros((2, 2)), AnalysisError, id="nan"),
    ],
)
def test_bad_matrices_are_refused(won, tied, error):
    with pytest.raises(error):
        fit_win_matrices(WinMatrix(won, tied))


def test_bad_arguments_are_refused():
    with pytest.raises(UnknownValue):
        bradley_terry([0], [1], [1], n_systems=2, ties="drop")
    for measure in (bradley_terry, win_rates):
        with pytest.raises(UnknownValue):
            measure([0], [2], [1], n_systems=2)


@pytest.mark.slow
def test_extreme_weights_have_a_result(rng):
    # Without halved steps and a regular matrix, some of these end in a singular matrix.
    met = rng.random((2, 500, 5, 5)) < 0.5
    won, tied = 10 ** rng.uniform(-3, 5, (2, 500, 5, 5)) * met * ~np.eye(5, dtype=bool)
    fits = fit_win_matrices(WinMatrix(won, tied + tied.swapaxes(1, 2)), ties="davidson")
    assert np.isfinite(fits.strengths[fits.component >= 0]).all()
    assert fits.converged.mean() > 0.95


def test_ties_within_a_cycle_that_no_grades_fit_have_a_finite_share():
    # 0 beats 1 beats 2, and 2 ties with 0, which is two grades above: however large ν, no grades fit.
    fit = bradley_terry([0, 1, 0], [1, 2, 2], [1, 1, 0.5], n_systems=3, ties="davidson")
    assert np.isfinite(fit.tie)
    assert not fit.by_prior.any()
    assert fit.converged
