"""May a judge replace people: from verdicts to the findings' JSON, without a database."""

import json
from typing import Any

import numpy as np
import pytest

from analysis.judges.non_inferiority import non_inferiority
from analysis.judges.prediction_powered import prediction_powered_win_rate
from analysis.judges.replacement import alternative_annotator_test
from analysis.types import Refusal
from reporting.findings.computing import judge_findings
from reporting.findings.data.inputs import ConfigurationData, Filters
from reporting.findings.data.separability_bins import bins_of
from reporting.findings.data.vote_table import vote_table
from reporting.findings.judges.replacement import of_refusal
from reporting.findings.reasons import CHANCES_UNKNOWN
from tests.reporting.findings.arrays import Row, configuration_data

FILTERS = Filters()


def compute(
    *everything: ConfigurationData, separability: Any = None, filters: Filters = FILTERS
) -> list[dict[str, Any]]:
    bins = None if separability is None else bins_of(np.asarray(separability, dtype=np.float64), 5)
    found: list[dict[str, Any]] = judge_findings(everything, vote_table(everything, bins), bins, filters)["replacement"]
    json.dumps(found, allow_nan=False)
    return found


@pytest.mark.parametrize(("baselines", "judges"), [((), 3), (("coin", "longer"), 1), (("direct", "coin", "longer"), 3)])
def test_baselines_take_no_part_of_the_level_of_other_judges(baselines: tuple[str, ...], judges: int) -> None:
    rows, judged = crowd()
    data = [configuration_data(rows, dict.fromkeys(("direct", "coin", "longer"), judged), instances=40)]
    for not_shown in (0, 2):
        found = judge_findings(data, vote_table(data), None, FILTERS, baselines, not_shown)["replacement"]
        assert [one["verdict"]["values"]["judges"] for one in found] == [judges + not_shown] * 3


def crowd(
    seed: int = 0, *, instances: int = 40, people: int = 4, skill: float = 0.8, judge_skill: float = 0.9, sign: int = 1
) -> tuple[list[Row], list[tuple[int, int, float | None]]]:
    """Two pairs an instance, rated by all; `sign` mirrors the systems."""
    rng = np.random.default_rng(seed)
    truth = rng.choice([-1, 1], (instances, 2))
    wrong, judge_wrong = rng.random((instances, 2, people)) > skill, rng.random((instances, 2)) > judge_skill
    rows = [
        (i, pair, f"p{h}", float(sign * truth[i, pair] * (-1 if wrong[i, pair, h] else 1)))
        for i in range(instances)
        for pair in range(2)
        for h in range(people)
    ]
    judged = [
        (i, pair, float(sign * truth[i, pair] * (-1 if judge_wrong[i, pair] else 1)))
        for i in range(instances)
        for pair in range(2)
    ]
    return rows, judged


def table(rows: list[Row], instances: int, people: int) -> np.ndarray:
    votes = np.full((2 * instances, people), np.nan)
    for instance, pair, code, verdict in rows:
        votes[2 * instance + pair, int(code[1:])] = verdict
    return votes


def test_numbers_are_those_of_the_measures() -> None:
    rows, judged = crowd()
    (found,) = compute(configuration_data(rows, {"j": judged}, instances=40), filters=Filters(epsilon=0.15))
    votes, judge = table(rows, 40, 4), np.array([row[2] for row in judged])
    instance = np.repeat(np.arange(40), 2)
    expected = non_inferiority(judge, votes, instance, margin=0.15)
    overall = found["non_inferiority"]["overall"]
    assert overall["difference"]["value"] == pytest.approx(expected.difference)
    assert overall["difference"]["low"] == pytest.approx(expected.low)
    assert (overall["difference"]["n"], overall["difference"]["n_instances"]) == (320, 40)
    test = alternative_annotator_test(judge, votes, instance, epsilon=0.15)
    other = found["alternative_annotator"]
    assert (other["winning_rate"], other["passes"], other["tested"]) == (test.winning_rate, test.passes, 4)
    assert [one["rater"] for one in other["people"]] == ["p0", "p1", "p2", "p3"]
    assert [one["winning_rate"] for one in other["curve"]] == test.winning_rates.tolist()
    assert (found["judge"], found["rater"], found["epsilon"]) == ("j", "judge:j", 0.15)
    assert found["verdict"]["rule"] == "overall"


def test_swapping_the_systems_mirrors_win_rates_and_changes_nothing_else() -> None:
    def one(sign: int) -> dict[str, Any]:
        rows, judged = crowd(sign=sign)
        some = [row for row in rows if row[0] < 25]
        return compute(configuration_data(some, {"j": judged}, instances=40), separability=np.arange(40) % 7)[0]

    plain, mirrored = one(1), one(-1)
    (here,), (there,) = plain.pop("prediction_powered"), mirrored.pop("prediction_powered")
    assert plain == mirrored
    for name in ("win_rate_a", "plain"):
        assert there[name]["value"] == pytest.approx(1 - here[name]["value"])
        assert there[name]["low"] == pytest.approx(1 - here[name]["high"])
    assert there["saved"] == pytest.approx(here["saved"])


def test_separable_instances_only_pass_where_the_judge_fails_below() -> None:
    good, bad = crowd(1, judge_skill=0.99), crowd(2, judge_skill=0.1)
    rows = good[0] + [(i + 40, *rest) for i, *rest in bad[0]]
    judged = good[1] + [(i + 40, *rest) for i, *rest in bad[1]]
    data = configuration_data(rows, {"j": judged}, instances=80)
    (found,) = compute(data, separability=[0.9 + i / 1000 for i in range(40)] + [i / 1000 for i in range(40)])
    assert found["verdict"]["rule"] == "from"
    assert found["verdict"]["values"]["next_bin"]["status"] == "worse"
    bins = found["non_inferiority"]["bins"]
    assert [one["instances"] for one in bins] == [40, 0, 0, 0, 40]
    assert [one["passes"] for one in bins] == [False, None, None, None, True]
    assert bins[1]["difference"]["why_code"] == "no_shared_votes"


def test_shared_instances_of_configurations_are_one_cluster_and_their_pairs_are_not() -> None:
    rows, judged = crowd()
    one = configuration_data(rows, {"j": judged}, instances=40)
    two = configuration_data(rows, {"j": judged}, instances=40, systems=("one", "three"))
    (found,) = compute(one, two)
    (alone,) = compute(one)
    whole, part = (of["non_inferiority"]["overall"]["difference"] for of in (found, alone))
    assert (whole["n"], whole["n_instances"]) == (2 * part["n"], part["n_instances"])
    assert (whole["value"], whole["low"]) == (pytest.approx(part["value"]), pytest.approx(part["low"]))
    assert len(found["prediction_powered"]) == 2


def test_judges_without_a_verdict_somewhere_are_compared_where_they_have_one() -> None:
    rows, judged = crowd()
    some = [(i, pair, None if i < 10 else verdict) for i, pair, verdict in judged if i < 30]
    found = compute(configuration_data(rows, {"j": some, "k": judged, "silent": []}, instances=40))
    by_name = {one["judge"]: one["non_inferiority"]["overall"]["difference"] for one in found}
    assert (by_name["j"]["n_instances"], by_name["k"]["n_instances"]) == (20, 40)
    assert by_name["j"]["excluded"] == 160
    assert found[2]["verdict"]["rule"] == "nothing"


def test_prediction_powered_rate_uses_the_judged_rest() -> None:
    rows, judged = crowd(people=1, instances=60, skill=0.95)
    some = [row for row in rows if row[0] % 2]
    (found,) = compute(configuration_data(some, {"j": judged}, instances=60))
    (powered,) = found["prediction_powered"]
    wins = {i: [] for i in range(60)}
    for i, _, verdict in judged:
        wins[i].append((1 - verdict) / 2)
    f = np.array([np.mean(wins[i]) for i in range(60)])
    people = np.array([np.mean([(1 - row[3]) / 2 for row in some if row[0] == i] or [np.nan]) for i in range(60)])
    expected = prediction_powered_win_rate(people, f)
    assert powered["win_rate_a"]["value"] == pytest.approx(expected.estimate)
    assert powered["saved"] == pytest.approx(expected.saved)
    assert powered["saved"] > 0
    assert (powered["n_rated"], powered["n_judged"], powered["weighted"]) == (30, 30, False)
    assert powered["plain"]["value"] == pytest.approx(expected.plain.estimate)


def test_recorded_chances_weigh_and_missing_ones_refuse() -> None:
    rows, judged = crowd(people=1, instances=60, skill=0.95)
    some = [row for row in rows if row[0] % 2]
    chance = {i: 0.25 if i % 3 else 0.75 for i in range(60)}
    drawn = [{"kind": "importance"}]
    data = {"judges": {"j": judged}, "instances": 60, "chosen": drawn}
    (weighted,) = compute(configuration_data(some, **data, chance=chance))[0]["prediction_powered"]
    (plain,) = compute(configuration_data(some, **(data | {"chosen": []})))[0]["prediction_powered"]
    assert weighted["weighted"] is True
    assert weighted["win_rate_a"]["value"] != plain["win_rate_a"]["value"]
    del chance[5]
    (refused,) = compute(configuration_data(some, **data, chance=chance))[0]["prediction_powered"]
    assert refused["win_rate_a"]["value"] is None
    assert refused["why"] == CHANCES_UNKNOWN.with_values(n=1).text
    assert refused["saved"] is None


@pytest.mark.parametrize(
    ("rated", "chosen", "why"),
    [(19, [], "few_instances"), (40, [{"kind": "top"}], "selection"), (40, [{"kind": "ids"}], "selection")],
)
def test_too_few_and_chosen_instances_have_no_powered_rate(rated: int, chosen: Any, why: str) -> None:
    rows, judged = crowd(people=1)
    some = [row for row in rows if row[0] < rated]
    (found,) = compute(configuration_data(some, {"j": judged}, instances=40, chosen=chosen))
    (powered,) = found["prediction_powered"]
    assert (powered["win_rate_a"]["value"], powered["why_code"]) == (None, why)
    assert powered["plain"]["value"] is not None


def test_nothing_rated_gives_reasons() -> None:
    (found,) = compute(configuration_data([], {"j": [(0, 0, 1.0)]}, instances=3), separability=[0.0, 0.5, 1.0])
    assert found["verdict"]["rule"] == "nothing"
    assert found["non_inferiority"]["overall"]["difference"]["why_code"] == "no_shared_votes"
    assert found["alternative_annotator"]["why"] == of_refusal(Refusal("tested", 0, 3)).text
    assert found["prediction_powered"][0]["plain"]["why_code"] == "no_rated"
    assert compute(configuration_data([], {}, instances=0)) == []
    assert compute() == []
