"""Severity of people in findings: which way its signs point, and what stands where there is none."""

import numpy as np
import pytest

from reporting.core.estimates import IntervalSettings
from reporting.findings.data.vote_table import vote_table
from reporting.findings.raters.aggregated_verdicts import rater_severity
from tests.reporting.findings.raters.people_arrays import Vote, configuration_of

SETTINGS = IntervalSettings()


def _votes(lean: str) -> list[Vote]:
    """Votes of three on twelve pairs: Ann leans one way, the others go by what the pair is."""
    draw = np.random.default_rng(4)
    votes: list[Vote] = []
    for n in range(12):
        truth = draw.choice([-1, 1])
        for name in ("ann", "bob", "cem"):
            a_is_left = bool(draw.random() < 0.5)
            leaning = {"left": -1 if a_is_left else 1, "ties": 0, "system": -1}[lean]
            verdict = leaning if name == "ann" and n else truth
            votes.append((n, 0, name, verdict, a_is_left, 30.0))
    return votes


@pytest.mark.parametrize("lean", ["left", "ties", "system"])
@pytest.mark.parametrize("systems", [("one", "two"), ("two", "one")], ids=" ".join)
def test_who_leans_one_way_deviates_there(lean: str, systems: tuple[str, str]) -> None:
    found = rater_severity(vote_table([configuration_of(_votes(lean), systems=systems)]), SETTINGS)
    assert found["toward"] == "one"
    assert list(found["between"]) == ["left", "ties", "system"]
    ann, *others = (rater[lean] for rater in found["raters"])
    expected = -1 if lean == "system" and systems[0] == "two" else 1
    assert np.sign(ann["deviation"]) == expected
    assert 0 < expected * ann["value"] <= expected * ann["deviation"]
    assert (ann["n"], ann["n_instances"], ann["of"]) == (12, 12, "ratings beside others'")
    if lean != "left":  # which the others were shown at random
        assert all(np.sign(other["deviation"]) == -expected for other in others)
    if lean == "ties":
        assert ann["deviation"] == pytest.approx(11 / 12)


def test_nobody_beside_and_too_few_instances_have_codes() -> None:
    alone = [(n, 0, "ann", 1.0, True, 1.0) for n in range(6)]
    found = rater_severity(vote_table([configuration_of(alone)]), SETTINGS)
    assert (found["raters"], found["why_code"]) == ([], "no_common_votes")
    few = [(n, 0, name, float(side), True, 1.0) for n in range(3) for side, name in ((-1, "ann"), (1, "bob"))]
    found = rater_severity(vote_table([configuration_of([*few, (4, 0, "cem", 0.0, True, 1.0)])]), SETTINGS)
    assert [rater["rater"] for rater in found["raters"]] == ["ann", "bob"]
    assert {rater["ties"]["why_code"] for rater in found["raters"]} == {"too_few"}
    assert found["between"]["ties"]["spread"]["value"] is found["between"]["ties"]["p_value"] is None


def test_of_more_than_two_systems_none_is_leant_to() -> None:
    parts = [configuration_of(_votes("left"), systems=systems) for systems in (("one", "two"), ("one", "six"))]
    found = rater_severity(vote_table(parts), SETTINGS)
    assert (found["toward"], list(found["between"])) == (None, ["left", "ties"])
