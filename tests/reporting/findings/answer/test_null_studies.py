"""The simulated studies of `bench.answers`: whether nothing is there to be claimed."""

import numpy as np
import pytest

from bench.answers import EPSILON, FILTERS, Population, judged, populations, right_at_epsilon
from reporting.findings.computing import judge_findings
from reporting.findings.pooled.vote_table import vote_table

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("people", "whole"), [(0.8, False), (0.8, True), (0.65, False)])
def test_a_judge_at_epsilon_agrees_less_by_epsilon(people: float, whole: bool) -> None:
    right = right_at_epsilon(people)
    data = judged(np.random.default_rng(3), 4_000, right=right, people=people, whole=whole)
    [found] = judge_findings([data], vote_table([data], None), None, FILTERS)["replacement"]
    difference = found["non_inferiority"]["overall"]["difference"]
    # Twenty thousand pairs: a standard error of 0.004 at most, as pairs of an instance are alike.
    assert difference["value"] == pytest.approx(-EPSILON, abs=0.016)
    assert difference["high"] - difference["low"] < 0.032


@pytest.mark.parametrize(
    ("population", "instances"),
    [
        pytest.param(population, instances, id=f"{population.name}-{instances}")
        for population in populations()
        for instances in population.numbers
    ],
)
def test_a_study_of_each_cell_is_simulated(population: Population, instances: int) -> None:
    assert population.study(np.random.default_rng(0), instances) in (True, False)
    assert 0 < population.allowed(instances) < 0.2
