"""Raters that leave pairs without an answer, from arrays."""

from typing import Any

import numpy as np
import pytest

from reporting.findings.data.inputs import Filters
from reporting.findings.measures.rater_findings import rater_findings
from tests.reporting.findings.arrays import Row, rater_of

PAIRS, INSTANCES = 5, 400


def coin(unread: float) -> list[Row]:
    """A coin, of whose answers some cannot be read."""
    rng = np.random.default_rng(1)
    verdict = np.where(rng.random((INSTANCES, PAIRS)) < 0.5, -1.0, 1.0)
    missing = np.random.default_rng(2).random((INSTANCES, PAIRS)) < unread
    return [
        (instance, pair, "coin", None if missing[instance, pair] else float(verdict[instance, pair]))
        for instance in range(INSTANCES)
        for pair in range(PAIRS)
    ]


def consistency_of(rows: list[Row], **options: Any) -> dict[str, Any]:
    return rater_findings(rater_of("judge:coin", "judge", rows, **options), None, Filters().intervals)


@pytest.mark.parametrize("unread", [0, 0.4])
def test_a_coin_that_leaves_answers_unread_looks_like_a_coin(unread: float) -> None:
    """Five answers of a coin are alike in 2 of 32 cases."""
    found = consistency_of(coin(unread))
    estimate = found["mean_consistency"]
    assert estimate["low"] <= 2 / 32 <= estimate["high"]
    assert (found["rating_sets"], found["incomplete_rating_sets"]) == (estimate["n"], INSTANCES - estimate["n"])


def test_a_coin_that_leaves_most_answers_unread_has_hardly_a_set() -> None:
    found = consistency_of(coin(0.7))
    assert found["rating_sets"] < 5
    assert found["mean_consistency"]["value"] in (None, 0.0)


def test_incomplete_sets_count_on_request_but_never_those_of_one_rating() -> None:
    rows = coin(0.7)
    ratings = np.array([row[3] is not None for row in rows]).reshape(INSTANCES, PAIRS).sum(axis=1)
    found = consistency_of(rows, with_incomplete=True)
    assert found["rating_sets"] == (ratings > 1).sum()
    assert found["fully_consistent"]["excluded"] == (ratings < 2).sum()
