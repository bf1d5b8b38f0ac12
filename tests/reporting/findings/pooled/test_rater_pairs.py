"""Agreement of each two people: Cohen's kappa as of single pairs, of those with enough votes."""

import numpy as np
import pytest

from analysis.agreement.coefficients import cohen_kappa
from reporting.core.estimates import IntervalSettings
from reporting.findings.pooled.pooled import rater_pairs
from reporting.findings.pooled.vote_table import vote_table
from tests.reporting.findings.arrays import configuration_data

CODES = ("ann", "ben", "cat", "dan")


def test_kappas_equal_those_of_two_columns_of_votes() -> None:
    rng = np.random.default_rng(3)
    table = rng.choice([-1.0, 0.0, 1.0], size=(40, 4))
    table[rng.random(table.shape) < 0.2] = np.nan
    table[10:, 3] = np.nan  # dan has too few votes
    rows = [
        (instance, 0, code, int(table[instance, at]))
        for instance in range(40)
        for at, code in enumerate(CODES)
        if not np.isnan(table[instance, at])
    ]
    votes = vote_table([configuration_data(rows, {}, instances=40)])
    found = rater_pairs(votes, IntervalSettings())
    assert (found["people"], found["compared"]) == (3, 3)
    kappas = {tuple(sorted(pair["raters"])): pair["kappa"] for pair in found["pairs"]}
    for first, second in ((0, 1), (0, 2), (1, 2)):
        kappa = kappas[CODES[first], CODES[second]]
        both = ~np.isnan(table[:, first]) & ~np.isnan(table[:, second])
        assert kappa["n"] == kappa["n_instances"] == both.sum()
        assert kappa["value"] == pytest.approx(cohen_kappa(table[both, first], table[both, second]), abs=1e-12)
        assert kappa["low"] < kappa["value"] < kappa["high"]
    assert found["mean"] == pytest.approx(np.mean([kappa["value"] for kappa in kappas.values()]))


def test_two_people_with_few_votes_have_no_kappa() -> None:
    rows = [(instance, 0, code, 1) for instance in range(5) for code in CODES[:2]]
    found = rater_pairs(vote_table([configuration_data(rows, {}, instances=5)]), IntervalSettings())
    assert found == {"people": 0, "compared": 0, "mean": None, "pairs": []}
