"""The rule table of whether a judge may replace a single rater: each rule, and its words."""

from typing import Any

import numpy as np
import pytest
from django.utils import translation

from analysis.jackknife import Bounds
from analysis.non_inferiority import NonInferiority
from analysis.refusal import Refusal, too_few
from analysis.replacement import AlternativeAnnotatorTest, PersonTest
from reporting.core.text import fixed
from reporting.findings.judges.verdicts import (
    MAY_REPLACE,
    Family,
    JudgeTests,
    NonInferiorityResult,
    shown,
    verdict,
    verdict_text,
)

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
FEW, NOTHING, HOPELESS = measured(n=3), measured(n=0), measured(-0.15, -0.3, 0.0)


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
    assert "%(" not in found["text"]
    assert "None" not in found["text"]
    with translation.override("de"):
        assert decide(overall, *bins)["text"] == found["text"], "the JSON is English"
        german = verdict_text(found["rule"], found["values"])
    assert "Rater" in german
    assert "%(" not in german


def test_words_of_a_judge_who_may_replace_from_some_separability_up() -> None:
    found = decide(PASSES, FEW, OPEN, PASSES, PASSES, PASSES)
    needed = shown(OPEN, limit=0.025).needed
    assert found["text"] == (
        "May replace a single rater above separability 0.40 (ε = 0.10). "
        f"Below 0.40 it cannot be told: 50 instances, about {needed} would do. "
        "The alternative-annotator test gives no verdict: no person rated more than 22 instances."
    )
    assert (found["values"]["from"], found["until"]) == (0.4, needed)


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
    assert all("over 3 judges" in one["text"] for one in found)


def test_a_judge_that_passes_over_all_alone_leaves_nothing_to_the_others() -> None:
    # Its bins do not pass, so that its half of the level stays with it: 2.5 % / 2 / 2 over all instances of each.
    passes = JudgeTests(measured(p_value=0.001), [OPEN])
    family = Family.of([passes, JudgeTests(measured(p_value=0.0126), [OPEN])], level=0.025)
    assert (family.judges, family.level) == (2, 0.0125)
    done = JudgeTests(measured(p_value=0.001), [measured(p_value=0.001)])
    assert Family.of([done, JudgeTests(OPEN, [OPEN])], level=0.025).level == 0.025
    assert Family.of([], level=0.025).judges == 0


def test_words_of_a_judge_that_passes_alone_and_not_beside_the_bins() -> None:
    alone = measured(0.02, -0.09, 0.13, p_value=0.0183)
    found, needed = decide(alone, OPEN), shown(alone, limit=0.0125).needed
    assert found["text"].startswith(
        "Not shown that it may replace a single rater: its agreement with people, less theirs with one another, is "
        "0.02 [−0.09, 0.13], which lies above −0.10 (−ε), but so narrowly that this may be chance (p = 0.0183; at most 0.0125 "
        f"would pass the test of non-inferiority). With 50 instances it is open; about {needed} would do."
    )


def test_words_where_not_even_the_most_separable_bin_passes() -> None:
    needed = shown(OPEN, limit=0.025).needed
    assert (
        f"From separability 0.80 to 1.00 it cannot be told: 50 instances, about {needed} would do."
        in (decide(PASSES, OPEN, OPEN)["text"])
    )


def test_words_where_people_agree_by_chance() -> None:
    found = decide(CHANCE)
    assert found["text"].startswith(
        "Cannot be told whether it may replace a single rater: people are not shown to agree more than by chance "
        "(0.60; by chance 0.50; 50 instances), so that nothing can be said to stand in for them. The alternative-annotator test"
    )
    assert "until" not in found
    below = decide(PASSES, PASSES, CHANCE, PASSES)
    assert below["text"].startswith(
        "May replace a single rater above separability 0.80 (ε = 0.10). From separability 0.60 to 0.80 people are not shown "
        "to agree more than by chance, so that nothing can be said to stand in for them."
    )
    assert "until" not in below


def test_of_an_unknown_spread_no_number_is_said() -> None:
    found = decide(measured(n=1))
    assert "With 1 instance it is open, and too few to tell how many would do." in found["text"]
    assert "hardly" not in found["text"]


@pytest.mark.parametrize(("low", "needed"), [(-0.15, True), (-0.5, False)])
def test_number_beyond_reach_is_not_named(low: float, needed: bool) -> None:
    wide = measured(-0.03, low, -low - 0.06)
    for found, beginning, limit in (
        (decide(wide), "With 50 instances it is open", 0.025),
        (decide(OPEN, wide, PASSES), "Below 0.80 it cannot be told: 50 instances", 0.0125),
    ):
        least = shown(wide, limit=limit).needed
        words = f"about {least} would do." if needed else f"and it would take about {least}, over 10 times as many."
        assert beginning in found["text"]
        assert words in found["text"]
        assert ("until" in found) is needed
    assert shown(wide).needed is not None


def test_too_small_a_bin_is_planned_by_the_spread_of_all() -> None:
    assert shown(FEW, PASSES).needed == shown(PASSES).needed or shown(PASSES).needed is None
    assert decide(PASSES, FEW, PASSES)["until"] == shown(measured(n=3), measured(), limit=0.025).needed
    assert "Below 0.80 it cannot be told: 3 instances, about" in decide(PASSES, FEW, PASSES)["text"]


def test_worse_bin_below_is_said_to_be_worse_and_asks_for_no_more() -> None:
    found = decide(OPEN, WORSE, PASSES)
    assert "From separability 0.60 to 0.80 its agreement is worse by more than ε." in found["text"]
    assert "until" not in found


def test_difference_beyond_the_margin_is_not_mended_by_more_instances() -> None:
    assert "With 50 instances it is open, and more would hardly show it." in decide(HOPELESS)["text"]
    assert "Below 0.80 it cannot be told: 50 instances, and more would" in decide(OPEN, HOPELESS, PASSES)["text"]
    assert "until" not in decide(HOPELESS)


def test_worse_judge_has_its_difference_said() -> None:
    assert decide(WORSE)["text"].startswith(
        "May not replace a single rater: it fails the test of non-inferiority on 50 instances, where its agreement with "
        "people, less theirs with one another, is −0.30 [−0.40, −0.20] and would have to lie above −0.10 (−ε) with the whole "
        "interval."
    )


def test_bins_without_votes_are_named() -> None:
    found = decide(PASSES, NOTHING, PASSES, NOTHING, PASSES, NOTHING)
    gaps = [(gap["low"], gap["high"]) for gap in found["values"]["untested"]]
    assert gaps == [(0.8, 1.0), (0.4, 0.6)]
    assert "Nothing is known from separability 0.40 to 0.60" in found["text"]


@pytest.mark.parametrize(
    ("alternative", "words"),
    [
        (people((40, 0.01), (40, 0.02), (40, 0.5)), "test passes: the judge holds up against 2 of 3 people."),
        (people((40, 0.01), (40, 0.6), (40, 0.5)), "does not pass: the judge holds up against 1 of 3 people."),
        (
            people((40, 0.01), (31, 0.6), (29, NAN)),
            "no verdict: of the 3 people with 30 instances or more that it takes, it has 2.",
        ),
        (NOBODY, "gives no verdict: no person rated more than 22 instances."),
    ],
)
def test_other_test_is_said_beside(alternative: AlternativeAnnotatorTest, words: str) -> None:
    assert decide(PASSES, alternative=alternative)["text"].endswith(words)


def test_nothing_is_said_of_the_other_test_where_there_are_no_votes() -> None:
    assert decide(NOTHING, alternative=people())["text"] == (
        "Cannot be told: no pair has ratings of two people and a verdict of this judge."
    )


def test_one_instance_is_singular() -> None:
    assert "With 1 instance it is open, and too few" in decide(measured(n=1))["text"]
    assert isinstance(shown(PASSES), NonInferiorityResult)


@pytest.mark.parametrize("kappa", [(0.0, None), (0.04, 0.0), (-0.1, -0.2)])
def test_a_judge_that_agrees_by_chance_has_that_said(kappa: tuple[float, float | None]) -> None:
    found = decide(PASSES, kappa=kappa)
    assert found["values"]["kappa"] == kappa[0]
    assert f"not shown to be more than by chance (Cohen's κ {fixed(kappa[0], 2)})" in found["text"]
    assert "kappa" not in decide(OPEN, kappa=kappa)["values"]
    assert "kappa" not in decide(PASSES)["values"]
