"""The methods as the judges' page offers them: all of them, in groups, with the calls that they make."""

import pytest

from judging.methods import find_method
from judging.runs.forms import runnable_methods
from judging.runs.method_groups import METHOD_GROUPS, RECOMMENDED, method_choices
from tests.llm.test_methods import CALLS

OFFERED = {one.name: one for group in METHOD_GROUPS.values() for one in group}


def test_every_method_that_runs_is_in_one_group_and_the_recommended_one_comes_first() -> None:
    names = [one.name for group in METHOD_GROUPS.values() for one in group]
    assert sorted(names) == sorted(runnable_methods())
    assert names[0] == RECOMMENDED
    assert method_choices()[0][1][0] == ("direct", "direct (recommended) · calls for a pair: 1")


@pytest.mark.parametrize("name", sorted(OFFERED))
def test_the_calls_on_offer_are_those_that_a_method_makes(name: str) -> None:
    if name == "sc2":  # tables, comparisons in a tournament of them, and a verdict
        samples = find_method(name).options["samples"]
        assert OFFERED[name].calls == samples + (samples - 1) + 1
    elif name == "self-consistency":
        assert OFFERED[name].calls == find_method(name).options["samples"]
    else:
        assert OFFERED[name].calls == sum(CALLS.get(name, {}).values())
