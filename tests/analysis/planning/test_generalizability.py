"""Generalizability: a published example, the analysis of variance, pairs of values one by one, and leaving clusters out."""

import numpy as np
import pytest

from analysis.errors import NotEnough
from analysis.planning.generalizability import generalizability, generalizability_study, mean_error
from analysis.types import FloatArray, IntArray

# Brennan 2001, Generalizability Theory, table 2.2: ten persons by twelve items.
BRENNAN = """101000000000 111001000000 111110000000 110110010000 111110100000
             111011100000 111111100000 111101111100 111111111110 111111111111"""


def _columns(table: FloatArray) -> tuple[FloatArray, IntArray, IntArray, IntArray]:
    """(instances, pairs, raters) values in long form."""
    instance, pair, rater = (column.ravel() for column in np.indices(table.shape))
    return table.ravel(), instance, instance * table.shape[1] + pair, rater


def test_published_example() -> None:
    scores = np.array([[float(digit) for digit in row] for row in BRENNAN.split()])[:, np.newaxis]
    values, instance, pair, rater = _columns(scores)
    study = generalizability_study(values, np.zeros_like(instance), instance, pair, rater, instance)
    assert study.merged
    assert study.components == pytest.approx([0.0574, 0.0754, 0.1269, 0, 0], abs=5e-5)  # table 2.3
    relative, absolute = generalizability(study.components, raters=12)
    assert (float(relative), float(absolute)) == pytest.approx((0.8445, 0.7730), abs=5e-5)
    # Eq. 2.34: the variance of the mean is .0574 / 10 + .0754 / 12 + .1269 / 120.
    assert mean_error(study.components, raters=12, instances=10) ** 2 == pytest.approx(0.01308, abs=2e-5)


def test_balanced_data_as_the_analysis_of_variance() -> None:
    table = np.random.default_rng(1).normal(size=(7, 3, 4))
    table += 3 * np.random.default_rng(2).normal(size=(7, 1, 1)) + np.random.default_rng(3).normal(size=(1, 1, 4))
    table += np.random.default_rng(4).normal(size=(7, 1, 4)) + np.random.default_rng(5).normal(size=(7, 3, 1))
    i, k, r = table.shape
    of_i, of_r, of_ir, of_ik = (table.mean(axis=axes, keepdims=True) for axes in ((1, 2), (0, 1), 1, 2))
    mean = table.mean()
    ms_i = k * r * ((of_i - mean) ** 2).sum() / (i - 1)
    ms_r = k * i * ((of_r - mean) ** 2).sum() / (r - 1)
    ms_ir = k * ((of_ir - of_i - of_r + mean) ** 2).sum() / ((i - 1) * (r - 1))
    ms_k = r * ((of_ik - of_i) ** 2).sum() / (i * (k - 1))
    ms_e = ((table - of_ik - of_ir + of_i) ** 2).sum() / (i * (k - 1) * (r - 1))
    expected = [
        (ms_i - ms_ir - ms_k + ms_e) / (k * r),
        (ms_r - ms_ir) / (i * k),
        (ms_ir - ms_e) / k,
        (ms_k - ms_e) / r,
        ms_e,
    ]
    values, instance, pair, rater = _columns(table)
    study = generalizability_study(values, np.zeros_like(instance), instance, pair, rater, instance)
    assert study.truncated == ()
    assert study.components == pytest.approx(expected, abs=1e-12)


def _unbalanced(rng: np.random.Generator) -> tuple[FloatArray, list[IntArray]]:
    rows = [
        (configuration, instance, 10 * instance + pair, rater)
        for configuration, instances in ((0, range(6)), (1, range(6, 11)))
        for instance in instances
        for pair in range(1 + instance % 3)
        for rater in range(5)
        if rng.random() < 0.7
    ]
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return rng.choice([0, 0.5, 1], size=len(rows)) + columns[3] / 4 + columns[1] % 4, columns


def test_unbalanced_data_as_pairs_of_values_one_by_one() -> None:
    values, columns = _unbalanced(np.random.default_rng(8))
    group, instance, pair, rater = columns
    cluster = instance // 2
    halves: dict[tuple[bool, bool, bool], list[float]] = {}
    for first in range(len(values)):
        for second in range(first):
            # Two instances of a cluster are not drawn by chance.
            is_drawn = instance[first] == instance[second] or cluster[first] != cluster[second]
            if group[first] == group[second] and is_drawn:
                key = tuple(bool(column[first] == column[second]) for column in (instance, pair, rater))
                halves.setdefault(key, []).append((values[first] - values[second]) ** 2 / 2)
    raters, pairs, both = (
        np.mean(halves[key]) for key in ((True, True, False), (True, False, True), (True, False, False))
    )
    instances, all_differ = (np.mean(halves[key]) for key in ((False, False, True), (False, False, False)))
    of_rater = all_differ - instances
    expected = [all_differ - both, of_rater, both - pairs - of_rater, both - raters, raters + pairs - both]
    study = generalizability_study(values, group, instance, pair, rater, cluster)
    assert study.components == pytest.approx(np.maximum(expected, 0), abs=1e-12)
    assert len(study.truncated) == sum(value < 0 for value in expected)
    for left_out in range(len(study.without)):
        kept = cluster != left_out
        again = generalizability_study(
            values[kept], *(column[kept] for column in (group, instance, pair, rater)), cluster[kept]
        )
        assert study.without[left_out] == pytest.approx(again.components, abs=1e-9)


def test_names_of_systems_do_not_matter() -> None:
    values, columns = _unbalanced(np.random.default_rng(9))
    turned = np.where(columns[0] == 1, 1 - values, values)
    one, other = (generalizability_study(each, *columns, columns[1]) for each in (values, turned))
    assert one.components == pytest.approx(other.components, abs=1e-12)


@pytest.mark.parametrize("rater", [[0, 1, 2, 3], [0, 0, 0, 0]], ids=["one instance each", "one rater"])
def test_what_is_not_crossed_is_refused(rater: list[int]) -> None:
    instance = np.array([0, 0, 1, 1])
    pair = instance if rater[1] else np.arange(4)
    with pytest.raises(NotEnough):
        generalizability_study([0, 1, 1, 0.5], np.zeros(4, dtype=int), instance, pair, rater, instance)
