"""Agreement of each two people: Cohen's kappa as of single pairs, of those with enough votes."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from analysis.agreement.confusion import cohen_kappa
from reporting.core.estimates import IntervalSettings
from reporting.findings.data.inputs import ConfigurationData, Filters, StudyData
from reporting.findings.data.separability_bins import bins_of
from reporting.findings.data.vote_table import vote_table
from reporting.findings.judges.judges_against_people import agreement_by_bin, judges_against_people
from reporting.findings.pooled.pooled import rater_pairs
from reporting.findings.raters.aggregated_verdicts import aggregated_verdicts
from reporting.findings.raters.raters_table import raters_table
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


PAIRS = {
    "two systems": [("one", "two"), ("one", "two")],
    "three systems": [("one", "two"), ("one", "three"), ("two", "three")],
}


def configurations(pairs: list[tuple[str, str]], turned: tuple[int, ...] = ()) -> list[ConfigurationData]:
    """Simulate skewed votes of three people and two judges on pairs of systems, some of which stand the other way round."""
    rng, data = np.random.default_rng(5), []
    for at, pair in enumerate(pairs):
        sign = -1 if at in turned else 1
        table = rng.choice([-1.0, 0.0, 1.0], p=[0.6, 0.1, 0.3], size=(30, 5))
        table = np.where(rng.random(table.shape) < 0.6, table[:, :1], table)
        people = [(i, 0, code, sign * table[i, at]) for i in range(30) for at, code in enumerate(CODES[:3])]
        judges = {name: [(i, 0, sign * v) for i, v in enumerate(table[:, k])] for k, name in ((3, "x"), (4, "y"))}
        data.append(
            configuration_data(people, judges, instances=30, dataset=f"d{at}", systems=pair[::-1] if sign < 0 else pair)
        )
    return data


@pytest.mark.parametrize("pairs", PAIRS.values(), ids=PAIRS)
def test_no_number_over_configurations_depends_on_which_system_is_a(pairs: list[tuple[str, str]]) -> None:
    def findings(*turned: int) -> dict[str, Any]:
        data, bins = configurations(pairs, turned), bins_of(np.tile(np.linspace(0, 1, 30), len(pairs)), 2)
        votes = vote_table(data, bins)
        raters = raters_table(StudyData("made", tuple(data), None, frozenset(), {}, []), votes, Filters())
        aggregated = aggregated_verdicts(data, votes)
        return {
            "pairs": rater_pairs(votes, IntervalSettings()),
            "judges": judges_against_people(votes, None, Filters()),
            "bins": agreement_by_bin(votes, [], bins, Filters()),
            "by_chance": [row["agreement"]["by_chance"] for row in raters],
            "people": aggregated["people"],
            "differs": [row["differs"] for row in aggregated["configurations"]],
            "right": [
                row["prevalence"]["b" if at in turned else "a"] for at, row in enumerate(aggregated["configurations"])
            ],
        }

    plain, turned = findings(), findings(1)
    for key, numbers in plain.items():
        assert list(leaves(turned[key])) == pytest.approx(list(leaves(numbers)), abs=1e-9), key


def leaves(found: object) -> Iterator[float]:
    """Yield all numbers of a JSON object."""
    if isinstance(found, dict | list):
        for part in found.values() if isinstance(found, dict) else found:
            yield from leaves(part)
    elif isinstance(found, int | float):
        yield found


def test_kappas_over_several_pairs_of_systems_are_those_of_votes_both_ways() -> None:
    votes = vote_table(configurations(PAIRS["three systems"]))
    table = np.full((len(votes.instance), 3), np.nan)
    table[votes.unit, votes.person] = votes.verdict
    both = np.concatenate([table, -table])
    found = rater_pairs(votes, IntervalSettings())
    for pair in found["pairs"]:
        first, second = (CODES.index(code) for code in pair["raters"])
        assert pair["kappa"]["value"] == pytest.approx(cohen_kappa(both[:, first], both[:, second]), abs=1e-12)
    judge = votes.judges["judge:x"]
    judged = np.tile(np.concatenate([judge, -judge]), 3)
    overall = judges_against_people(votes, None, Filters())[0]["overall"]
    assert overall["kappa"]["value"] == pytest.approx(cohen_kappa(judged, both.T.ravel()), abs=1e-12)


def test_two_people_with_few_votes_have_no_kappa() -> None:
    rows = [(instance, 0, code, 1) for instance in range(5) for code in CODES[:2]]
    found = rater_pairs(vote_table([configuration_data(rows, {}, instances=5)]), IntervalSettings())
    assert found == {"people": 0, "compared": 0, "mean": None, "pairs": []}
