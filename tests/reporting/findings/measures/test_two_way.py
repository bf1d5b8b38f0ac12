"""Intervals over instances and raters, and the note where few people gave most of the ratings; from arrays."""

from typing import Any

import numpy as np

from analysis.intervals.analytic import mean_interval, ratio_spread, share_interval
from reporting.core.estimates import IntervalSettings
from reporting.core.raters import units
from reporting.core.reasons import TOO_FEW
from reporting.findings.data.inputs import ConfigurationData
from reporting.findings.measures import MeasureInput, compute_measures
from reporting.findings.measures.rater_findings import few_raters_note, rater_findings, weighted_findings
from tests.reporting.findings.arrays import Row, configuration_data

TWO_WAYS = IntervalSettings(two_way=True)
PEOPLE = 6
LEANING = (-1, -1, 0, 0, 1, 1)  # what a person tends to say


def votes(instances: int = 12, per_instance: int = 3) -> list[Row]:
    """Every person leans one way on all of their instances."""
    rng = np.random.default_rng(4)
    found: list[Row] = []
    for instance in range(instances):
        for place in range(per_instance):
            person = (instance + 2 * place) % PEOPLE
            verdicts = np.clip(LEANING[person] + rng.choice([-1, 0, 1], size=4, p=[0.2, 0.6, 0.2]), -1, 1)
            found += [(instance, pair, f"p{person}", float(verdict)) for pair, verdict in enumerate(verdicts)]
    return found


def data(**more: Any) -> ConfigurationData:
    rng = np.random.default_rng(5)
    said = [(instance, pair, float(rng.choice([-1, 0, 1]))) for instance in range(12) for pair in range(4)]
    return configuration_data(votes(), {"plain": said}, instances=12, **more)


def found_on(one: ConfigurationData, settings: IntervalSettings) -> tuple[dict[str, Any], dict[str, Any]]:
    people, judge = one.people, one.judges[0]
    counted = units(people.rated.outcomes)
    return (
        {
            **rater_findings(people, None, settings),
            **weighted_findings(people, settings),
            **compute_measures(MeasureInput(people, people, counted, settings)),
        },
        {**rater_findings(judge, None, settings), **compute_measures(MeasureInput(judge, people, counted, settings))},
    )


def test_means_over_instances_and_people_are_those_of_the_arithmetic() -> None:
    one = data()
    people, judge = found_on(one, TWO_WAYS)
    plain, _ = found_on(one, IntervalSettings())
    sets = one.people.sets
    rows = np.stack([one.people.strength, np.ones(len(sets))], axis=1)
    expected = mean_interval(ratio_spread(rows, sets.instance, sets.rater), floor=-1)
    strength = people["mean_preference_strength"]
    assert (strength["low"], strength["high"]) == (expected.low, expected.high)
    assert (strength["over"], strength["n_raters"], strength["n_instances"]) == (["instances", "raters"], PEOPLE, 12)
    assert strength["value"] == plain["mean_preference_strength"]["value"]
    assert strength["low"] < plain["mean_preference_strength"]["low"]
    assert "over" not in plain["mean_preference_strength"]
    steady = np.stack([one.people.consistency == 1, np.ones(len(sets))], axis=1)
    known = share_interval(ratio_spread(steady, sets.instance, sets.rater))
    assert (people["fully_consistent"]["low"], people["fully_consistent"]["high"]) == (known.low, known.high)
    agreement = judge["agreement_with_people"]
    assert agreement["over"] == ["instances", "raters"]
    outcomes = one.people.rated.outcomes
    beside = np.array(
        [one.judges[0].rated.outcomes.verdict[4 * i + p] for i, p in zip(outcomes.instance, outcomes.pair, strict=True)]
    )
    hits = np.stack([beside == outcomes.verdict, np.ones(len(beside))], axis=1)
    share = share_interval(ratio_spread(hits, outcomes.instance, outcomes.rater))
    assert (agreement["low"], agreement["high"]) == (share.low, share.high)


def test_what_has_no_single_rater_stays_over_instances_and_says_so() -> None:
    people, judge = found_on(data(), TWO_WAYS)
    alpha = people["krippendorff_alpha"]["ordinal"]
    for estimate in (people["raw_agreement"], alpha, judge["agreement_with_majority"], judge["mean_consistency"]):
        assert estimate["over"] == ["instances"]
    plain = found_on(data(), IntervalSettings())[0]
    assert (people["raw_agreement"]["low"], plain["raw_agreement"]["low"]) == (plain["raw_agreement"]["low"],) * 2
    assert alpha["why"] == TOO_FEW.with_values(of="instances", least=20).text


def test_few_raters_leave_no_interval_and_one_rater_is_no_second_way() -> None:
    four = [row for row in votes() if row[2] in ("p0", "p1", "p2", "p3")]
    alone = [row for row in votes() if row[2] == "p0"]
    of_four, of_one = (
        rater_findings(configuration_data(rows, {}, instances=12).people, None, TWO_WAYS)["mean_consistency"]
        for rows in (four, alone)
    )
    assert (of_four["low"], of_four["why"], of_four["n_raters"]) == (
        None,
        TOO_FEW.with_values(of="raters", least=5).text,
        4,
    )
    assert of_one["over"] == ["instances"]


def test_weighted_numbers_know_their_raters() -> None:
    people, _ = found_on(data(chance={instance: 0.3 + 0.05 * instance for instance in range(12)}), TWO_WAYS)
    assert people["weighted"]["win_rate_a"]["over"] == ["instances", "raters"]


def test_the_note_is_there_where_three_of_many_gave_most() -> None:
    assert few_raters_note(data().people) == []
    busy = [row for row in votes() if row[2] in ("p0", "p1", "p2") or row[0] < 3]
    (note,) = few_raters_note(configuration_data(busy, {}, instances=12).people)
    assert "3 people gave" in note
    few = [row for row in busy if row[2] in ("p0", "p1", "p2", "p3")]
    assert few_raters_note(configuration_data(few, {}, instances=12).people) == []  # two ways would have no interval
    assert few_raters_note(configuration_data([], {}, instances=1).people) == []
