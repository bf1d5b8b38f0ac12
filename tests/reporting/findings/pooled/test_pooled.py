"""Numbers over all configurations: by bin, and the judges as one series."""

from typing import Any

import numpy as np
import pytest

from reporting.findings.data.inputs import ConfigurationData, Filters
from reporting.findings.data.vote_table import vote_table
from reporting.findings.pooled.pooled import (
    MEAN_OF_JUDGES,
    StudyScale,
    people_agreement,
    pooled_findings,
    pooled_positions,
)
from reporting.findings.reasons import NOT_COMPUTED
from tests.reporting.findings.arrays import configuration_data

A, TIE, B = -1.0, 0.0, 1.0
SCALE = StudyScale(values=(np.array([0.0, 0.0, 1.0]),), described={})


def study(**judges: list[list[float]]) -> ConfigurationData:
    """Two pairs an instance; each judge has the verdicts of instance after instance."""
    people = [(i, pair, code, v) for i in range(3) for pair in range(2) for code, v in (("p", A), ("q", [A, B][pair]))]
    rows = {
        name: [(i, pair, v) for i, verdicts in enumerate(given) for pair, v in enumerate(verdicts)]
        for name, given in judges.items()
    }
    return configuration_data(people, rows, instances=3)


def pooled(
    *everything: ConfigurationData, scale: StudyScale = SCALE, baselines: tuple[str, ...] = ()
) -> dict[str, Any]:
    return pooled_findings(everything, vote_table(everything), scale, Filters(), baselines)


def test_judges_are_averaged_by_matchup() -> None:
    # Bin 0: matchup 0 has 1 and 0, matchup 1 has 1 alone: (1/2 + 1) / 2, where the mean over sets is 2/3.
    found = pooled(study(x=[[A, A], [B, B], [A, B]], y=[[A, B], [], [A, A]]))["mean_consistency_by_bin"]
    series = [one["raters"][-1] for one in found]
    assert {one["rater"] for one in series} == {MEAN_OF_JUDGES}
    assert {one["kind"] for one in series} == {"judges"}
    assert series[0]["mean_consistency"]["value"] == pytest.approx(0.75)
    assert (series[0]["mean_consistency"]["n"], series[0]["rating_sets"]) == (2, 3)
    assert series[4]["mean_consistency"]["value"] == pytest.approx(0.5)
    assert series[2]["mean_consistency"]["why_code"] == "no_rating_sets"
    assert [one["rater"] for one in found[0]["raters"]] == ["people", "judge:x", "judge:y", MEAN_OF_JUDGES]
    of_one = pooled(study(x=[[A, A], [B, B], [A, B]]))["mean_consistency_by_bin"][0]["raters"]
    assert [one["rater"] for one in of_one] == ["people", "judge:x"]


@pytest.mark.parametrize(
    ("baselines", "mean"), [((), 0.75), (("z",), 0.75), (("y", "z"), None), (("x", "y", "z"), 0.75)]
)
def test_baselines_are_not_averaged_with_other_judges(baselines: tuple[str, ...], mean: float | None) -> None:
    judges = {"x": [[A, A], [B, B], [A, B]], "y": [[A, B], [], [A, A]]}
    judges |= {"z": [[A, B], [A, B], [A, B]]} if mean and baselines == ("z",) else {}
    raters = pooled(study(**judges), baselines=baselines)["mean_consistency_by_bin"][0]["raters"]
    values = [one["mean_consistency"]["value"] for one in raters if one["rater"] == MEAN_OF_JUDGES]
    assert values == ([] if mean is None else [mean])


@pytest.mark.parametrize(
    ("baselines", "biased"),
    [
        ((), {"x": False, "y": False, "z": False, "few": None}),
        (("y", "z"), {"x": True, "few": None}),
        (("x", "y", "z", "few"), {"x": False, "y": False, "z": False, "few": None}),
    ],
)
def test_position_bias_is_adjusted_over_the_judges_that_are_no_baselines(
    baselines: tuple[str, ...], biased: dict[str, bool | None]
) -> None:
    # 6 of 6 instances for the first text: p = 2 / 64 passes alone, but not over three judges.
    firsts = {name: [(i, 0, A) for i in range(6)] for name in "xyz"}
    data = [configuration_data([], {**firsts, "few": [(0, 0, A)]}, instances=6)]
    found = pooled_positions(data, vote_table(data), Filters().intervals, baselines)
    assert {one["rater"].removeprefix("judge:"): one["biased"] for one in found if "biased" in one} == biased


def test_strength_by_bin_has_absolute_mean_and_distribution() -> None:
    found = pooled(study(x=[[A, A], [B, TIE], [A, B]]))["strength_by_bin"]
    people, judge = found[0]["raters"]
    assert people["mean_absolute_strength"]["value"] == pytest.approx(0.5)
    assert people["preference_strength_distribution"] == {"-1.0": 2, "-0.5": 0, "0.0": 2, "0.5": 0, "1.0": 0}
    assert judge["mean_absolute_strength"]["value"] == pytest.approx(0.75)
    assert judge["preference_strength_distribution"]["0.5"] == 1


def test_fully_consistent_sets_are_counted_without_any_bins() -> None:
    found = pooled(study(x=[[A, A], [B, TIE], [A, B]]), scale=StudyScale(why=NOT_COMPUTED))
    assert (found["mean_consistency_by_bin"], found["strength_by_bin"], found["why_code"]) == (
        None,
        None,
        "not_computed",
    )
    people, judge = found["fully_consistent"]
    assert (people["value"], people["n"], people["of"]) == (0.5, 6, "rating sets")
    assert judge["value"] == pytest.approx(1 / 3)
    assert pooled(scale=StudyScale(why=NOT_COMPUTED))["fully_consistent"] == []


def test_an_instance_of_several_configurations_is_uninformative_once() -> None:
    # "q" prefers A on one pair of each instance and B on the other.
    rows = [(i, pair, "q", [A, B][pair]) for i in range(4) for pair in range(2)]
    scattered = configuration_data(rows, {}, instances=4)
    other = configuration_data(rows, {}, instances=4, systems=("one", "three"))
    [people] = pooled(scattered, other, scale=StudyScale(why=NOT_COMPUTED))["uninformative"]
    assert (people["rater"], people["count"], people["instances"]) == ("people", 4, 4)
    # An instance tells something where any configuration does: all three of `study()` are among the four.
    [people] = pooled(scattered, study(), scale=StudyScale(why=NOT_COMPUTED))["uninformative"]
    assert (people["count"], people["instances"]) == (1, 4)


def test_share_for_the_text_shown_first_counts_an_instance_once() -> None:
    # A is shown first; people vote A, A, A, B on each of three instances, which both configurations share.
    data = [study(x=[[A, TIE], [], [B, B]]), study()]
    people, judge = pooled_positions(data, vote_table(data), Filters().intervals)
    assert (people["rater"], people["value"], people["n"], people["of"]) == (
        *("people", 0.75),
        *(24, "verdicts that are no ties"),
    )
    assert (people["n_instances"], people["low"]) == (3, None)
    assert (judge["value"], judge["n"], judge["excluded"]) == (pytest.approx(1 / 3), 3, 1)
    # Every person's votes are of one and the same person in both configurations.
    data = [study(), study()]
    twice = pooled_positions(data, vote_table(data), Filters(two_way=True).intervals)[0]
    assert twice["n_raters"] == 2


def test_share_for_the_text_shown_first_is_tested_exactly() -> None:
    # More verdicts for the first text on each of five instances: two of 32 changes of signs are as far.
    firsts = (10, 9, 8, 8, 6)
    rows = [(i, pair, "p", A if pair < first else B) for i, first in enumerate(firsts) for pair in range(10)]
    data = [configuration_data(rows, {}, instances=5)]
    [people] = pooled_positions(data, vote_table(data), Filters().intervals)
    assert (people["value"], people["low"]) == (0.82, 0.5)


def test_people_agree_over_all_configurations() -> None:
    # Per configuration and instance one pair of two equal votes for A, and one of A and B: 6 of 12 pairs of votes agree.
    # Coincidences of the 12 units: AA 12, AB 6, BA 6; margins 18 and 6 of 24. Alpha is 1 - 23 * 12 / (2 * 18 * 6) = -5/18.
    found = people_agreement(vote_table([study(), study()]), Filters().intervals)
    assert (found["raw_agreement"]["value"], found["raw_agreement"]["n"]) == (0.5, 12)
    for level in ("nominal", "ordinal", "interval"):
        alpha = found["krippendorff_alpha"][level]
        assert alpha["value"] == pytest.approx(-5 / 18)
        assert (alpha["n"], alpha["low"], alpha["n_instances"]) == (12, None, 3)
    alone = people_agreement(vote_table([]), Filters().intervals)
    assert alone["raw_agreement"]["value"] is alone["krippendorff_alpha"]["nominal"]["value"] is None


def test_agreement_over_configurations_does_not_depend_on_which_system_is_a() -> None:
    def votes(*pairs: tuple[str, str], turned: tuple[int, ...]) -> dict[str, Any]:
        verdicts = [(A, A), (A, B), (TIE, A), (A, A), (B, B), (TIE, TIE)]
        data = [
            configuration_data(
                [
                    (i, 0, rater, -v if at in turned else v)
                    for i, two in enumerate(verdicts)
                    for rater, v in zip("pq", two, strict=True)
                ],
                {},
                instances=len(verdicts),
                systems=pair[::-1] if at in turned else pair,
            )
            for at, pair in enumerate(pairs)
        ]
        return people_agreement(vote_table(data), Filters().intervals)

    several = [("one", "two"), ("one", "three"), ("two", "three")]
    found, turned = votes(*several, turned=()), votes(*several, turned=(1,))
    assert found == turned
    # Margins are symmetric: of 72 values 27, 18 and 27; 24 coincidences differ.
    assert found["krippendorff_alpha"]["nominal"]["value"] == pytest.approx(
        1 - 71 * 24 / (72**2 - 27**2 - 18**2 - 27**2)
    )
    assert found["krippendorff_alpha"]["nominal"]["n"] == 18
    same = votes(("one", "two"), ("one", "two"), turned=())
    assert same == votes(("one", "two"), ("one", "two"), turned=(1,))
    assert same["krippendorff_alpha"]["nominal"]["value"] != found["krippendorff_alpha"]["nominal"]["value"]
