"""The first pass of findings: the same values, without intervals."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from reporting.findings.computing import compute_estimates, compute_findings
from reporting.findings.data.inputs import Filters, StudyData
from tests.reporting.findings.arrays import configuration_data

pytestmark = pytest.mark.slow

INSTANCES = 40
PAIRS = 2
Found = dict[str, Any]


@pytest.fixture(scope="module")
def both() -> tuple[Found, Found]:
    """Both passes over three systems, each compared with each by three people and a judge; instances come with two pairs."""
    rng = np.random.default_rng(7)
    configurations = []
    for dataset, systems in (("x", ("one", "two")), ("y", ("two", "three")), ("z", ("one", "three"))):
        cells = [(instance, pair) for instance in range(INSTANCES) for pair in range(PAIRS)]
        people = [(*cell, name, float(rng.integers(-1, 2))) for cell in cells for name in ("ann", "bob", "cem")]
        judge = [(*cell, float(rng.integers(-1, 2))) for cell in cells]
        configurations.append(
            configuration_data(
                people, {"strict": judge}, instances=INSTANCES, dataset=dataset, systems=systems, prefix=dataset
            )
        )
    data = StudyData("made", tuple(configurations), None, frozenset(), {}, [])
    return compute_estimates(data, Filters()), compute_findings(data, Filters())


def objects(found: object, path: tuple[object, ...] = ()) -> Iterator[tuple[tuple[object, ...], Found]]:
    """Yield every JSON object with its path."""
    if isinstance(found, dict):
        yield path, found
    parts = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for key, part in parts:
        yield from objects(part, (*path, key))


def test_values_of_the_first_pass_are_those_of_the_second(both: tuple[Found, Found]) -> None:
    first, second = both
    assert first.keys() - second.keys() == {"being_computed"}
    assert not second.keys() - first.keys()
    ranked = [one for one in second["rankings"] if one["measure"] != "elo"]  # whose rounds a first pass leaves out
    known, compared = dict(objects({**second, "rankings": ranked})), 0
    for path, one in objects(first):
        for key in ("value", "n", "n_instances", "strength", "rank", "excluded"):
            if key in one:
                assert one[key] == pytest.approx(known[path][key], abs=1e-9), (path, key)
                compared += 1
    assert compared > 300
    assert [one["measure"] for one in first["rankings"]] == [one["measure"] for one in ranked]
    assert first["win_matrices"] == second["win_matrices"]


def test_the_first_pass_has_no_interval_and_says_why(both: tuple[Found, Found]) -> None:
    first, second = both
    estimates = [one for _, one in objects(first) if "low" in one and "value" in one]
    assert {one["low"] for one in estimates} == {None}
    assert "being_computed" in {one["why_code"] for one in estimates}
    assert all(one["why_code"] == "being_computed" for one in estimates if one["value"] is not None)
    assert {one["first"]["by_more_than_chance"] for one in first["rankings"]} == {None}
    assert {row["rank_low"] for one in first["rankings"] for row in one["systems"]} == {None}
    assert [one["rule"] for one in first["answer"]] == ["being_computed"]
    assert "being_computed" not in str(second)


def test_the_answer_counts_an_instance_of_several_configurations_once() -> None:
    rows = [(i, pair, "ann", [-1.0, 1.0][pair]) for i in range(6) for pair in range(PAIRS)]
    meetings = (("one", "two"), ("one", "three"), ("two", "three"))
    configurations = tuple(configuration_data(rows, {}, instances=6, systems=systems) for systems in meetings)
    found = compute_findings(StudyData("made", configurations, None, frozenset(), {}, []), Filters())
    [sentence] = [one for one in found["answer"] if one["rule"] == "consistency"]
    assert (sentence["values"]["instances"], sentence["values"]["sets"]) == (6, 18)
