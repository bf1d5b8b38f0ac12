"""The rule table of whether a judge may replace a single rater: each rule, and its words."""

from typing import Any

import numpy as np
import pytest

from analysis.intervals.jackknife import Bounds
from analysis.judges.non_inferiority import NonInferiority
from analysis.judges.replacement import AlternativeAnnotatorTest, PersonTest
from analysis.types import Refusal, too_few
from reporting.findings.judges.verdicts import MAY_REPLACE, UNTESTED_BINS, Family, JudgeTests, shown, verdict

NAN = float("nan")
EDGES = ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0))


def measured(
    difference: float = 0.0,
    low: float = -0.05,
    high: float = 0.05,
    n: int = 50,
    *,
    above: float = 0.02,
    p_value: float | None = None,
) -> NonInferiority:
    """Build what a test over n instances found; without an interval below five. `above` is the lower limit above chance.

    p_value : 0.001 where the interval lies above -ε, and 0.5 where it does not, unless given
    """
    few = n < 5
    chance = above <= 0 and not few
    return NonInferiority(
        margin=0.1,
        difference=difference if n else NAN,
        low=NAN if few else low,
        high=NAN if few else high,
        level=0.95,
        standard_error=(high - low) / 4 if n > 1 else NAN,
        skewness=0.0,
        p_value=NAN if few else p_value or (0.001 if low > -0.1 else 0.5),
        judge_agreement=0.6,
        people_agreement=0.6,
        people_by_chance=0.5,
        people_above_chance=0.1,
        above_chance=Bounds(NAN if few else above, NAN if few else 0.2 - above, 0.95, n),
        n_votes=6 * n,
        n_instances=n,
        n_people=9,
        without_judge=0,
        two_way=False,
        passes=None if few or chance else low > -0.1,
        refusal=Refusal("chance") if chance else too_few("instances", n, 5),
    )


PASSES, OPEN, WORSE = measured(), measured(-0.03, -0.15, 0.09), measured(-0.3, -0.4, -0.2)
CHANCE = measured(above=-0.01)
FEW, NOTHING, HOPELESS = measured(n=4), measured(n=0), measured(-0.15, -0.3, 0.0)


def people(*tests: tuple[int, float]) -> AlternativeAnnotatorTest:
    """Build the other test, of people with so many instances and adjusted p-values."""
    listed = tuple(
        PersonTest(place, n, 0.8, 0.7, p if n >= 30 else NAN, p if n >= 30 else NAN)
        for place, (n, p) in enumerate(tests)
    )
    counted = [one for one in listed if one.tested]
    refusal = too_few("people", len(counted), 3)
    rate = NAN if refusal else sum(one.rejected for one in counted) / len(counted)
    nothing = np.empty(0)
    return AlternativeAnnotatorTest(
        0.1, rate, None if refusal else rate >= 0.5, NAN, listed, nothing, nothing, 0, refusal
    )


NOBODY = people((22, NAN), (9, NAN))


def decide(
    overall: NonInferiority,
    *bins: NonInferiority,
    alternative: AlternativeAnnotatorTest = NOBODY,
    kappa: tuple[float, float | None] = (0.4, 0.2),
) -> Any:
    """Decide from a test over all and those of bins, the least separable first."""
    edges = EDGES[-len(bins) :] if bins else ()
    tests = JudgeTests(overall, bins)
    return verdict(
        tests, edges, alternative, dict(zip(("value", "low"), kappa, strict=True)), Family.of([tests], level=0.025)
    )


@pytest.mark.parametrize(
    ("rule", "overall", "bins"),
    [
        ("everywhere", PASSES, [PASSES] * 5),
        ("everywhere", PASSES, [NOTHING, PASSES, PASSES, NOTHING, PASSES]),
        ("from", PASSES, [FEW, OPEN, PASSES, PASSES, PASSES]),
        ("from", WORSE, [WORSE, WORSE, WORSE, WORSE, PASSES]),
        ("from", OPEN, [PASSES] * 5),
        ("from", PASSES, [PASSES, WORSE, PASSES, PASSES, PASSES]),
        ("overall", PASSES, []),
        ("overall", PASSES, [NOTHING] * 5),
        ("overall_only", PASSES, [PASSES, PASSES, PASSES, PASSES, OPEN]),
        ("overall_only", PASSES, [PASSES, PASSES, PASSES, FEW, NOTHING]),
        ("worse", WORSE, [PASSES, PASSES, PASSES, PASSES, WORSE]),
        ("worse", WORSE, []),
        ("open", OPEN, [OPEN] * 5),
        ("open", HOPELESS, []),
        ("from", CHANCE, [CHANCE, CHANCE, PASSES, PASSES, PASSES]),
        ("from", PASSES, [PASSES, PASSES, PASSES, CHANCE, PASSES]),
        ("overall_only", PASSES, [PASSES, PASSES, PASSES, PASSES, CHANCE]),
        ("chance", CHANCE, [PASSES, PASSES, PASSES, PASSES, CHANCE]),
        ("chance", CHANCE, []),
        ("chance", measured(-0.03, -0.2, 0.14, above=0.0), []),
        ("worse", measured(-0.3, -0.4, -0.2, above=-0.01), []),
        ("few", FEW, [FEW, NOTHING, NOTHING, NOTHING, FEW]),
        ("nothing", NOTHING, [NOTHING] * 5),
        ("nothing", NOTHING, []),
    ],
)
def test_rule(rule: str, overall: NonInferiority, bins: list[NonInferiority]) -> None:
    found = decide(overall, *bins)
    assert found["rule"] == rule
    assert (UNTESTED_BINS in found["text"]) == (rule == "overall_only")
    assert "%(" not in found["text"]
    assert "None" not in found["text"]


def test_a_judge_may_replace_from_some_separability_up() -> None:
    found = decide(PASSES, FEW, OPEN, PASSES, PASSES, PASSES)
    assert (found["values"]["from"], found["until"]) == (0.4, shown(OPEN, limit=0.025).needed)
    next_bin = found["values"]["next_bin"]
    assert {"status": "open", "low": 0.2, "high": 0.4, "instances": 50}.items() <= next_bin.items()
    assert next_bin["difference"] == {"value": -0.03, "low": -0.15, "high": 0.09}
    assert next_bin["above_chance"] == {"value": 0.1, "low": 0.02, "high": pytest.approx(0.18)}


SURE, NEARLY, NARROW = 0.0125, 0.0126, 0.026  # half of 2.5 % passes beside others, 2.5 % alone


@pytest.mark.parametrize(
    ("rule", "overall", "bins"),
    [
        ("overall", 0.025, []),
        ("narrow", NARROW, []),
        ("overall_only", SURE, [1.0]),
        ("narrow", NEARLY, [1.0]),
        ("everywhere", NEARLY, [SURE, SURE]),
        ("from", NEARLY, [NEARLY, SURE]),
        ("from", NARROW, [SURE, SURE]),
        ("narrow", NEARLY, [SURE, NEARLY]),
        ("everywhere", SURE, [0.025, NEARLY]),
        ("from", SURE, [NARROW, 0.025]),
        ("overall_only", SURE, [SURE, NARROW]),
    ],
)
def test_all_instances_and_the_bins_share_the_level(rule: str, overall: float, bins: list[float]) -> None:
    found = decide(measured(p_value=overall), *(measured(p_value=one) for one in bins))
    assert found["rule"] == rule


@pytest.mark.parametrize(
    ("p_values", "may_replace"),
    [
        # Of three judges the least p-value passes at 2.5 % / 3, the next one at 2.5 % / 2, the last one at 2.5 %.
        ((0.0083, 0.0125, 0.025), (True, True, True)),
        ((0.0125, 0.025, 0.0083), (True, True, True)),
        ((0.0084, 0.0084, 0.0084), (False, False, False)),
        ((0.0083, 0.0126, 0.0126), (True, False, False)),
        ((0.0083, 0.0125, 0.0251), (True, True, False)),
    ],
)
def test_judges_share_the_level_by_holm(p_values: tuple[float, ...], may_replace: tuple[bool, ...]) -> None:
    judges = [JudgeTests(measured(p_value=p_value)) for p_value in p_values]
    untested = [JudgeTests(FEW), JudgeTests(NOTHING)]
    family = Family.of([*judges, *untested], level=0.025)
    assert family.judges == 3
    found = [verdict(tests, (), NOBODY, {"value": 0.4, "low": 0.2}, family) for tests in judges]
    assert tuple(one["rule"] in MAY_REPLACE for one in found) == may_replace
    assert {one["rule"] for one in found} <= {"overall", "narrow"}


@pytest.mark.parametrize(
    ("judges", "text"),
    [
        ([0.025], ""),
        ([(0.02, 0.001)], ""),
        ([(0.02, 0.5)], "p = 0.02, and passing takes p ≤ 0.0125 (0.025 ÷ 2: all instances, bins)."),
        ([0.013, 0.5], "p = 0.013, and passing takes p ≤ 0.0125 (0.025 ÷ 2 judges; Holm’s method)."),
        ([0.001, 0.5], "Passing takes p ≤ 0.025 (0.025 ÷ 1 of 2 judges left; Holm’s method)."),
        ([(0.00351, 0.5), *[0.5] * 4], "p ≤ 0.0025 (0.025 ÷ 5 judges ÷ 2: all instances, bins; Holm’s method)."),
        ([0.02, 0.001, 0.5], "p = 0.02, and passing takes p ≤ 0.0125 (0.025 ÷ 2 of 3 judges left; Holm’s method)."),
    ],
)
def test_the_p_value_that_passes_is_said_with_its_parts(judges: list[Any], text: str) -> None:
    tests = [
        JudgeTests(measured(p_value=p_values[0]), [measured(p_value=p) for p in p_values[1:]])
        for p_values in (p if isinstance(p, tuple) else (p,) for p in judges)
    ]
    first = tests[0]
    found = verdict(
        first, EDGES[-1:] * len(first.bins), NOBODY, {"value": 0.4, "low": 0.2}, Family.of(tests, level=0.025)
    )
    assert text in found["text"]
    assert ("assing takes" in found["text"]) == bool(text)


def test_a_choice_of_judges_makes_none_pass() -> None:
    judges = [JudgeTests(measured(p_value=p_value)) for p_value in (0.011, 0.5, 0.5)]
    every, alone = Family.of(judges, level=0.025), Family.of(judges[:1], not_shown=2, level=0.025)
    assert every == alone == Family(3, 3, 0.025 / 3)
    assert Family.of([JudgeTests(measured(p_value=0.001))], not_shown=1, level=0.025) == Family(2, 2, 0.0125)


def test_a_judge_that_passes_over_all_alone_leaves_nothing_to_the_others() -> None:
    # Its bins do not pass, so that its half of the level stays with it: 2.5 % / 2 / 2 over all instances of each.
    passes = JudgeTests(measured(p_value=0.001), [OPEN])
    family = Family.of([passes, JudgeTests(measured(p_value=0.0126), [OPEN])], level=0.025)
    assert (family.judges, family.level) == (2, 0.0125)
    done = JudgeTests(measured(p_value=0.001), [measured(p_value=0.001)])
    assert Family.of([done, JudgeTests(OPEN, [OPEN])], level=0.025).level == 0.025
    assert Family.of([], level=0.025).judges == 0


def test_more_instances_are_not_asked_for_where_people_agree_by_chance() -> None:
    found, below = decide(CHANCE), decide(PASSES, PASSES, CHANCE, PASSES)
    assert (found["values"]["agreement"], found["values"]["by_chance"]) == (0.6, 0.5)
    assert (below["values"]["from"], below["values"]["next_bin"]["status"]) == (0.8, "chance")
    assert "until" not in found
    assert "until" not in below


def test_of_an_unknown_spread_no_number_is_said() -> None:
    found = decide(measured(n=1))
    assert (found["rule"], found["values"]["instances"], found["values"]["needed"]) == ("few", 1, None)


@pytest.mark.parametrize(("low", "needed"), [(-0.15, True), (-0.19, False), (-0.5, False)])  # 515 are over 10 times 50
def test_number_beyond_reach_is_not_named(low: float, needed: bool) -> None:
    wide = measured(-0.03, low, -low - 0.06)
    for found, limit in ((decide(wide), 0.025), (decide(OPEN, wide, PASSES), 0.0125)):
        assert found["values"]["needed"] == shown(wide, limit=limit).needed
        assert ("until" in found) is needed
    assert shown(wide).needed is not None


def test_too_small_a_bin_is_planned_by_the_spread_of_all() -> None:
    assert shown(FEW, PASSES).needed == shown(PASSES).needed or shown(PASSES).needed is None
    assert decide(PASSES, FEW, PASSES)["until"] == shown(measured(n=4), measured(), limit=0.025).needed


def test_worse_bin_below_is_said_to_be_worse_and_asks_for_no_more() -> None:
    found = decide(OPEN, WORSE, PASSES)
    expected = {"status": "worse", "low": 0.6, "high": 0.8, "instances": 50}
    assert expected.items() <= found["values"]["next_bin"].items()
    assert "until" not in found


def test_difference_beyond_the_margin_is_not_mended_by_more_instances() -> None:
    assert decide(HOPELESS)["values"]["needed"] is decide(OPEN, HOPELESS, PASSES)["values"]["needed"] is None
    assert "until" not in decide(HOPELESS)


def test_bins_without_votes_are_named() -> None:
    found = decide(PASSES, NOTHING, PASSES, NOTHING, PASSES, NOTHING)
    gaps = [(gap["low"], gap["high"]) for gap in found["values"]["untested"]]
    assert gaps == [(0.8, 1.0), (0.4, 0.6)]


@pytest.mark.parametrize(
    ("alternative", "said"),
    [
        (people((40, 0.01), (40, 0.02), (40, 0.5)), {"rule": "passes", "won": 2, "tested": 3}),
        (people((40, 0.01), (40, 0.6), (40, 0.5)), {"rule": "fails", "won": 1, "tested": 3}),
        (people((40, 0.5), (40, 0.6), (40, 0.5), (2, NAN)), {"rule": "none", "won": 0, "tested": 3, "people": 4}),
        (people((40, 0.01), (31, 0.6), (29, NAN)), {"rule": "few", "tested": 2, "min_people": 3}),
        (NOBODY, {"rule": "no person", "most": 22}),
        (people(), {"rule": ""}),
    ],
)
def test_other_test_is_said_beside(alternative: AlternativeAnnotatorTest, said: dict[str, Any]) -> None:
    assert said.items() <= decide(PASSES, alternative=alternative)["values"]["alternative"].items()


@pytest.mark.parametrize("kappa", [(0.0, None), (0.04, 0.0), (-0.1, -0.2)])
def test_a_judge_that_agrees_by_chance_has_that_said(kappa: tuple[float, float | None]) -> None:
    found = decide(PASSES, kappa=kappa)
    assert found["values"]["kappa"] == kappa[0]
    assert "kappa" not in decide(OPEN, kappa=kappa)["values"]
    assert "kappa" not in decide(PASSES)["values"]
