"""Gwet's AC1 and AC2, against the published example and by brute force."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from analysis.agreement.coefficients import gwet_from_sums, gwet_sums, ordinal_weights
from analysis.errors import ShapeError, UnknownValue

# Krippendorff's twelve units of four raters, of which Gwet gives the coefficients.
UNITS = ["111", "2232", "3333", "3333", "2222", "1234", "4444", "1121", "2222", "555", "11", "3"]
COUNTS = np.array([[unit.count(str(kind)) for kind in range(1, 6)] for unit in UNITS])


def test_the_published_example_has_its_published_coefficient() -> None:
    assert gwet_from_sums(gwet_sums(COUNTS).sum(axis=0)) == pytest.approx(0.77544, abs=5e-6)


@given(arrays.arrays(np.int64, st.tuples(st.integers(1, 8), st.just(3)), elements=st.integers(0, 4)))
def test_coefficients_equal_those_of_all_pairs_of_votes(counts: np.ndarray) -> None:
    for ordinal in (False, True):
        weights = ordinal_weights(3) if ordinal else np.eye(3)
        units = [[kind for kind, n in enumerate(row) for _ in range(n)] for row in counts.tolist()]
        agreements = [np.mean([weights[a, b] for a, b in permutations(unit, 2)]) for unit in units if len(unit) > 1]
        found = float(gwet_from_sums(gwet_sums(counts).sum(axis=0), ordinal=ordinal))
        if not agreements:
            assert np.isnan(found)
            continue
        shares = np.mean([[unit.count(kind) / len(unit) for kind in range(3)] for unit in units if unit], axis=0)
        expected = weights.sum() / 6 * (shares * (1 - shares)).sum()
        assert found == pytest.approx((np.mean(agreements) - expected) / (1 - expected), abs=1e-12)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ShapeError):
        gwet_sums([[1], [2]])
    with pytest.raises(UnknownValue):
        gwet_sums([[1, -1]])
