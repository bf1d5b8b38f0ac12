"""Estimates as JSON, as text and in cells: what they rest on."""

import numpy as np
import pytest

from annotation.core.counting import estimate_text
from annotation.templatetags.tables import cell
from reporting.core.estimates import Basis, IntervalSettings, mean_estimate, share_estimate
from reporting.templatetags.numbers import decimals

BASIS = Basis(90, "verdicts", "a tie is half a win")
# 13 instances with 90 verdicts, 54 of them on one: 90² / (54² + 12 · 3²) = 2.68 of equal size.
SIZES = np.array([54, *[3] * 12])


def rows(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return units of which one instance's last one is 0 and all others are 1, and their instances."""
    instance = np.repeat(np.arange(len(sizes)), sizes)
    value = np.ones(len(instance))
    value[-1] = 0
    return np.stack([value, np.ones(len(instance))], axis=1), instance


@pytest.mark.parametrize("estimate", [share_estimate, mean_estimate])
def test_few_large_instances_have_their_effective_number(estimate: type) -> None:
    found = estimate(*rows(SIZES), BASIS, IntervalSettings())
    assert (found["n_instances"], found["effective_n"]) == (13, 2.7)
    assert "2.7" in estimate_text(found)
    assert "2.7" in cell(found)
    even = estimate(*rows(np.full(13, 7)), BASIS, IntervalSettings())
    assert "effective_n" not in even
    assert even["high"] - even["low"] < (found["high"] - found["low"]) / 2
    # With 13 of unequal sizes that are worth more than half as many, nothing needs to be said.
    assert "effective_n" not in estimate(*rows(np.array([14, *[7] * 12])), BASIS, IntervalSettings())


def test_no_effective_number_stands_beside_a_missing_interval() -> None:
    few = share_estimate(*rows(np.array([50, 1, 1])), BASIS, IntervalSettings())
    assert (few["low"], "effective_n" in few) == (None, False)
    unmade = share_estimate(*rows(SIZES), BASIS, IntervalSettings(made=False))
    assert "effective_n" not in unmade


def test_a_number_that_rounds_to_0_has_no_sign() -> None:
    found = {"value": -1e-17, "low": -0.0004, "high": 0.25, "n": 3, "of": "votes"}
    assert estimate_text(found) == "0.000 [0.000, 0.250], n = 3 votes"
    assert [decimals(number) for number in (-1e-17, -0.0006, None)] == ["0.000", "−0.001", "—"]
