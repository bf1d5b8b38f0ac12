"""Batches where judges are unsure: what chances are made from, what is refused on each way in, and what findings make of it."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from analysis.judges.prediction_powered import prediction_powered_win_rate
from analysis.planning.active import active_weights, expected_errors
from analysis.planning.selection import inclusion_probabilities
from annotation.batches.changes import extend_batch
from annotation.batches.forms import BatchForm, CreateBatch, ExtendForm
from annotation.batches.sampling import SelectionSpec, shown_selection
from annotation.batches.services import set_batch_status
from annotation.core.errors import InvalidSelection
from annotation.models import Batch, Hit, Rating
from judging.models import Judge, Judgment
from reporting.corrections.renaming import rename_judge
from reporting.findings.sections.judges import judges_section
from reporting.report.building import cited
from tests.annotation.batches.test_batches import chosen
from tests.factories import api_of, make_batch, make_user
from tests.reporting.builders import (
    Built,
    build_batch,
    build_configuration,
    build_study,
    findings,
    judge,
    rate,
    separate,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
ALL, PILOT, DRAWN = 120, 24, 30
BATCHES = "/api/v1/batches/"
SYSTEMS = ("first-system", "second-system")
RNG = np.random.default_rng(5)
ORDERS = RNG.choice([-1, 1], size=(ALL, 2))  # of the judge on each instance, in each order
OTHER = RNG.choice([-1, 1], size=ALL)
PERSON = np.where(RNG.random(ALL) < 0.9, ORDERS[:, 0], -ORDERS[:, 0])


@pytest.fixture(scope="module")
def built(module_rows: None) -> Built:
    built = build_configuration(build_study(), instances=ALL, pairs=1)
    Hit.objects.filter(pk__in=[hit.pk for hit in built.hits[PILOT:]]).delete()
    for place in range(PILOT):
        rate(built, place, "p", [int(PERSON[place])])
    cells = [(place, 0, order, int(ORDERS[place, k])) for place in range(ALL) for k, order in enumerate(("ab", "ba"))]
    judge(built, "both", cells, order="both")
    judge(built, "once", [(place, 0, "ab", int(OTHER[place])) for place in range(ALL)])
    judge(built, "part", [(place, 0, "ab", 1) for place in range(40)])
    return built


def create(built: Built, name: str = "active", select: str = f"active:{DRAWN}") -> Batch:
    return make_batch(built.study, name=name, systems=SYSTEMS, pairs=1, raters=1, select=select, seed=3)


def features_of(rows: slice) -> np.ndarray:
    """No probability and no tie: nothing in doubt by itself; whether the order matters; whether the judges differ."""
    mean = np.sign(ORDERS.sum(axis=1))
    return np.column_stack([np.zeros(ALL), ORDERS[:, 0] != ORDERS[:, 1], mean != OTHER])[rows].astype(float)


def test_chances_are_made_from_doubts_and_earlier_votes(built: Built) -> None:
    batch = create(built)
    # The pool first, then the instances with votes.
    features = np.column_stack(
        [np.concatenate([features_of(slice(PILOT, ALL)), features_of(slice(PILOT))]), np.full(ALL, np.nan)]
    )
    judges = np.mean((1 + np.column_stack([ORDERS, OTHER])) / 2, axis=1)
    people = np.append(np.full(ALL - PILOT, np.nan), (1 + PERSON[:PILOT]) / 2)
    errors = expected_errors(features, people, np.append(judges[PILOT:], judges[:PILOT]))
    chances = inclusion_probabilities(active_weights(errors.variance[: ALL - PILOT]), DRAWN)
    found = {
        hit.matchup.instance.position: hit.inclusion_probability
        for hit in batch.hits.select_related("matchup__instance")
    }
    assert len(found) == DRAWN
    assert min(found) >= PILOT
    assert found == pytest.approx({place: chances[place - PILOT] for place in found})

    record = batch.selection["active"]
    assert (record["judges"], record["fitted_on"], record["separability"]) == (["both", "once"], PILOT, None)
    assert (record["coefficient"], record["shrinkage"]) == pytest.approx(
        (errors.coefficient, errors.shrinkage), abs=1e-6
    )
    place = min(found)
    assert record["instances"][f"news-{place}"] == [*features_of(slice(place, place + 1))[0].tolist(), None]
    assert shown_selection(batch.selection)["left_out"] == {"on HITs for rating already": PILOT}
    assert chosen(create(built, "again")) != chosen(batch)  # from the others


def test_without_enough_votes_chances_follow_the_prior_and_separability(built: Built) -> None:
    Rating.objects.filter(display__assignment__hit__position__gte=19).delete()
    separate(built, [(1, 1, 0)] * ALL, [place / ALL for place in range(ALL)])
    record = create(built).selection["active"]
    assert record["fitted_on"] == 0
    assert (record["coefficient"], record["shrinkage"]) == (None, None)
    assert record["separability"] == "rouge1"
    name, features = next(iter(record["instances"].items()))
    assert features[3] == pytest.approx(1 - int(name.removeprefix("news-")) / (ALL - 1))


def refusal(built: Built, spec: str = "active:5") -> str:
    with pytest.raises(InvalidSelection) as refused:
        create(built, select=spec)
    return str(refused.value)


def test_missing_judgments_are_named_with_the_command(built: Built) -> None:
    Judgment.objects.filter(run__judge__name="once", pair=built.pairs[50][0]).delete()
    Judgment.objects.filter(run__judge__name="both", pair=built.pairs[60][0]).delete()
    message = refusal(built)
    assert "news-60" in message
    assert message.endswith("run_judge tried --judge both")

    Judgment.objects.filter(run__judge__name="once", pair=built.pairs[51][0]).update(status="error", verdict=None)
    assert "once has none" not in refusal(built)
    judge(built, "both", [(60, 0, "ab", "unparsed")])  # an answer that can't be read is one, and never a vote
    assert create(built, select="active:96").selection["active"]["instances"]["news-60"] == [None] * 4


def test_rules_and_tried_candidates_are_no_judges(built: Built) -> None:
    Judge.objects.filter(name="both").update(method="coin")
    Judge.objects.exclude(name="both").update(tuned={"candidate_of": "both"})
    assert refusal(built).endswith("run_judge tried --judge NAME")
    Judge.objects.update(method="direct", tuned={})
    assert "97 of 96" in refusal(built, "active:97")


def test_page_and_api_choose_alike_and_the_preview_tells_what_is_drawn(built: Built) -> None:
    study, settings = built.study, {"name": "b", "pairs": "1", "raters": "1", "seed": "7"}
    by_page = {**settings, "configuration": "0", "how": "active", "number": "5"}
    by_api = {**settings, "study": "tried", "dataset": "news", "systems": list(SYSTEMS), "select": "active:5"}
    page, api = BatchForm(by_page, study=study), CreateBatch(by_api, study=study)
    assert page.is_valid()
    assert api.is_valid()
    assert page.spec.selection.as_json == api.spec.selection.as_json

    client = api_of(make_user("manager", "study-admin", study=study))
    told = client.post(BATCHES, {**by_api, "preview": True}, format="json").json()["instance_ids"]
    stored = Judgment.objects.filter(pair=built.pairs[60][0])
    answers = list(stored)
    stored.delete()
    refused = client.post(BATCHES, by_api, format="json")
    assert (refused.status_code, refused.json()["detail"]) == (409, refusal(built))
    Judgment.objects.bulk_create(answers)
    assert client.post(BATCHES, by_api, format="json").status_code == 201
    assert sorted(chosen(study.batches.get(name="b"))) == sorted(told)


def test_its_chances_belong_to_one_draw(built: Built) -> None:
    batch, pilot = create(built), built.batch
    for target, spec in ((batch, "random:1"), (pilot, "active:2")):
        with pytest.raises(InvalidSelection, match="active"):
            extend_batch(batch=target, selection=SelectionSpec(spec), reason="x")


@pytest.mark.parametrize("select", ["active:5", "importance:5", "stratified:2x2"])
def test_only_a_budget_may_stop_what_is_drawn_with_unequal_chances(built: Built, select: str) -> None:
    separate(built, [(0.5, 0.5, 0.1)] * ALL, np.linspace(0, 1, ALL).tolist())
    rules = {"decided": False, "width:0.1": False, "judge:both": False, "budget:3": True, "": True}
    for number, (rule, allowed) in enumerate(rules.items()):
        with nullcontext() if allowed else pytest.raises(InvalidSelection, match="budget:AMOUNT"):
            make_batch(
                built.study, name=f"b{number}", systems=SYSTEMS, pairs=1, raters=1, select=select, stop_rule=rule
            )
    batch = built.study.batches.get(name="b4")
    with pytest.raises(InvalidSelection, match="budget:AMOUNT"):
        set_batch_status(batch=batch, stop_rule="decided")


def test_a_renamed_judge_is_renamed_in_what_chances_were_made_from(built: Built) -> None:
    batch = create(built)
    rename_judge(study=built.study, name="once", to="a-judge")
    batch.refresh_from_db()
    assert batch.selection["active"]["judges"] == ["a-judge", "both"]


def rated(built: Built, **settings: str) -> tuple[Batch, list[int]]:
    """An active batch whose HITs the person rated."""
    batch = create(built, **settings)
    hits = list(batch.hits.select_related("matchup__instance"))
    places = [hit.matchup.instance.position for hit in hits]
    own = Built(
        built.study,
        "news",
        built.system_a,
        built.system_b,
        batch,
        hits,
        built.matchups,
        [built.pairs[p] for p in places],
    )
    batch.slots.all().delete()
    for index, place in enumerate(places):
        rate(own, index, "p", [int(PERSON[place])])
    return batch, places


def powered(built: Built, **filters: Any) -> Any:
    both = next(row for row in findings(built.study, rounds=1, **filters)["replacement"] if row["judge"] == "both")
    return both["prediction_powered"][0]


def test_findings_join_the_pilot_and_weigh_the_draw(built: Built) -> None:
    batch, places = rated(built)
    chance = {
        hit.matchup.instance.position: hit.inclusion_probability
        for hit in batch.hits.select_related("matchup__instance")
    }
    chances = np.full(ALL, np.nan)
    chances[places] = [chance[place] for place in places]
    chances[:PILOT] = 1 / np.mean(1 / chances[places])
    votes = np.where(np.isnan(chances), np.nan, (1 - PERSON) / 2)
    shares = (1 - np.sign(ORDERS.sum(axis=1))) / 2
    expected = prediction_powered_win_rate(votes, shares, probabilities=chances)
    found = powered(built)
    assert (found["n_rated"], found["n_judged"], found["weighted"]) == (PILOT + DRAWN, ALL - PILOT - DRAWN, True)
    assert found["win_rate_a"]["value"] == pytest.approx(expected.estimate)
    assert found["effective_n"] == pytest.approx(expected.effective_n)
    assert found["plain"]["value"] == pytest.approx(expected.plain.estimate)

    shown = judges_section(findings(built.study, rounds=1))["most_saved"]
    assert (shown["judge"], shown["rated"], shown["needed"]) == ("both", PILOT + DRAWN, round(expected.effective_n))
    assert expected.saved > 1
    assert "active" in cited(findings(built.study, rounds=1))

    alone = powered(built, batches=[batch])
    assert (alone["n_rated"], alone["weighted"]) == (DRAWN, True)


def test_an_instance_in_the_draw_and_beside_it_has_no_known_chance(built: Built) -> None:
    _, places = rated(built)
    again = build_batch(
        built.study,
        "news",
        built.system_a,
        built.system_b,
        [built.matchups[places[0]]],
        [built.pairs[places[0]]],
        name="again",
    )
    rate(again, 0, "q", [1])
    assert powered(built)["why_code"] == "chances_unknown"


@pytest.mark.parametrize("select", [f"active:{DRAWN}", "random:3"])
def test_chances_of_one_draw_do_not_hold_beside_a_later_one(built: Built, select: str) -> None:
    first, _ = rated(built)
    second, _ = rated(built, name="second", select=select)
    both = powered(built)
    assert (both["why_code"], both["weighted"]) == ("chances_unknown", False)
    assert "weighted" not in findings(built.study, rounds=1)["configurations"][0]["raters"][0]
    assert powered(built, batches=[first])["weighted"]
    assert not powered(built, batches=[second])["weighted"]  # of a second active draw, from what the first left


def test_imported_votes_are_no_random_pilot(built: Built) -> None:
    built.batch.origin = Batch.Origin.IMPORTED
    built.batch.save()
    rated(built)
    assert powered(built)["why_code"] == "chances_unknown"


def test_the_page_of_an_extension_offers_no_draw_of_its_own_chances(built: Built) -> None:
    offered = {value for value, _ in ExtendForm(batch=built.batch).fields["how"].choices}
    assert not offered & {"active", "importance"}
