"""Batches that stop once their preference is decided, simulated."""

import math

import pytest

from analysis.errors import UnknownValue
from analysis.planning.stopping import stopped_design


@pytest.mark.parametrize(("planned", "power", "saved"), [(500, 0.93, 0.3), (600, 0.97, 0.4)])
def test_a_clear_preference_saves_votes_and_equal_systems_are_rarely_told_apart(
    planned: int, power: float, saved: float
) -> None:
    design = stopped_design(0.5, planned)
    assert design.power > power
    assert 1 - design.instances / design.fixed > saved
    assert design.errors < 0.05
    assert planned * 0.95 < design.equal <= planned


def test_no_spread_to_speak_of_is_decided_at_once() -> None:
    design = stopped_design(0.001, 50)
    assert (design.power, design.instances, design.fixed) == (1.0, 5.0, math.inf)


@pytest.mark.parametrize(("spread", "planned", "rate"), [(0.0, 50, 0.6), (0.5, 4, 0.6), (0.5, 50, 0.5)])
def test_what_cannot_be_simulated_is_refused(spread: float, planned: int, rate: float) -> None:
    with pytest.raises(UnknownValue):
        stopped_design(spread, planned, rate=rate)
