"""Variance components of verdicts: instances, their pairs, their raters, and the residual.

A study's mean over n instances, each with N pairs that the same R raters rate, has the variance

    (instance + (m - 1) cluster + pair / N + rater / R + residual / (N R)) / n

where m instances share a source, and `cluster` of their variance with it.
Raters count as a component within the instance. A rater's effect that is the same on every instance is part of it too,
as in the intervals, which resample instances.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from analysis.agreement.consistency import RatingSets, consistency
from analysis.errors import DuplicateRating, NotEnough, UnknownValue
from analysis.grouping import count_groups, groups, joint_codes
from analysis.types import FloatArray, IntArray, check_columns, code_array

TOLERANCE = 1e-12  # of verdicts in [0, 1]: below it there is only the rounding of sums
MAX_SUBSETS = 100


@dataclass(frozen=True)
class Components:
    """Variance components of one verdict, or of one rating set's consistency (`pair` and `residual` are 0 then).

    truncated : names of those whose estimate was below 0; they are taken as 0, so that a plan errs on the wide side
    merged    : names that the data cannot tell apart; the sum of each group stands under its first name, the one
                that the fewest of a design's numbers divide, so that a plan errs on the wide side here too
    cluster   : the part of `instance` that instances of one cluster share, and `cluster_size` their number, see `in_clusters`
    """

    instance: float
    pair: float
    rater: float
    residual: float
    truncated: tuple[str, ...] = ()
    merged: tuple[tuple[str, ...], ...] = ()
    cluster: float = 0.0
    cluster_size: float = 1.0

    def __post_init__(self) -> None:
        values = (self.instance, self.pair, self.rater, self.residual)
        if not (np.isfinite(values).all() and min(values) >= 0):
            raise UnknownValue(f"variance components are finite and not negative, got {values}")

    @property
    def total(self) -> float:
        """Variance of one value: one rater's verdict on one pair, or one rating set's consistency."""
        return self.instance + self.pair + self.rater + self.residual

    @property
    def of_instances(self) -> float:
        """Variance of instances, with what those of a cluster share once for each of them."""
        return self.instance + (self.cluster_size - 1) * self.cluster

    def of_instance_mean(self, pairs: int, raters: int) -> float:
        """Variance of the mean of one instance over its pairs and raters, times the effect of clusters on a mean of instances."""
        if pairs < 1 or raters < 1:
            raise UnknownValue(f"a design has one pair and one rater or more, got {pairs} and {raters}")
        return self.of_instances + self.pair / pairs + self.rater / raters + self.residual / (pairs * raters)


@dataclass(frozen=True)
class SetComponents:
    """Variance components of consistency at one number of pairs, its mean, and what they rest on.

    n, instances : rating sets, and instances with one or more of them
    """

    components: Components
    mean: float
    n: int
    instances: int


def verdict_variance(win_rate: float, tie_share: float = 0.0) -> float:
    """Variance of one verdict scored 1 (win), 1/2 (tie) or 0 (loss).

    With a wins and t ties the mean is p = a + t/2 and the mean square a + t/4 = p - t/4, so the variance is
    p (1 - p) - t/4. It is greatest, 1/4, for p = 1/2 without ties.

    win_rate, tie_share : in [0, 1]
    raises              : UnknownValue outside it, or for more ties than such a win rate leaves room for
    """
    if not (0 <= win_rate <= 1 and 0 <= tie_share <= 1):
        raise UnknownValue(f"a win rate and a share of ties lie between 0 and 1, got {win_rate} and {tie_share}")
    bound = 2 * min(win_rate, 1 - win_rate)
    if tie_share > bound + TOLERANCE:
        raise UnknownValue(
            f"with a win rate of {win_rate:g} at most {bound:g} of the verdicts are ties, got {tie_share:g}"
        )
    return max(0.0, win_rate * (1 - win_rate) - tie_share / 4)


def assumed_components(total: float, *, instance: float, pair: float = 0.0, rater: float = 0.0) -> Components:
    """Split a variance by stated shares (intra-class correlations). The rest is the residual's.

    total                 : variance of one value
    instance, pair, rater : shares of it, in [0, 1] and not more than 1 together
    raises                : UnknownValue for other shares, or a total that is negative or not finite
    """
    shares = (instance, pair, rater)
    if not (min(shares) >= 0 and sum(shares) <= 1 + TOLERANCE):
        raise UnknownValue(f"shares of the variance are not negative and at most 1 together, got {shares}")
    remaining = max(0.0, 1 - sum(shares))
    return Components(total * instance, total * pair, total * rater, total * remaining)


def crossed_components(
    values: npt.ArrayLike, instance: npt.ArrayLike, pair: npt.ArrayLike, rater: npt.ArrayLike
) -> Components:
    """Estimate the components from verdicts on the pairs of instances, rated by one or more raters each.

    The estimates are moments of half squared differences: of two raters on one pair (rater + residual), of two pairs
    by one rater (pair + residual), of two pairs by two raters (pair + rater + residual) and of two instances (all
    four). On balanced data they equal those of the analysis of variance; on any others they stay unbiased.

    values                : (n,) in units of the mean to be planned, such as 1, 1/2, 0; NaN is left out
    instance, pair, rater : (n,) integer codes; pair indices count within an instance
    returns               : `Components`, with `merged` where no two raters share an instance, or no rater has two
                            pairs of one
    raises                : NotEnough for fewer than two instances; DuplicateRating for two values of a rater on a pair;
                            ShapeError, UnknownValue for columns that don't fit
    source                : Koch 1968, Some further remarks concerning "A general approach to the estimation of
                            variance components", Technometrics 10; Searle, Casella and McCulloch 1992, Variance
                            Components, chapter 4, for truncation at 0
    """
    centred, (item, page_pair, person) = _columns(values, instance=instance, pair=pair, rater=rater)
    on_pair, by_rater = (groups(joint_codes(item, codes))[1] for codes in (page_pair, person))
    if count_groups(joint_codes(on_pair, person)) < len(centred):
        raise DuplicateRating("a rater has two values on one pair of an instance")
    everything, in_item = _differences(centred, np.zeros_like(item)), _differences(centred, item)
    raters, pairs = _differences(centred, on_pair), _differences(centred, by_rater)
    return _crossed(
        between=_moment(everything - in_item) or 0.0,
        both=_moment(in_item - raters - pairs),
        raters=_moment(raters),
        pairs=_moment(pairs),
    )


def nested_components(values: npt.ArrayLike, instance: npt.ArrayLike) -> Components:
    """Estimate the components of a value per rating set, such as consistency: between instances, and between raters.

    values, instance : (n_sets,); NaN is left out
    returns          : `Components` with `instance` and `rater`; these two are merged if no instance has two raters
    raises           : as for `crossed_components`
    source           : as for `crossed_components`; on balanced data the one-way analysis of variance
    """
    return _nested(*_between_and_within(np.asarray(values, dtype=np.float64), code_array("instance", instance)))


def in_clusters(
    components: Components, values: npt.ArrayLike, instance: npt.ArrayLike, cluster: npt.ArrayLike, sizes: npt.ArrayLike
) -> Components:
    """Add what instances of one cluster share: the variance between clusters, with (m - 1) times it in the mean of instances.

    Half the mean squared difference of values in different clusters, less that of different instances of one cluster. Where no
    cluster has two instances with values, all of the variance of instances is taken for shared, so that a plan errs on the wide side.

    values, instance : as for `nested_components`; cluster : (n,) integer codes
    sizes            : (n_clusters,) instances of each cluster of the study, for m, see `mean_cluster_size`
    source           : Kish 1965, Survey Sampling, §5.4 (the design effect 1 + (m - 1) ρ)
    """
    centred, (item, group) = _columns(values, instance=instance, cluster=cluster)
    everything, near, inside = (_differences(centred, codes) for codes in (np.zeros_like(item), group, item))
    between, of_cluster = _moment(everything - near), _moment(near - inside)
    is_estimable = between is not None and of_cluster is not None
    shared = (between or 0.0) - (of_cluster or 0.0) if is_estimable else components.instance
    return replace(
        components, cluster=float(np.clip(shared, 0, components.instance)), cluster_size=mean_cluster_size(sizes)
    )


def mean_cluster_size(sizes: npt.ArrayLike) -> float:
    """Return the size of the cluster that an instance is in, in the mean over instances: Σ size² / Σ size."""
    counts = np.asarray(sizes, dtype=np.float64)
    return float((counts**2).sum() / counts.sum())


def consistency_components(sets: RatingSets, n_pairs: int, *, rng: np.random.Generator) -> SetComponents:
    """Estimate the components of consistency as they would be, had every HIT had n_pairs of its pairs.

    Fewer pairs than were rated are simulated: every subset of that many pairs of the page (or 100 subsets drawn from
    `rng`, if there are more) is applied to all rating sets, since the raters of a HIT share its pairs, and the moments
    are averaged. More pairs than were rated can't be simulated.

    n_pairs : pairs of a set; sets smaller than most of those that hold as many are left out
    raises  : NotEnough if fewer than two instances have such a set; UnknownValue for n_pairs < 1
    """
    if n_pairs < 1:
        raise UnknownValue(f"a rating set holds one pair or more, got {n_pairs}")
    sizes = np.bincount(sets.present, minlength=n_pairs + 1)
    size = n_pairs + int(np.argmax(sizes[n_pairs:]))
    large_enough = sets.present >= size
    instance = sets.instance[large_enough]
    n_instances = len(np.unique(instance))
    if n_instances < 2:
        raise NotEnough(f"fewer than two instances have a rating set of {n_pairs} ratings or more")
    # Present ratings first, in the order of the pairs: within a HIT the same place is the same pair for every rater.
    order = np.argsort(np.isnan(sets.ratings[large_enough]), axis=1, kind="stable")
    ratings = np.take_along_axis(sets.ratings[large_enough], order, axis=1)
    consistencies = [consistency(ratings[:, columns]) for columns in _subsets(size, n_pairs, rng)]
    between, within_instance = np.mean([_between_and_within(values, instance) for values in consistencies], axis=0)
    return SetComponents(
        _nested(between, within_instance), float(np.mean(consistencies)), int(large_enough.sum()), n_instances
    )


def _subsets(size: int, n: int, rng: np.random.Generator) -> Iterator[list[int]]:
    if comb(size, n) <= MAX_SUBSETS:
        yield from map(list, combinations(range(size), n))
    else:
        for _ in range(MAX_SUBSETS):
            yield rng.choice(size, size=n, replace=False).tolist()


def _columns(values: npt.ArrayLike, **codes: npt.ArrayLike) -> tuple[FloatArray, list[IntArray]]:
    """Present values, centred, which makes sums of squares more exact, and dense codes."""
    column = np.asarray(values, dtype=np.float64)
    code_columns = [code_array(name, code) for name, code in codes.items()]
    check_columns(column, *code_columns)
    present = ~np.isnan(column)
    dense = [groups(code[present])[1] for code in code_columns]
    if not dense[0].size or dense[0].max() < 1:
        raise NotEnough("variance between instances needs values of two instances or more")
    return column[present] - column[present].mean(), dense


def _differences(values: FloatArray, group: IntArray) -> FloatArray:
    """Sum of half squared differences of all pairs of values within a group, and the number of those pairs."""
    m = np.bincount(group)
    half_squares = (m * np.bincount(group, values**2) - np.bincount(group, values) ** 2) / 2
    return np.array([half_squares.sum(), (m * (m - 1) // 2).sum()])


def _moment(sum_and_count: FloatArray) -> float | None:
    total, count = sum_and_count
    return None if count == 0 else float(total / count)


def _between_and_within(values: FloatArray, instance: IntArray) -> tuple[float, float]:
    """Moments of two instances and of two raters on one instance, the latter NaN if there are no two raters."""
    centred, (item,) = _columns(values, instance=instance)
    everything, within_instance = _differences(centred, np.zeros_like(item)), _differences(centred, item)
    of_raters = _moment(within_instance)
    return _moment(everything - within_instance) or 0.0, np.nan if of_raters is None else of_raters


def _nested(between: float, within_instance: float) -> Components:
    if np.isnan(within_instance):
        return _truncated({"instance": between}, merged=(("instance", "rater"),))
    return _truncated({"instance": between - within_instance, "rater": within_instance})


def _crossed(between: float, both: float | None, raters: float | None, pairs: float | None) -> Components:
    """Solve the moments for the components. Unidentified ones go where the fewest of N and R divide them."""
    if both is not None and raters is not None and pairs is not None:
        return _truncated(
            {
                "instance": between - both,
                "pair": both - raters,
                "rater": both - pairs,
                "residual": raters + pairs - both,
            }
        )
    # No rater has two pairs of an instance (N = 1), or no pair has two raters: the residual stays with the one that is known.
    for known, other, moment in (("rater", "pair", raters), ("pair", "rater", pairs)):
        if moment is not None:
            inside = moment if both is None else both
            merged = ((known, "residual"),) if both is not None else (("instance", other), (known, "residual"))
            return _truncated({"instance": between - inside, other: inside - moment, known: moment}, merged=merged)
    return _truncated({"instance": between}, merged=(("instance", "pair", "rater", "residual"),))


def _truncated(estimates: dict[str, float], merged: tuple[tuple[str, ...], ...] = ()) -> Components:
    names = ("instance", "pair", "rater", "residual")
    negative = tuple(name for name in names if estimates.get(name, 0.0) < -TOLERANCE)
    values = {name: estimates.get(name, 0.0) for name in names}
    components = {name: float(value) if value > TOLERANCE else 0.0 for name, value in values.items()}
    return Components(**components, truncated=negative, merged=merged)
