"""Gold: what it says about two systems, and the batches that are made of it."""

from dataclasses import replace
from typing import Any

import pytest

from annotation.batches.services import create_batch, lacks_gold, set_batch_status
from annotation.core.errors import InvalidSelection
from annotation.core.reasons import reason
from annotation.models import Batch, Slot, Study
from annotation.studies.instances import gold_verdict
from tests.factories import (
    add_instances,
    batch_spec,
    instance_rows,
    json_lines,
    make_batch,
    make_study,
    parse_study_file,
    study_line,
)

pytestmark = pytest.mark.django_db
BETTER_ALPHA = {"better": "alpha"}


def with_gold(*golds: dict[str, Any] | None, **settings: Any) -> Study:
    """Make a study with an instance of two pairs for each gold."""
    study = make_study(instances=0, **settings)
    rows = instance_rows(instances=len(golds))
    return add_instances(study, [replace(row, gold=gold) for row, gold in zip(rows, golds, strict=True)])


@pytest.mark.parametrize(
    ("gold", "verdict"),
    [
        pytest.param({"better": "alpha"}, -1, id="A"),
        pytest.param({"better": "beta"}, 1, id="B"),
        pytest.param({"better": "tie"}, 0, id="tie"),
        pytest.param({"better": "gamma"}, None, id="a third"),
        pytest.param({"scores": {"alpha": 2, "beta": 1.5}}, -1, id="A scores higher"),
        pytest.param({"scores": {"alpha": -2, "beta": -1}}, 1, id="B scores higher"),
        pytest.param({"scores": {"alpha": 1, "beta": 1.0}}, 0, id="equal scores"),
        pytest.param({"scores": {"alpha": 0, "beta": 0}}, 0, id="zero is a score"),
        pytest.param({"scores": {"alpha": 1, "gamma": 0}}, None, id="a score is missing"),
        pytest.param({"better": "alpha", "why": "It names the place."}, -1, id="with a reason"),
        pytest.param({}, None, id="empty"),
        pytest.param(None, None, id="none"),
    ],
)
def test_gold_speaks_of_two_systems(gold: dict[str, Any] | None, verdict: int | None) -> None:
    assert gold_verdict(gold, "alpha", "beta") == verdict
    turned = gold_verdict(gold, "beta", "alpha")
    assert turned == (None if verdict is None else -verdict)


def test_a_system_named_tie_is_no_trap_for_others() -> None:
    assert gold_verdict({"better": "tie"}, "tie", "beta") == 0


@pytest.mark.parametrize(
    ("gold", "problem"),
    [
        ({"why": "Nothing else."}, "gold is neither"),
        ({"better": "alpha", "because": "x"}, "gold is neither"),
        ({"better": "alpha", "why": 3}, "why of the gold is a number, not text"),
        ({"better": "alpha", "why": "  "}, "why of the gold is empty"),
        ({"better": "alpha", "why": "x" * 2001}, "why of the gold is 2001 characters long"),
    ],
    ids=["alone", "unknown", "number", "blank", "long"],
)
def test_a_reason_that_cannot_be_shown_is_refused(gold: dict[str, Any], problem: str) -> None:
    with pytest.raises(Exception, match=problem):
        parse_study_file(json_lines([study_line(gold=gold)]), "f.jsonl")


# Batches


@pytest.mark.parametrize("purpose", ["qualification", "gold"])
def test_a_batch_of_gold_takes_what_has_a_preference_and_limits_no_rater(purpose: str) -> None:
    study = with_gold(BETTER_ALPHA, None, {"better": "gamma"}, {"better": "tie"})

    batch = make_batch(study, purpose=purpose, raters=7)

    assert sorted(batch.hits.values_list("matchup__instance__instance_id", flat=True)) == ["news-1", "news-4"]
    assert batch.selection["left_out"] == [{**reason("without_gold").stored(), "number": 2}]
    assert (batch.purpose, batch.raters_per_hit, Slot.objects.count()) == (purpose, 1, 0)


def test_a_gold_tie_is_left_out_where_no_tie_is_offered() -> None:
    study = with_gold(BETTER_ALPHA, {"scores": {"alpha": 1, "beta": 1}}, ties_allowed=False)

    batch = make_batch(study, purpose="gold")

    assert batch.hits.get().matchup.instance.instance_id == "news-1"
    assert batch.selection["left_out"] == [{**reason("gold_is_tie").stored(), "number": 1}]


def test_without_any_gold_there_is_no_such_batch_but_one_for_rating() -> None:
    study = with_gold(None, None)

    with pytest.raises(InvalidSelection, match="can be rated: 2 without a gold preference for these systems"):
        make_batch(study, purpose="gold")
    assert make_batch(study).hits.count() == 2
    assert Batch.objects.get().purpose == "rating"


@pytest.mark.slow
def test_the_same_batch_again_looks_at_purpose_and_rates() -> None:
    study = with_gold(BETTER_ALPHA, BETTER_ALPHA)
    spec = batch_spec(study, pairs=2, raters=2, gold_rate=0.2, repeat_rate=0.1)
    create_batch(spec=spec, name="b")
    assert create_batch(spec=spec, name="b")[1] is False
    for other in ({"gold_rate": 0.1}, {"repeat_rate": 0.0}, {"purpose": "gold", "gold_rate": 0.0, "repeat_rate": 0.0}):
        with pytest.raises(InvalidSelection, match="with other settings"):
            create_batch(spec=replace(spec, **other), name="b")

    spec = batch_spec(with_gold(BETTER_ALPHA, slug="other"), pairs=2, raters=3, purpose="qualification")
    create_batch(spec=spec, name="q")
    assert create_batch(spec=replace(spec, raters=9), name="q")[1] is False


@pytest.mark.slow
def test_gold_hits_come_from_an_open_batch() -> None:
    study = with_gold(BETTER_ALPHA, BETTER_ALPHA)
    one, two = ({"select": "ids", "instance_ids": [name]} for name in ("news-1", "news-2"))
    rated, plain = (
        make_batch(study, name="rated", gold_rate=0.2, **one),
        make_batch(study, name="plain", repeat_rate=0.2, **one),
    )
    assert (lacks_gold(rated), lacks_gold(plain)) == (True, False)

    shorter = make_batch(study, name="shorter", purpose="gold", pairs=1, **two)
    assert lacks_gold(rated)  # its pages would give themselves away
    gold = make_batch(study, name="gold", purpose="gold", **two)
    assert not lacks_gold(rated)
    set_batch_status(batch=shorter, status="closed")
    set_batch_status(batch=gold, status="paused")
    assert lacks_gold(rated)


@pytest.mark.slow
def test_no_instance_is_both_rated_and_a_check() -> None:
    study = with_gold(BETTER_ALPHA, BETTER_ALPHA, BETTER_ALPHA)
    make_batch(study, name="gold", purpose="gold", select="ids", instance_ids=["news-2"])

    rated = make_batch(study, name="rated")
    assert rated.selection["left_out"] == [{**reason("on_check_hits").stored(), "number": 1}]
    assert set(rated.hits.values_list("matchup__instance__instance_id", flat=True)) == {"news-1", "news-3"}
    with pytest.raises(InvalidSelection, match="can't be rated"):
        make_batch(study, name="again", purpose="qualification", select="ids", instance_ids=["news-1"])
    both = make_batch(study, name="both", purpose="qualification")  # two kinds of checks may share one
    assert both.selection["left_out"] == [{**reason("on_rating_hits").stored(), "number": 2}]
