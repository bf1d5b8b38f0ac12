"""The findings on juries: independent votes, and what each member adds, from arrays alone."""

import math

import pytest

from reporting.core.reasons import TOO_FEW
from reporting.findings.data.inputs import Filters, JuryMembers
from reporting.findings.data.vote_table import vote_table
from reporting.findings.judges.judges_against_people import jury_findings
from tests.reporting.findings.arrays import configuration_data

PANEL = JuryMembers("panel", ("good", "fair", "copy"), "majority")


def found(verdicts, jury=PANEL, instances=24):
    """Findings on a jury where three people agree on A everywhere; a member has a verdict on one pair of each instance."""
    people = [(place, 0, code, -1.0) for place in range(instances) for code in ("ann", "bob", "cem")]
    judges = {name: [(n, 0, one) for n, one in enumerate(column)] for name, column in verdicts.items()}
    data = configuration_data(people, judges, instances=instances)
    [one] = jury_findings([jury], vote_table([data], None), Filters())
    return one


@pytest.fixture(scope="module")
def panel():
    """The good one errs on 4 of 24, the fair one on 12, and its copy on the same 12."""
    good = [1.0] * 4 + [-1.0] * 20
    fair = [-1.0] * 12 + [1.0] * 12
    return found({"good": good, "fair": fair, "copy": fair})


def test_correlated_errors_are_worth_fewer_votes(panel) -> None:
    # Fair and copy correlate by 1; good with either: (24*0 - 4*12) / sqrt(4*20*12*12) = -0.447.
    rho = (1 - 2 * 48 / math.sqrt(4 * 20 * 144)) / 3
    correlation, votes = panel["error_correlation"], panel["effective_members"]
    assert correlation["value"] == pytest.approx(rho)
    assert votes["value"] == pytest.approx(3 / (1 + 2 * rho))
    assert (correlation["n"], correlation["n_instances"], votes["members"]) == (24, 24, 3)
    assert votes["low"] == pytest.approx(3 / (1 + 2 * correlation["high"]))
    assert votes["low"] < votes["value"] < (votes["high"] or math.inf)
    assert panel["voting"] == {"3": 24}


def test_a_member_that_adds_nothing_is_seen(panel) -> None:
    by_member = {one["member"]: one for one in panel["without"]}
    # With all three the pair of copies decides: right on 12. Without the good one too.
    assert (by_member["good"]["difference"]["value"], by_member["good"]["changes"]) == (0.0, 0)
    # Without a copy, good and fair split on 16 pairs and agree rightly on 8: 8 of 24, so that it adds 4 of 24.
    assert by_member["copy"]["difference"]["value"] == pytest.approx(4 / 24)
    assert by_member["copy"]["difference"]["n"] == 72
    assert by_member["copy"]["changes"] == 16


def test_a_jury_without_its_members_says_so() -> None:
    one = found({"good": [-1.0] * 24})
    assert (one["why_code"], one["absent"], one["without"]) == ("few_members", ["fair", "copy"], [])


def test_without_errors_there_is_no_number_and_a_reason() -> None:
    right = [-1.0] * 24
    one = found({"good": right, "fair": right, "copy": [None, *right[1:]]})
    assert (one["effective_members"]["value"], one["effective_members"]["why_code"]) == (None, "no_errors_together")
    assert one["voting"] == {"2": 1, "3": 23}


def test_few_instances_have_no_interval_but_a_reason() -> None:
    half = [1.0, -1.0, 1.0, -1.0]
    one = found({"good": half, "fair": half[::-1], "copy": half}, instances=4)
    assert one["error_correlation"]["value"] is not None
    assert one["error_correlation"]["low"] is None
    assert (
        one["error_correlation"]["why"]
        == one["effective_members"]["why"]
        == TOO_FEW.with_values(of="instances", least=20).text
    )
