"""Win rates adjusted for length: what a rater would prefer if both texts were equally long."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from analysis.errors import UnknownValue
from analysis.grouping import groups_of_rows, summed
from analysis.intervals.jackknife import student_quantile, student_tail
from analysis.intervals.logistic import expit
from analysis.types import FloatArray, IntArray, Refusal, check_columns, check_level, code_array, too_few, verdict_array

RIDGE = 0.01  # of a verdict: what it takes for finite values where one system, or the longer text, wins throughout
RIDGES = 10.0 ** np.arange(-2, 4)  # on effects of length around their common one: from standard deviations of 10 to .03
ABILITY = 1.0  # prior standard deviation of a system's ability on an instance, in log-odds
MIN_INSTANCES = 20  # for a jackknife of what is no mean
ROUNDS = 100  # of Newton's method, which takes some six
HALVINGS = 50  # of a step that overshoots
TOLERANCE = 1e-9  # of the last step, beside which the error is its square
BLOCK = 2_000_000  # numbers in the systems' abilities of several instances
NEAR = 0.25  # standard deviations of the length differences: texts of about equal lengths
# Shares of pairs, all and on each side, below which a rate at equal lengths is a guess; normal differences around 0 have .197, .099.
LEAST_NEAR, LEAST_NEAR_SIDE = 0.1, 0.06
FOLLOWING = 0.95  # share of decided verdicts on texts of different lengths from which they follow length alone
LEAST_DECIDED = 20  # such verdicts, below which that may be chance
LENGTH = 1  # place of the effect of length among the parameters: the constant, length, difficulty


@dataclass(frozen=True, eq=False)
class LengthVerdicts:
    """Verdicts on pairs of two systems, as columns of one length.

    verdict           : (n,) -1 (A), 0 (tie), +1 (B); NaN is left out
    length_difference : (n,) length of B less that of A, in any unit; finite
    instance          : (n,) integer codes, the same ones in all comparisons of a data set
    systems           : names of A and B
    """

    verdict: npt.ArrayLike
    length_difference: npt.ArrayLike
    instance: npt.ArrayLike
    systems: tuple[str, str] = ("A", "B")


@dataclass(frozen=True)
class LengthAdjustedRate:
    """Result of `length_adjusted_win_rates`. NaN without a verdict, or if all lengths differ by the same.

    win_rate, low, high : of B at equal lengths; no interval if refused, or if all verdicts are alike
    plain               : win rate of B on the same verdicts, as it is
    length_effect       : log-odds that a much longer text adds to a system's win; below 0 where raters prefer shorter ones
    effect_low, effect_high : its interval; none where the win rate has none, or if all texts of a pair are equally long
    effect_p_value      : of H0: no effect of length; NaN without an interval
    change, change_low, change_high : win_rate - plain, and its paired interval; none where the effect has none
    ridge               : on the effect of length; around the common effect, where there is one
    common_effect       : of length, over the comparisons of the data set; NaN for two systems
    difficulty_effect   : log-odds for each unit of the instance's difficulty; NaN for two systems
    scale               : standard deviation of the length differences
    near                : share of verdicts on texts of about equal lengths
    overlaps            : whether such verdicts are enough, on both sides, to know the effect of length
    extrapolates        : whether the rate at equal lengths is a guess, as there are too few of them in all comparisons
    following           : decided verdicts, where nearly all are for the longer text, or for the shorter; 0 where they are not
    """

    win_rate: float
    low: float
    high: float
    level: float
    plain: float
    length_effect: float
    effect_low: float
    effect_high: float
    effect_p_value: float
    change: float
    change_low: float
    change_high: float
    ridge: float
    common_effect: float
    difficulty_effect: float
    scale: float
    near: float
    overlaps: bool
    extrapolates: bool
    following: int
    n: int
    n_instances: int
    refusal: Refusal | None

    @property
    def follows_length(self) -> bool:
        """True where length says all: `following` are too many for chance."""
        return self.following >= LEAST_DECIDED


def length_adjusted_win_rate(
    verdict: npt.ArrayLike, length_difference: npt.ArrayLike, instance: npt.ArrayLike, *, level: float = 0.95
) -> LengthAdjustedRate:
    """Win rate of B if both texts were equally long, for two systems: see `length_adjusted_win_rates`."""
    return length_adjusted_win_rates([LengthVerdicts(verdict, length_difference, instance)], level=level)[0]


def length_adjusted_win_rates(compared: Sequence[LengthVerdicts], *, level: float = 0.95) -> list[LengthAdjustedRate]:
    """Win rates of B if both texts were equally long, by logistic regression. A tie is half a win.

        P(B wins) = 1 / (1 + exp(-(θ + γ tanh(d / s) + β x))),   win rate at equal lengths = mean of 1 / (1 + exp(-(θ + β x)))

    with d the length of B less that of A and s its standard deviation; d is not centred, so that 0 means equal lengths.
    x is the difficulty of the instance, and is there only for several comparisons: what the other comparisons say of the
    abilities of A and B on this instance, with a normal prior of standard deviation `ABILITY`, by one Newton step from
    fits without x. Parameters maximise the likelihood less ridge (θ² + γ² + β²) / 2. The rates of several comparisons have
    a ridge (γ - γ̄)² / 2 around the common effect of length, where this ridge is the strongest one whose loss, in leaving
    out one instance at a time, is above the least loss by at most one standard error over comparisons.
    Intervals are Student's t, that of the rate on the log-odds, that of the change on the rates, from leaving out one
    instance at a time by one Newton step from the full fit; s, x and the ridge stay. γ, its interval and its test are
    those of the comparison alone, so that none borrows an effect. Length matters if the intervals of γ and of the change
    are without 0; where lengths hardly overlap, θ is an extrapolation. Where 95 % of the decided verdicts are for the longer
    text, or for the shorter, over all that are fitted together, length and systems can't be told apart: `following`.

    compared : comparisons of a rater in a data set, of different pairs of systems
    returns  : `LengthAdjustedRate` of each, with a `Refusal` and no interval below 20 instances
    raises   : ShapeError; UnknownValue for a difference that is not finite, or a level outside (0, 1)
    source   : Dubois, Galambosi, Liang and Hashimoto 2024, Length-Controlled AlpacaEval, eq. 2; Pregibon 1981, Logistic
               Regression Diagnostics, for the step; Breiman, Friedman, Olshen and Stone 1984 for the rule of one error
    """
    check_level(level)
    columns = [_Columns.of(comparison) for comparison in compared]
    defined = [comparison for comparison in columns if comparison.fits]
    estimates = iter(_estimates(defined) if defined else [])
    # Which of two systems is B differs between comparisons, and with it the side.
    together, following = len(defined) > 1 and _near(defined)[0] >= LEAST_NEAR, _following(defined)
    return [
        _rate(comparison, next(estimates) if comparison.fits else NO_ESTIMATES, together, following, level)
        for comparison in columns
    ]


@dataclass(frozen=True, eq=False)
class _Columns:
    """Verdicts of a comparison, as wins of B. The scale is NaN if the effect of length is unknowable."""

    wins: FloatArray
    difference: FloatArray
    instance: IntArray
    systems: tuple[str, str]
    scale: float

    @classmethod
    def of(cls, compared: LengthVerdicts) -> "_Columns":
        verdict, difference = verdict_array(compared.verdict), np.asarray(compared.length_difference, dtype=np.float64)
        instance = code_array("instance", compared.instance)
        check_columns(verdict, difference, instance)
        if not np.isfinite(difference).all():
            raise UnknownValue(f"{(~np.isfinite(difference)).sum()} length differences are not finite")
        defined = ~np.isnan(verdict)
        verdict, difference, instance = verdict[defined], difference[defined], instance[defined]
        scale = float(difference.std()) if len(verdict) else 0.0
        # Texts of equal lengths throughout need no adjustment.
        scale = np.nan if not scale and difference.any() else scale
        return cls((1 + verdict) / 2, difference, instance, compared.systems, scale)

    @property
    def fits(self) -> bool:
        return len(self.wins) > 0 and not np.isnan(self.scale)

    @property
    def tanh(self) -> FloatArray:
        return np.tanh(self.difference / self.scale) if self.scale else self.difference


def _near(compared: Sequence[_Columns]) -> tuple[float, float]:
    """Return the share of texts of about equal lengths, and that with B's text longer or that with A's, the lesser one."""
    difference = np.concatenate([comparison.difference / (comparison.scale or 1) for comparison in compared])
    if not len(difference) or np.isnan(difference).any():
        return np.nan, np.nan
    near = np.abs(difference) <= NEAR
    return float(near.mean()), float(min((near & (difference <= 0)).mean(), (near & (difference >= 0)).mean()))


def _following(compared: Sequence[_Columns]) -> int:
    """Return the number of decided verdicts where nearly all are for the longer text, or nearly all for the shorter, else 0."""
    towards = np.concatenate([np.sign((item.wins - 0.5) * item.difference) for item in compared] or [np.empty(0)])
    decided = towards[towards != 0]
    return len(decided) if max((decided > 0).sum(), (decided < 0).sum()) >= FOLLOWING * len(decided) else 0


@dataclass(frozen=True)
class _Estimates:
    """Rate and parameters of a comparison, and the standard errors of the rate in log-odds, of γ, and of the change."""

    win_rate: float
    length_effect: float
    difficulty_effect: float
    ridge: float
    common_effect: float
    errors: tuple[float, float, float]


NO_ESTIMATES = _Estimates(np.nan, np.nan, np.nan, RIDGE, np.nan, (np.nan, np.nan, np.nan))


def _rate(columns: _Columns, estimates: _Estimates, together: bool, following: int, level: float) -> LengthAdjustedRate:
    n = len(np.unique(columns.instance))
    refusal = too_few("instances", n, MIN_INSTANCES)
    # Where all verdicts are alike, the ridge alone says how far from 1 or 0 the rate is.
    defined = not refusal and np.ptp(columns.wins) and columns.fits
    rate_error, effect_error, change_error = estimates.errors if defined else NO_ESTIMATES.errors
    quantile = student_quantile((1 + level) / 2, n - 1) if defined else np.nan
    plain = float(columns.wins.mean()) if n else np.nan
    effect, change, odds = estimates.length_effect, estimates.win_rate - plain, _log_odds(estimates.win_rate)
    near, least_side = _near([columns])
    overlaps = near >= LEAST_NEAR and least_side >= LEAST_NEAR_SIDE
    return LengthAdjustedRate(
        win_rate=estimates.win_rate,
        low=float(expit(odds - quantile * rate_error)),
        high=float(expit(odds + quantile * rate_error)),
        level=level,
        plain=plain,
        length_effect=effect,
        effect_low=effect - quantile * effect_error,
        effect_high=effect + quantile * effect_error,
        effect_p_value=2 * student_tail(abs(effect) / effect_error, n - 1) if effect_error > 0 else np.nan,
        change=change,
        change_low=change - quantile * change_error,
        change_high=change + quantile * change_error,
        ridge=estimates.ridge,
        common_effect=estimates.common_effect,
        difficulty_effect=estimates.difficulty_effect,
        scale=columns.scale,
        near=near,
        overlaps=overlaps,
        extrapolates=not (overlaps or together),
        # Together, other comparisons tell the effect of length from that of the systems.
        following=following or (_following([columns]) if overlaps and not together else 0),
        n=len(columns.wins),
        n_instances=n,
        refusal=refusal,
    )


def _estimates(compared: Sequence[_Columns]) -> list[_Estimates]:
    """Fit comparisons with verdicts, all of them together."""
    rows = _Rows.of(compared)
    own = final = _Fit.of(rows, RIDGE, 0.0)
    common, moved = np.nan, np.zeros(rows.instances)
    if len(compared) > 1:
        rows = rows.with_difficulty(_difficulty(own, [comparison.systems for comparison in compared]))
        own = _Fit.of(rows, RIDGE, 0.0)
        final, common, moved = _shrunk(own)
    return [_estimate(own, final, common, moved, number) for number in range(len(compared))]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Verdicts of several comparisons, summed over those of a cell with one length difference: several raters on a pair.

    Cells are the instances of each comparison, ascending.

    columns  : (parameters, n) ones, tanh of the length differences, and difficulty where there is one
    wins, verdicts : (n,) of B, and the number of verdicts
    compared, cell : (n,) the comparison and the cell of each row
    cell_compared, cell_instance : (n_cells,) the comparison of each cell, and its instance among all
    """

    columns: FloatArray
    wins: FloatArray
    verdicts: FloatArray
    compared: IntArray
    cell: IntArray
    cell_compared: IntArray
    cell_instance: IntArray
    instances: int

    @classmethod
    def of(cls, compared: Sequence[_Columns]) -> "_Rows":
        number = np.repeat(np.arange(len(compared)), [len(comparison.wins) for comparison in compared])
        codes, instance = np.unique(
            np.concatenate([comparison.instance for comparison in compared]), return_inverse=True
        )
        tanh, wins = (
            np.concatenate(parts)
            for parts in zip(*((comparison.tanh, comparison.wins) for comparison in compared), strict=True)
        )
        lengths, length = np.unique(tanh, return_inverse=True)
        (number, instance, length), row = groups_of_rows(number, instance, length)
        n = len(number)
        cells, cell = np.unique(number * len(codes) + instance, return_inverse=True)
        columns = np.stack([np.ones(n), lengths[length]])
        sums = summed(wins, row, n), np.bincount(row, minlength=n).astype(np.float64)
        return cls(columns, *sums, number, cell, *np.divmod(cells, len(codes)), len(codes))

    def with_difficulty(self, of_cell: FloatArray) -> "_Rows":
        """Add a column, known by the cell."""
        return replace(self, columns=np.vstack([self.columns, of_cell[self.cell]]))

    def odds(self, beta: FloatArray) -> FloatArray:
        """(n,) log-odds of a win of B, from beta of (n_compared, parameters)."""
        odds: FloatArray = (self.columns * beta.T[:, self.compared]).sum(axis=0)
        return odds

    def derivatives(self, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Score (n_cells, parameters) and curvature (n_cells, parameters, parameters) of the likelihood in each cell."""
        share = expit(self.odds(beta))
        won = self.verdicts * share
        gap, weight, n = self.wins - won, won * (1 - share), len(self.cell_compared)
        score = np.stack([summed(gap * column, self.cell, n) for column in self.columns], axis=-1)
        curvature = np.empty((n, len(self.columns), len(self.columns)))
        for i, column in enumerate(self.columns):
            for j, earlier in enumerate(self.columns[: i + 1]):
                curvature[:, i, j] = curvature[:, j, i] = summed(weight * column * earlier, self.cell, n)
        return score, curvature

    def total(self, of_cells: FloatArray) -> FloatArray:
        """Sum over the cells of each comparison, which stand one after another."""
        starts = np.searchsorted(self.cell_compared, np.arange(self.cell_compared[-1] + 1))
        total: FloatArray = np.add.reduceat(of_cells, starts)
        return total

    def losses(self, odds: FloatArray) -> FloatArray:
        """(n,) minus the log-likelihood of the verdicts of each row."""
        losses: FloatArray = self.verdicts * np.logaddexp(0, odds) - self.wins * odds
        return losses


@dataclass(frozen=True, eq=False)
class _Fit:
    """Penalised maximum likelihood of each comparison.

    beta      : (n_compared, parameters)
    score     : (n_cells, parameters)
    curvature : (n_compared, parameters, parameters) with the ridge
    steps     : (n_cells, parameters) that leaving out a cell moves beta by, in one Newton step
    """

    rows: _Rows
    beta: FloatArray
    ridge: float
    of_cells: tuple[FloatArray, FloatArray]
    curvature: FloatArray
    steps: FloatArray

    @classmethod
    def of(cls, rows: _Rows, ridge: float, centre: float, start: FloatArray | None = None) -> "_Fit":
        """Maximise by Newton's method with halved steps. Ridge and centre are those of the effect of length."""
        middle, penalty = np.zeros(len(rows.columns)), np.full(len(rows.columns), RIDGE)
        middle[LENGTH], penalty[LENGTH] = centre, ridge
        beta = np.zeros((rows.compared[-1] + 1, len(middle))) if start is None else start.copy()

        def loss(at: FloatArray) -> FloatArray:
            penalties: FloatArray = np.square(at - middle) @ penalty / 2
            return summed(rows.losses(rows.odds(at)), rows.compared, len(at)) + penalties

        value = loss(beta)
        for _ in range(ROUNDS):
            of_cells = rows.derivatives(beta)
            curvature = rows.total(of_cells[1]) + np.diag(penalty)
            step = _solved(curvature, rows.total(of_cells[0]) - penalty * (beta - middle))
            for _ in range(HALVINGS):
                moved = loss(beta + step)
                worse = moved > value * (1 + TOLERANCE)
                if not worse.any():
                    break
                step[worse] /= 2
            beta, value = beta + step, moved
            if (np.abs(step).max(axis=1) < TOLERANCE * np.maximum(1, np.abs(beta).max(axis=1))).all():
                break
        score, of_cell = rows.derivatives(beta)
        curvature = rows.total(of_cell) + np.diag(penalty)
        steps = -_solved(curvature[rows.cell_compared] - of_cell, score)
        return cls(rows, beta, ridge, (score, of_cell), curvature, steps)

    def held_out_losses(self) -> FloatArray:
        """(n_instances,) loss on each instance's verdicts by the fits without them."""
        rows = self.rows
        odds = (rows.columns * (self.beta[rows.compared] + self.steps[rows.cell]).T).sum(axis=0)
        return summed(rows.losses(odds), rows.cell_instance[rows.cell], rows.instances)


def _difficulty(fit: _Fit, systems: Sequence[tuple[str, str]]) -> FloatArray:
    """(n_cells,) log-odds of B by the abilities of both systems on the instance, from the other comparisons alone.

    Abilities u have a normal prior; one Newton step from 0 gives u = M r, where M⁻¹ = Laplacian of the curvatures + prior,
    and r sums the scores. Without a comparison of score g and curvature w, with v = u_B - u_A and h its variance
    under M, the difference is (v - g h) / (1 - w h).
    """
    rows, codes = fit.rows, np.unique(systems, return_inverse=True)[1].reshape(-1, 2)
    a, b = codes[rows.cell_compared].T
    gap, weight = fit.of_cells[0][:, 0], fit.of_cells[1][:, 0, 0]
    n, difficulty = int(codes.max()) + 1, np.empty(len(gap))
    order = np.argsort(rows.cell_instance, kind="stable")
    for instances in np.array_split(np.arange(rows.instances), 1 + rows.instances * n * n // BLOCK):
        first, last = np.searchsorted(rows.cell_instance[order], [instances[0], instances[-1] + 1])
        cells = order[first:last]
        at, first_system, second_system = rows.cell_instance[cells] - instances[0], a[cells], b[cells]
        precision = np.zeros((len(instances), n, n))
        precision[:, range(n), range(n)] = ABILITY**-2
        scores = np.zeros((len(instances), n))
        for system, opponent, sign in ((first_system, second_system, -1), (second_system, first_system, 1)):
            np.add.at(precision, (at, system, system), weight[cells])
            np.add.at(precision, (at, system, opponent), -weight[cells])
            np.add.at(scores, (at, system), sign * gap[cells])
        variance = np.linalg.inv(precision)
        ability = (variance @ scores[:, :, np.newaxis])[:, :, 0]
        spread = (
            variance[at, first_system, first_system]
            + variance[at, second_system, second_system]
            - 2 * variance[at, first_system, second_system]
        )
        between = ability[at, second_system] - ability[at, first_system]
        difficulty[cells] = (between - gap[cells] * spread) / (1 - weight[cells] * spread)
    return difficulty


def _shrunk(own: _Fit) -> tuple[_Fit, float, FloatArray]:
    """Choose the ridge around a common effect of length. Return also how much each instance moves that effect."""
    rows, effects = own.rows, own.beta[:, LENGTH]
    information = np.maximum(1 / np.linalg.inv(own.curvature)[:, LENGTH, LENGTH] - own.ridge, 0)
    fits, centres, start = [], [], own.beta
    for ridge in RIDGES:
        weight = information * ridge / (information + ridge)
        weight /= weight.sum() or 1.0
        centres.append((weight, float(weight @ effects)))
        fits.append(_Fit.of(rows, ridge, centres[-1][1], start))
        start = fits[-1].beta
    losses = np.stack([fit.held_out_losses() for fit in fits])
    total, error = losses.sum(axis=1), losses.std(axis=1) * rows.instances**0.5
    best = total.argmin()
    selected = int(np.flatnonzero(total <= total[best] + error[best]).max())
    weight, common = centres[selected]
    moved = weight[rows.cell_compared] * own.steps[:, LENGTH]
    return fits[selected], common, summed(moved, rows.cell_instance, rows.instances)


def _estimate(own: _Fit, final: _Fit, common: float, common_moved: FloatArray, number: int) -> _Estimates:
    """Estimates of a comparison with the jackknife's standard errors, over all instances that its rate depends on."""
    rows, beta = final.rows, final.beta[number]
    cells = slice(*np.searchsorted(rows.cell_compared, [number, number + 1]))
    own_rows = slice(*np.searchsorted(rows.compared, [number, number + 1]))
    instance, wins, verdicts = rows.cell_instance[cells], rows.wins[own_rows], rows.verdicts[own_rows]
    cell, n = rows.cell[own_rows] - cells.start, len(instance)
    equal = rows.columns[:, own_rows].copy()
    equal[LENGTH] = 0
    share = expit(beta @ equal)
    won = verdicts * share
    rate = float(won.sum() / verdicts.sum())
    steps = np.outer(common_moved, np.linalg.inv(final.curvature[number])[LENGTH] * final.ridge)
    steps[instance] += final.steps[cells]
    odds, plain = np.full(len(steps), _log_odds(rate)), np.full(len(steps), wins.sum() / verdicts.sum())
    odds[instance] = _log_odds(_mean_without(won, verdicts, cell, n))
    plain[instance] = _mean_without(wins, verdicts, cell, n)
    odds += steps @ (equal @ (won * (1 - share)) / verdicts.sum() / (rate * (1 - rate)))
    moved = (odds, own.steps[cells, LENGTH], expit(odds) - plain)
    rate_error, effect_error, change_error = map(_jackknife_error, moved)
    if not rows.columns[LENGTH, own_rows].any():
        effect_error = change_error = np.nan
    return _Estimates(
        win_rate=rate,
        length_effect=float(own.beta[number, LENGTH]),
        difficulty_effect=float(beta[LENGTH + 1]) if len(beta) > LENGTH + 1 else np.nan,
        ridge=float(final.ridge),
        common_effect=common,
        errors=(rate_error, effect_error, change_error),
    )


def _mean_without(sums: FloatArray, verdicts: FloatArray, cell: IntArray, n: int) -> FloatArray:
    """(n,) mean of what is summed over the verdicts outside each cell. NaN where a cell has them all."""
    degrees = verdicts.sum() - summed(verdicts, cell, n)
    mean: FloatArray = (sums.sum() - summed(sums, cell, n)) / np.where(degrees, degrees, np.nan)
    return mean


def _jackknife_error(moved: FloatArray) -> float:
    return float(np.sqrt((len(moved) - 1) / len(moved) * np.square(moved - moved.mean()).sum()))


def _solved(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.solve(matrices, vectors[..., np.newaxis])[..., 0], dtype=np.float64)


def _log_odds(share: npt.ArrayLike) -> FloatArray:
    return np.asarray(2 * np.arctanh(2 * np.asarray(share) - 1), dtype=np.float64)
