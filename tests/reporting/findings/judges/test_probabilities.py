"""Judges' probabilities in findings: read from both orders of a pair, never made up, and drawn."""

import pytest

from judging.models import Judgment
from reporting.findings.pictures import draw
from reporting.findings.sections.judges import judges_section
from tests.reporting.builders import Built, build_configuration, build_study, findings, judge, rate

pytestmark = pytest.mark.django_db
# Probability of B with A first and with B first, beside two votes.
STATED = [(0.9, 0.7), (0.2, 0.4), (0.6, None), (None, None)]
VOTES = [(1, 0), (-1, 1), (1, 1), (1, 1)]


@pytest.fixture
def built() -> Built:
    built = build_configuration(build_study(), instances=4, pairs=1)
    for place, votes in enumerate(VOTES):
        for name, vote in zip("pq", votes, strict=True):
            rate(built, place, name, [vote])
    rows = [(place, 0, order, 1) for place in range(4) for order in ("ab", "ba")]
    judge(built, "j", rows)
    judge(built, "without", rows)
    for place, probabilities in enumerate(STATED):
        for order, p_b in zip(("ab", "ba"), probabilities, strict=True):
            cells = Judgment.objects.filter(run__judge__name="j", pair=built.pairs[place][0], order=order)
            assert cells.update(p_b=p_b) == 1
    return built


def test_pairs_without_both_probabilities_count_nowhere(built: Built) -> None:
    numbers = findings(built.study, rounds=1)
    [found] = numbers["judge_probabilities"]
    # .8 for B beside 1 and ½, .3 beside 0 and 1.
    assert found["brier"]["value"] == pytest.approx((0.04 + 0.09 + 0.09 + 0.49) / 4)
    assert (found["judge"], found["brier"]["n"], found["brier"]["excluded"]) == ("j", 4, 4)
    assert found["least"]["value"] == pytest.approx((2 * 0.125 + 2 * 0.5) / 4)
    parts = found["reliability"] - found["resolution"] + found["uncertainty"]
    assert parts == pytest.approx(found["brier"]["value"])
    assert [(bin_["low"], bin_["probability"], bin_["votes"]["value"]) for bin_ in found["bins"]] == [
        (0.7, pytest.approx(0.7), 0.5),
        (0.8, pytest.approx(0.8), 0.75),
    ]
    rows = judges_section(numbers)["calibration"].rows
    assert [row[1][1]["n"] for row in rows] == [2, 2]
    drawn = [row["probability"] for row in draw("calibration", numbers)["data"]["values"]]
    assert drawn == pytest.approx([0.7, 0.8])


def test_judges_without_probabilities_have_no_table(built: Built) -> None:
    Judgment.objects.update(p_b=None)
    numbers = findings(built.study, rounds=1)
    assert numbers["judge_probabilities"] == []
    assert judges_section(numbers)["probabilities"] is None
    assert "why" in draw("calibration", numbers)["usermeta"]
