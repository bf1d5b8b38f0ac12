"""Plans of a study: from its votes or from assumptions, with its pay and its texts."""

import json
from typing import Any

import numpy as np
import pytest

from analysis.planning.variance import crossed_components
from analysis.types import Outcomes
from annotation.core.errors import InvalidSelection, Unacceptable, UnknownName
from annotation.models import Study
from annotation.planning.pilots import Assumptions, PlannedMeasure, PlanSpec
from annotation.planning.plans import plan
from annotation.studies.configurations import configuration
from annotation.studies.outcomes import human_ratings, select
from annotation.studies.votes import first_votes, rows_of
from tests.factories import add_instances, claim, instance_rows, make_annotator, make_batch, make_study, rate

pytestmark = pytest.mark.django_db

CHOICES = ("left", "right", "none")


def make_pilot(*, instances: int = 5, k: int = 3, raters: int = 2, **settings: Any) -> Study:
    """Make a study with one batch, rated by seeded random votes."""
    study = make_study(instances=instances, k=k, **settings)
    make_batch(study, pairs=k, raters=raters)
    rate_all(study, raters)
    return study


def rate_all(study: Study, raters: int, seed: int = 3) -> None:
    """Rate every open HIT by so many raters, at random."""
    rng = np.random.default_rng(seed)
    for number in range(raters):
        annotator = make_annotator(study, f"rater-{number}")
        for batch in study.batches.open():
            for _ in range(batch.hits.count()):
                assignment = claim(annotator)
                rate(assignment, [CHOICES[place] for place in rng.integers(3, size=assignment.displays.count())])


def planned(study: Study, **spec: Any) -> dict[str, Any]:
    return plan(study, PlanSpec(**{"width": 0.2, **spec}))


@pytest.mark.slow
def test_pilot_is_measured_on_the_studys_votes() -> None:
    study = make_pilot()
    found = planned(study)

    votes = human_ratings(select(configuration(study, dataset="news", systems=("alpha", "beta")))).outcomes
    expected = crossed_components((1 - votes.verdict) / 2, votes.instance, votes.pair, votes.rater)
    [*components] = found["variance"]["components"]
    assert [one["pairs"] for one in components] == [1, 3, 5]
    assert {one["residual"] for one in components} == {expected.residual}
    assert found["variance"]["source"] == "pilot"
    pilot = found["variance"]["pilot"]
    assert (pilot["instances"], pilot["raters"], pilot["ratings"]) == (5, 2, 30)
    assert pilot["mean"] == pytest.approx((1 - votes.verdict.mean()) / 2)
    assert found["configuration"] == {"dataset": "news", "system_a": "alpha", "system_b": "beta"}
    assert [(one["pairs"], one["raters"]) for one in found["designs"]] == [
        (n, r) for n in (1, 3, 5) for r in (1, 2, 3, 5)
    ]
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert any("only 5 instances" in note for note in found["notes"])


@pytest.mark.slow
def test_excluded_votes_are_no_part_of_the_pilot() -> None:
    study = make_pilot(instances=4, raters=2)
    study.annotators.filter(pk=study.annotators.earliest("pk").pk).update(excluded=True)

    found = planned(study)

    assert found["variance"]["pilot"]["ratings"] == 12
    assert found["variance"]["components"][0]["merged"] == [["instance", "rater"], ["pair", "residual"]]
    assert any("cannot separate" in note for note in found["notes"])


@pytest.mark.slow
def test_pilot_may_be_one_of_several_batches() -> None:
    study = make_study(instances=6, k=2)
    make_batch(study, name="one", select="ids", instance_ids=["news-1", "news-2", "news-3"], raters=1)
    make_batch(study, name="two", select="ids", instance_ids=["news-4", "news-5"], raters=1)
    rate_all(study, 1)

    assert planned(study, pilot_batches=("two",))["variance"]["pilot"]["instances"] == 2
    assert planned(study, pilot_batches=("one", "two"))["variance"]["pilot"]["instances"] == 5
    assert planned(study)["variance"]["pilot"]["ratings"] == 10


@pytest.mark.slow
def test_pilot_unlike_the_study_to_come_is_said_to_be_so() -> None:
    study = make_pilot(instances=3)
    assert not any(word in note for note in planned(study)["notes"] for word in ("programs", "separability"))
    study.annotators.filter(pk=study.annotators.earliest("pk").pk).update(kind="scripted")
    study.batches.update(selection={"spec": "top:3"})
    notes = planned(study)["notes"]
    assert [any(word in note for note in notes) for word in ("programs", "by separability")] == [True, True]


def test_a_raters_second_vote_on_a_pair_is_left_out() -> None:
    same, zeros = [0, 0, 0, 1], np.zeros(4, dtype=int)
    votes = Outcomes(np.array(same), np.array([0, 1, 0, 0]), zeros, zeros + 1, np.array([1.0, 0, -1, -1]), zeros)
    kept = rows_of(votes, first_votes(votes))
    assert (kept.pair.tolist(), kept.verdict.tolist()) == ([0, 1, 0], [1, 0, -1])


@pytest.mark.slow
def test_consistency_keeps_the_pilots_pairs_unless_asked() -> None:
    study = make_pilot(k=3)
    found = planned(study, measure=PlannedMeasure.CONSISTENCY)
    assert [one["pairs"] for one in found["variance"]["components"]] == [3]
    assert {one["pairs"] for one in found["designs"]} == {3}
    fewer = planned(study, measure=PlannedMeasure.CONSISTENCY, pairs=(2,))
    assert fewer["variance"]["pilot"]["mean"] > found["variance"]["pilot"]["mean"]
    assert planned(study, measure=PlannedMeasure.CONSISTENCY, pairs=(2,)) == fewer  # no draw that isn't seeded
    with pytest.raises(Unacceptable, match="4 ratings"):
        planned(study, measure=PlannedMeasure.CONSISTENCY, pairs=(4,))
    with pytest.raises(Unacceptable, match="one N at a time"):
        planned(study, measure=PlannedMeasure.CONSISTENCY, pairs=(2, 3))


def test_without_votes_the_plan_rests_on_assumptions_and_says_so() -> None:
    found = planned(make_study())
    assumed = found["variance"]["assumptions"]
    assert (assumed["win_rate"], assumed["tie_share"], assumed["stated"]) == (0.5, 0.0, False)
    assert found["variance"]["components"][0]["total"] == pytest.approx(0.25)
    assert any("assumptions" in note for note in found["notes"])
    assert {one["cautious_instances"] for one in found["designs"]} == {None}


@pytest.mark.slow
def test_stated_assumptions_come_before_votes() -> None:
    study = make_pilot()
    found = planned(study, assumptions=Assumptions(win_rate=0.6, tie_share=0.2, instance=0.5, pair=0, rater=0))
    component = found["variance"]["components"][0]
    # 0.6 * 0.4 - 0.2 / 4 = 0.19, half of it the instances'.
    assert [component[name] for name in ("instance", "pair", "rater", "residual")] == pytest.approx(
        [0.095, 0, 0, 0.095]
    )
    assert found["variance"]["source"] == "assumptions"
    assert found["variance"]["assumptions"]["stated"]


def test_assumed_consistency_has_instances_and_raters_only() -> None:
    found = planned(
        make_study(pairs_per_hit=4),
        measure=PlannedMeasure.CONSISTENCY,
        assumptions=Assumptions(consistency_sd=0.5, instance=0.36),
    )
    [component] = found["variance"]["components"]
    assert component["pairs"] == 4
    assert [component[name] for name in ("instance", "pair", "rater", "residual")] == pytest.approx([0.09, 0, 0.16, 0])


def test_plan_of_a_study_without_instances_needs_no_configuration() -> None:
    found = planned(make_study(instances=0))
    assert (found["configuration"], found["instances_available"]) == (None, None)
    assert found["cheapest"] is not None
    assert found["cheapest_within_study"] is None
    with pytest.raises(InvalidSelection):
        planned(make_study("other", instances=0), pilot_batches=("main",))


def test_costs_come_from_the_study_and_may_be_changed() -> None:
    study = make_study(k=2, pay_per_hit="1.00", currency="EUR", minutes_per_hit=6, pairs_per_hit=2)
    costs = planned(study)["costs"]
    source, text = len("Source of news-1."), np.mean([len(f"Text {j} on news-1.") for j in range(4)])
    assert costs["source_share"] == pytest.approx(source / (source + 2 * 2 * text))
    assert (costs["pay_per_hit"], costs["currency"], costs["minutes_per_hit"]) == (1.0, "EUR", 6)
    assert costs["source_share_from"] == "texts"
    changed = planned(study, prices={"pay_per_hit": 2.0, "source_share": 0.0, "judges": 1, "cost_per_call": 0.01})
    assert (changed["costs"]["pay_per_hit"], changed["costs"]["source_share_from"]) == (2.0, "stated")
    assert changed["cheapest_by"] == "pay and judge cost"
    first = changed["designs"][0]
    assert first["pay"] == pytest.approx(first["assignments"] * 1.0)  # one pair is half of the study's HIT
    assert first["judge_cost"] == pytest.approx(first["instances"] * 0.01)


def test_only_instances_with_enough_pairs_are_available() -> None:
    study = make_study(instances=4, k=2)
    add_instances(study, rows=instance_rows(instances=3, k=3, prefix="more"))
    found = planned(study, pairs=(2, 3, 4), raters=(1,))
    widths = [one["width_available"] for one in found["designs"]]
    assert found["instances_available"] == 7
    assert widths[0] == pytest.approx(widths[1] * _ratio(found, 7, 3))
    assert widths[2] is None
    assert found["designs"][2]["enough"] is False


def _ratio(found: dict[str, Any], many: int, few: int) -> float:
    """Width of the first design with many instances to that of the second with few."""
    one = found["variance"]["components"][0]
    variances = [one["instance"] + one["pair"] / n + one["rater"] + one["residual"] / n for n in (2, 3)]
    return float(np.sqrt(variances[0] / many / (variances[1] / few)))


def test_finite_population_narrows_the_interval_with_all_instances() -> None:
    study = make_study(instances=40, k=1)
    usual, finite = (planned(study, pairs=(1,), raters=(5,), finite=finite) for finite in (False, True))
    assert finite["designs"][0]["width_available"] < usual["designs"][0]["width_available"]
    assert any("whole population" in note for note in finite["notes"])
    with pytest.raises(Unacceptable, match="known number"):
        planned(make_study("none", instances=0), finite=True)


def test_nothing_but_ties_is_planned_with_a_warning() -> None:
    study = make_study(instances=3, k=2)
    make_batch(study, raters=1)
    annotator = make_annotator(study)
    for _ in range(3):
        rate(claim(annotator), "none")
    found = planned(study)
    assert {one["instances"] for one in found["designs"]} == {2}
    assert any("no variance to plan from" in note for note in found["notes"])


def test_configuration_has_to_be_named_where_there_are_several() -> None:
    study = make_study(systems=("alpha", "beta", "gamma"))
    with pytest.raises(InvalidSelection, match="alpha / gamma"):
        planned(study)
    assert planned(study, dataset="news", systems=("gamma", "alpha"))["configuration"]["system_b"] == "gamma"
    assert planned(study, assumptions=Assumptions())["instances_available"] is None
    with pytest.raises(UnknownName):
        planned(study, dataset="news", systems=("alpha", "delta"))
    with pytest.raises(InvalidSelection, match="both systems"):
        planned(study, dataset="news")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param({"width": 0}, "width", id="width-zero"),
        pytest.param({"width": 1.0}, "width", id="width-one"),
        pytest.param({"width": float("nan")}, "width", id="width-nan"),
        pytest.param({"level": 95}, "level", id="level-in-percent"),
        pytest.param({"assumptions": Assumptions(win_rate=0.9, tie_share=0.5)}, "ties", id="more-ties-than-fit"),
        pytest.param({"assumptions": Assumptions(instance=0.9, rater=0.9)}, "shares", id="shares-above-one"),
        pytest.param({"assumptions": Assumptions(), "pilot_batches": ("b",)}, "not from both", id="both"),
    ],
)
def test_numbers_that_make_no_plan_are_refused_in_words(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(Unacceptable, match=words):
        planned(make_study(), **spec)


def test_named_pilot_without_votes_is_refused() -> None:
    study = make_study()
    make_batch(study)
    with pytest.raises(Unacceptable, match="votes on 0 instances"):
        planned(study, pilot_batches=("batch",))
    with pytest.raises(UnknownName, match="batch"):
        planned(study, pilot_batches=("missing",))


def test_instances_with_one_source_need_more_instances() -> None:
    study = make_study(instances=6, k=1)
    make_batch(study, pairs=1, raters=1)
    rate_all(study, 1)
    specs: list[dict[str, Any]] = [{}, {"assumptions": Assumptions()}]
    alone = [planned(study, pairs=(1,), **spec) for spec in specs]
    for number, instance in enumerate(study.instances.order_by("position")):
        study.instances.filter(pk=instance.pk).update(source=f"source {number // 3}")
    shared = [planned(study, pairs=(1,), **spec) for spec in specs]
    assert shared[0]["variance"]["pilot"]["clusters"] == 2
    for before, after in zip(alone, shared, strict=True):
        assert [part["variance"]["components"][0]["cluster_size"] for part in (before, after)] == [1.0, 3.0]
    assert shared[1]["designs"][0]["instances"] == pytest.approx(1.2 * alone[1]["designs"][0]["instances"], abs=1)
