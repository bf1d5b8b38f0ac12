"""Generalizability: how far instances and their mean would come out alike with other raters, and with more of them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.errors import NotEnough
from analysis.grouping import groups, groups_of_rows, joint_codes
from analysis.intervals.bootstrap import ratio
from analysis.intervals.jackknife import ROUNDING
from analysis.types import FloatArray, IntArray, code_array

NAMES = ("instance", "rater", "interaction", "pair", "residual")


@dataclass(frozen=True, eq=False)
class GStudy:
    """Variance components in the order of `NAMES`.

    components : (5,), 0 where an estimate is below it; without : (n_clusters, 5) without each cluster
    truncated  : names of those below 0
    merged     : whether no rater has two pairs of an instance: pairs are then part of instances, the residual of interaction
    """

    components: FloatArray
    without: FloatArray
    truncated: tuple[str, ...]
    merged: bool


def generalizability_study(
    values: npt.ArrayLike,
    configuration: npt.ArrayLike,
    instance: npt.ArrayLike,
    pair: npt.ArrayLike,
    rater: npt.ArrayLike,
    cluster: npt.ArrayLike,
) -> GStudy:
    """Estimate the variance of instances, raters, both, pairs within instances, and the residual.

    All of them are random effects.
    Estimates are moments of half squared differences of two values of a configuration: those of two raters on a pair differ by
    rater + interaction + residual, of one rater on two pairs of an instance by pair + residual, of one rater on two instances by
    all but rater, of two raters on two instances by all; two instances are of different clusters. On balanced data they equal the analysis of variance; on any others
    they stay unbiased. Raters are crossed with instances, with missing cells.

    values  : (n,) in units of the mean, such as 1, 1/2, 0
    configuration, instance, pair, rater, cluster : (n,) integer codes; an instance is in one configuration, a pair in one instance
    raises  : NotEnough where no pair has two raters, or no rater has two instances of a configuration
    source  : Koch 1968, Technometrics 10, for the moments; Brennan 2001, Generalizability Theory, §7.1
    """
    x = np.asarray(values, dtype=np.float64)
    columns = (code_array("codes", column) for column in (configuration, instance, pair, rater, cluster))
    group, item, unit, person, own_cluster = (groups(column)[1] for column in columns)
    cell = joint_codes(group, own_cluster)
    everything, of_person, on_cell, of_person_there, on_item, of_both, on_unit = (
        _differences(x - x.sum() / max(len(x), 1), codes, own_cluster)
        for codes in (
            *(group, joint_codes(group, person), cell, joint_codes(cell, person)),
            *(item, joint_codes(item, person), unit),
        )
    )
    same_rater = of_person - of_person_there
    sums = (on_unit, of_both, on_item - on_unit - of_both, same_rater, everything - on_cell - same_rater)
    raters, pairs, both, instances, all_differ = map(ratio, sums)
    if np.isnan(raters[0] + instances[0] + all_differ[0]):
        raise NotEnough("needs pairs with two raters, and raters with two instances of a configuration")
    of_rater = all_differ - instances
    merged = bool(np.isnan(pairs[0] + both[0]))
    if merged:
        pairs, both = np.zeros_like(raters), raters
    residual = np.zeros_like(raters) if merged else raters + pairs - both
    table = np.stack([all_differ - both, of_rater, both - pairs - of_rater, both - raters, residual], axis=1)
    names = tuple(name for name, value in zip(NAMES, table[0].tolist(), strict=True) if value < -ROUNDING)
    table = np.maximum(table, 0.0)
    return GStudy(table[0], table[1:], names, merged)


def generalizability(components: npt.ArrayLike, *, raters: float, pairs: float = 1) -> tuple[FloatArray, FloatArray]:
    """Generalizability coefficient Eρ² (of the order of instances) and index of dependability Φ (of their values).

        Eρ² = σ²instance / (σ²instance + σ²pair / N + σ²interaction / R + σ²residual / (N R)),  Φ: + σ²rater / R

    components : (..., 5) in the order of `NAMES`; raters, pairs : of an instance
    returns    : (...) each, in [0, 1]; NaN where all components are 0
    source     : Brennan 2001, Generalizability Theory, eq. 2.40 and 2.41
    """
    table = np.asarray(components, dtype=np.float64) / (1, raters, raters, pairs, pairs * raters)
    with np.errstate(invalid="ignore"):
        return table[..., 0] / np.delete(table, 1, axis=-1).sum(axis=-1), table[..., 0] / table.sum(axis=-1)


def mean_error(components: npt.ArrayLike, *, raters: float, instances: float, pairs: float = 1) -> FloatArray:
    """Standard error of the mean over n instances that the same R raters rate, both drawn at random.

        √((σ²instance + σ²pair / N + σ²interaction / R + σ²residual / (N R)) / n + σ²rater / R)

    components, raters, pairs : as `generalizability`
    returns                   : (...) in the unit of the values
    source                    : Brennan 2001, Generalizability Theory, eq. 2.34
    """
    of_instance = np.array((1, raters, raters, pairs, pairs * raters)) * (instances, 1, instances, instances, instances)
    error: FloatArray = np.sqrt((np.asarray(components, dtype=np.float64) / of_instance).sum(axis=-1))
    return error


def _differences(values: FloatArray, group: IntArray, cluster: IntArray) -> FloatArray:
    """(1 + n_clusters, 2) sums of half squared differences within groups, and their numbers: of all, and without each cluster."""
    (of_group, of_cluster), cell = groups_of_rows(groups(group)[1], cluster)
    sums = _summed(np.stack([np.ones(len(values)), values, values**2], axis=1), cell)
    totals = _summed(sums, of_group)
    complete = _half_squares(totals)
    lost = complete[of_group] - _half_squares(totals[of_group] - sums)
    without: FloatArray = complete.sum(axis=0) - np.concatenate([np.zeros((1, 2)), _summed(lost, of_cluster)])
    return without


def _summed(columns: FloatArray, group: IntArray) -> FloatArray:
    return np.stack([np.bincount(group, column).astype(np.float64) for column in columns.T], axis=1)


def _half_squares(sums: FloatArray) -> FloatArray:
    n, total, squares = sums.T
    return np.stack([(n * squares - total**2) / 2, n * (n - 1) / 2], axis=1)
