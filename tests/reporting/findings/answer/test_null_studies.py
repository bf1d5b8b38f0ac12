"""The simulated studies of `bench.answers`: whether nothing is there to be claimed."""

import numpy as np
import pytest

from bench.answers import EPSILON, FILTERS, Population, judged, length_matters, main, populations, right_at_epsilon
from reporting.findings.computing import judge_findings
from reporting.findings.data.vote_table import vote_table


@pytest.mark.slow
@pytest.mark.parametrize(("people", "whole"), [(0.8, False), (0.8, True), (0.65, False)])
def test_a_judge_at_epsilon_agrees_less_by_epsilon(people: float, whole: bool) -> None:
    right = right_at_epsilon(people)
    data = judged(np.random.default_rng(3), 4_000, right=right, people=people, whole=whole)
    [found] = judge_findings([data], vote_table([data], None), None, FILTERS)["replacement"]
    difference = found["non_inferiority"]["overall"]["difference"]
    # Twenty thousand pairs: a standard error of 0.004 at most, as pairs of an instance are alike.
    assert difference["value"] == pytest.approx(-EPSILON, abs=0.016)
    assert difference["high"] - difference["low"] < 0.032


@pytest.mark.parametrize("population", list(populations()), ids=lambda population: population.name)
def test_a_study_of_each_cell_is_simulated(population: Population) -> None:
    for instances in population.numbers:
        assert population.study(np.random.default_rng(0), instances) is not None


def test_an_effect_of_length_is_found() -> None:
    rng = np.random.default_rng(0)
    assert sum("length" in length_matters(rng, 50, longer=0.0, number=1, effect=4.0) for _ in range(5)) > 2


def test_an_unknown_effect_of_length_is_no_claim() -> None:
    assert length_matters(np.random.default_rng(0), 20, longer=2.0, number=4) == {"length_few"}


@pytest.mark.parametrize("words", ["votes at random, independent  ", "no such cell"])
def test_cells_are_simulated_by_the_words_of_their_line(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CELL", words)
    monkeypatch.setenv("STUDIES", "3")
    main()
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[1:-1]]
    assert [line[-3:-1] for line in lines] == ([["20", "3"], ["50", "3"]] if "random" in words else [])
