"""Logistic curves through shares at values x, of many samples at once: Newton's method, and where no finite curve exists.

Everywhere x is (n,), what was won or lost and the number of sets are (rounds, n), a row for each sample.
"""

import numpy as np

from analysis.types import BoolArray, FloatArray

MAX_ITERATIONS = 100
MAX_HALVINGS = 30
TOLERANCE = 1e-9  # of the number of sets: a gradient below this is none
MIN_DETERMINANT = 1e-14


def separation(x: FloatArray, won: FloatArray, lost: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the slope of each round, (rounds,), infinite under complete separation, and the step that separates."""
    rounding = TOLERANCE * np.maximum(won + lost, 1)
    good, bad = won > rounding, lost > rounding
    (least_good, most_good), (least_bad, most_bad) = ends(x, good), ends(x, bad)
    both = good.any(axis=1) & bad.any(axis=1)
    varies = np.minimum(least_good, least_bad) < np.maximum(most_good, most_bad)
    rising, falling = both & varies & (most_bad <= least_good), both & varies & (most_good <= least_bad)
    slope = np.select([rising, falling], [np.inf, -np.inf], np.nan)
    step = np.full(len(slope), np.nan)
    step[rising] = (most_bad[rising] + least_good[rising]) / 2
    step[falling] = (most_good[falling] + least_bad[falling]) / 2
    return slope, step


def ends(x: FloatArray, present: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest value present in each round, (rounds,), or inf and -inf without any.

    x, present : (n,) values, and (rounds, n) whether each is present
    """
    return np.where(present, x, np.inf).min(axis=1), np.where(present, x, -np.inf).max(axis=1)


def newton(x: FloatArray, won: FloatArray, sets: FloatArray, start: FloatArray) -> tuple[FloatArray, BoolArray, int]:
    """Maximise every row's quasi-likelihood: return parameters, convergence and iterations."""
    theta = start.copy()
    likelihood = _likelihood(theta, x, won, sets)
    done = np.zeros(len(theta), dtype=bool)
    steps = 0
    while steps < MAX_ITERATIONS and not done.all():
        steps += 1
        rows = np.flatnonzero(~done)
        slope, curvature = derivatives(theta[rows], x, won[rows], sets[rows])
        flat = np.abs(slope).max(axis=1) <= TOLERANCE * sets[rows].sum(axis=1)
        done[rows[flat]] = True
        rows, slope, curvature = rows[~flat], slope[~flat], curvature[~flat]
        det = curvature[:, 0] * curvature[:, 2] - curvature[:, 1] ** 2
        fine = det > MIN_DETERMINANT * curvature[:, 0] * curvature[:, 2]
        if not fine.all():  # the curvature is numerically singular: left as it is, and not converged
            rows, slope, curvature, det = rows[fine], slope[fine], curvature[fine], det[fine]
        if not rows.size:
            break
        step = np.stack(
            [
                (curvature[:, 2] * slope[:, 0] - curvature[:, 1] * slope[:, 1]) / det,
                (curvature[:, 0] * slope[:, 1] - curvature[:, 1] * slope[:, 0]) / det,
            ],
            axis=1,
        )
        theta[rows], likelihood[rows] = _line_search(theta[rows], likelihood[rows], step, x, won[rows], sets[rows])
    return theta, done, steps


def _line_search(
    theta: FloatArray, likelihood: FloatArray, step: FloatArray, x: FloatArray, won: FloatArray, sets: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Take the Newton step, halved until the likelihood does not fall."""
    moved, reached = theta + step, _likelihood(theta + step, x, won, sets)
    for _ in range(MAX_HALVINGS):
        low = np.flatnonzero(~(reached >= likelihood - 1e-12 * np.abs(likelihood)))
        if not low.size:
            break
        step[low] /= 2
        moved[low] = theta[low] + step[low]
        reached[low] = _likelihood(moved[low], x, won[low], sets[low])
    return moved, reached


def _likelihood(theta: FloatArray, x: FloatArray, won: FloatArray, sets: FloatArray) -> FloatArray:
    """(rounds,) Bernoulli quasi-log-likelihood of the shares."""
    eta = theta[:, :1] + theta[:, 1:] * x
    value: FloatArray = (won * eta - sets * np.logaddexp(0, eta)).sum(axis=1)
    return value


def derivatives(theta: FloatArray, x: FloatArray, won: FloatArray, sets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the gradient (rounds, 2), and the negative second derivatives (rounds, 3) by intercept, both and slope."""
    p = expit(theta[:, :1] + theta[:, 1:] * x)
    residual, weight = won - sets * p, sets * p * (1 - p)
    gradient = np.stack([residual.sum(axis=1), residual @ x], axis=1)
    return gradient, np.stack([weight.sum(axis=1), weight @ x, weight @ x**2], axis=1)


def expit(eta: FloatArray) -> FloatArray:
    value: FloatArray = 0.5 * (1 + np.tanh(eta / 2))
    return value
