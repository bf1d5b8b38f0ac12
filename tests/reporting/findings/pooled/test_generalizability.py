"""Generalizability in findings: the curve by numbers of raters, and what stands where it takes more ratings."""

import numpy as np
import pytest

from reporting.core.estimates import IntervalSettings
from reporting.findings.data.vote_table import vote_table
from reporting.findings.pooled.pooled import INSTANCES, RATERS, generalizability_findings
from tests.reporting.findings.arrays import configuration_data


def test_curve_rises_with_raters_and_errors_fall_with_instances() -> None:
    draw = np.random.default_rng(3)
    rows = [
        (instance, pair, name, float(np.sign(np.round(draw.normal(instance % 3 - 1, 0.8)))))
        for instance in range(40)
        for pair in range(2)
        for name in ("ann", "bob", "cem")
    ]
    found = generalizability_findings(vote_table([configuration_data(rows, {}, instances=40)]), IntervalSettings())
    assert (found["pairs"], found["merged"], [row["raters"] for row in found["curve"]]) == (2, False, list(RATERS))
    parts = found["components"]
    for row in found["curve"]:
        r = row["raters"]
        relative = parts["pair"] / 2 + parts["interaction"] / r + parts["residual"] / (2 * r)
        assert row["relative"]["value"] == pytest.approx(parts["instance"] / (parts["instance"] + relative))
        assert row["relative"]["low"] < row["relative"]["value"] < row["relative"]["high"]
        for n in INSTANCES:
            variance = (parts["instance"] + relative) / n + parts["rater"] / r
            assert row["standard_error"][str(n)] == pytest.approx(np.sqrt(variance))
    values = [row["relative"]["value"] for row in found["curve"]]
    assert values == sorted(values)


def test_without_two_raters_on_a_pair_there_is_a_code() -> None:
    rows = [(instance, 0, "ann", 1.0) for instance in range(6)]
    found = generalizability_findings(vote_table([configuration_data(rows, {}, instances=6)]), IntervalSettings())
    assert (found["components"], found["curve"], found["why_code"]) == (None, [], "not_crossed")
