"""Measures beside the field's own packages, on the same draws: equal to 1e-6, at default arguments where both have them."""

from types import ModuleType

import numpy as np
import pytest

from analysis.agreement.coefficients import krippendorff_alpha
from analysis.agreement.confusion import cohen_kappa
from analysis.agreement.dawid_skene import dawid_skene
from analysis.ranking.bradley_terry import bradley_terry
from analysis.ranking.comparisons import win_rates
from analysis.ranking.elo import elo

pytestmark = pytest.mark.slow  # the packages take seconds to import
CLOSE = {"atol": 1e-6, "rtol": 0}
N_SYSTEMS = 6


@pytest.fixture(scope="module")
def evalica() -> ModuleType:
    import evalica

    return evalica


@pytest.fixture(params=range(5))
def comparisons(request):
    """Comparisons of six systems by strengths of their own, with ties and weights."""
    rng = np.random.default_rng(request.param)
    strengths = rng.normal(size=N_SYSTEMS)
    a = rng.integers(N_SYSTEMS, size=500)
    b = (a + rng.integers(1, N_SYSTEMS, size=500)) % N_SYSTEMS
    won = rng.random(500) < 1 / (1 + np.exp(strengths[b] - strengths[a]))
    score = np.where(rng.random(500) < 0.2, 0.5, won)
    return a, b, score, rng.uniform(0.2, 2, size=500)


def winners(evalica, score):
    """The scores of A as evalica names them."""
    names = {1.0: evalica.Winner.X, 0.5: evalica.Winner.Draw, 0.0: evalica.Winner.Y}
    return [names[one] for one in score.tolist()]


def in_order(result):
    return result.scores.sort_index().to_numpy()


@pytest.mark.parametrize("weighted", [False, True])
def test_bradley_terry_is_evalicas(evalica, comparisons, weighted):
    a, b, score, weight = comparisons
    weights = weight if weighted else None
    # evalica has a tie count as a weight of 0.5 for both; its scores are exp(strength) up to a factor.
    result = evalica.bradley_terry(
        a.tolist(), b.tolist(), winners(evalica, score), weights=weights, tolerance=1e-14, limit=100_000
    )
    known = np.log(in_order(result))
    found = bradley_terry(a, b, score, n_systems=N_SYSTEMS, weights=weights)
    np.testing.assert_allclose(found.strengths, known - known.mean(), **CLOSE)


def test_elo_is_evalicas(evalica, comparisons):
    a, b, score, _ = comparisons
    known = in_order(evalica.elo(a.tolist(), b.tolist(), winners(evalica, score)))
    np.testing.assert_allclose(elo(a, b, score, n_systems=N_SYSTEMS), known, **CLOSE)


def test_win_rates_are_evalicas_counts(evalica, comparisons):
    a, b, score, _ = comparisons
    wins = in_order(evalica.counting(a.tolist(), b.tolist(), winners(evalica, score)))
    played = np.bincount(np.concatenate([a, b]))
    np.testing.assert_allclose(win_rates(a, b, score, n_systems=N_SYSTEMS), wins / played, **CLOSE)


def test_bradley_terry_is_logistic_regression(comparisons):
    from sklearn.linear_model import LogisticRegression

    a, b, score, weight = comparisons
    design = np.zeros((500, N_SYSTEMS))
    design[np.arange(500), a], design[np.arange(500), b] = 1, -1
    # A tie is half a win and half a loss: each comparison twice, as won and as lost.
    model = LogisticRegression(C=1e9, fit_intercept=False, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    model.fit(
        np.vstack([design, design])[:, 1:],  # the first system's strength is 0
        np.repeat([1, 0], 500),
        sample_weight=np.concatenate([weight * score, weight * (1 - score)]),
    )
    known = np.append(0, model.coef_[0])
    found = bradley_terry(a, b, score, n_systems=N_SYSTEMS, weights=weight)
    np.testing.assert_allclose(found.strengths, known - known.mean(), **CLOSE)


def test_kappa_is_scikit_learns(rng):
    from sklearn.metrics import cohen_kappa_score

    for _ in range(10):
        one = rng.integers(-1, 2, size=60)
        other = np.where(rng.random(60) < 0.6, one, rng.integers(-1, 2, size=60))
        assert cohen_kappa(one, other) == pytest.approx(cohen_kappa_score(one, other), abs=1e-6)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_is_evalicas(evalica, rng, level):
    units = rng.integers(-1, 2, size=(40, 4)).astype(float)
    units[rng.random(units.shape) < 0.3] = np.nan
    frame = evalica.pd.DataFrame(units.T)  # raters are rows there
    assert krippendorff_alpha(units, level) == pytest.approx(evalica.alpha(frame, level).alpha, abs=1e-6)


@pytest.mark.weekly
@pytest.mark.filterwarnings("ignore:The (inplace|copy) keyword")
def test_dawid_skene_is_crowd_kits(rng):
    import pandas
    from crowdkit.aggregation.classification.dawid_skene import DawidSkene

    truth = rng.integers(-1, 2, size=120)
    skill = [0.9, 0.8, 0.7, 0.6, 0.75]
    votes = np.stack([np.where(rng.random(120) < one, truth, rng.integers(-1, 2, size=120)) for one in skill], axis=1)
    votes = np.where(rng.random(votes.shape) < 0.2, np.nan, votes)
    unit, rater = np.nonzero(~np.isnan(votes))
    rows = pandas.DataFrame({"task": unit, "worker": rater, "label": votes[unit, rater].astype(int)})
    model = DawidSkene(n_iter=300, tol=0)
    known = model.fit_predict_proba(rows).sort_index(axis=0).sort_index(axis=1).to_numpy()
    found = dawid_skene(votes)
    rated = np.unique(unit)
    np.testing.assert_allclose(found.posterior[rated], known, atol=1e-6)
    errors = model.errors_.sort_index()
    for one in range(len(skill)):
        confusion = errors.loc[one].reindex(index=[-1, 0, 1], columns=[-1, 0, 1]).to_numpy().T
        np.testing.assert_allclose(found.confusion[one], confusion, atol=1e-6)
