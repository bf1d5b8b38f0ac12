"""Batches over several systems by a design: which pairs of systems on which instances, in one order, and the same again."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.batches.changes import copy_batch, extend_batch
from annotation.batches.designs import create_design, design_forecast, set_design_status
from annotation.batches.sampling import BatchSpec, SelectionSpec
from annotation.batches.services import set_batch_status
from annotation.core.errors import InvalidSelection, UnknownName
from annotation.models import Batch, Hit, Invitation, Study
from annotation.studies.configurations import configuration_of_dataset
from tests.factories import (
    add_instances,
    claim,
    instance_rows,
    make_annotator,
    make_batch,
    make_study,
    output_of,
    rate,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
SYSTEMS = ("alpha", "beta", "gamma", "delta")


@pytest.fixture
def study() -> Study:
    return make_study(instances=6, systems=SYSTEMS)


def spec_of(study: Study, *, select: str = "all", ids: Sequence[str] = (), seed: int = 1, **more: Any) -> BatchSpec:
    settings: dict[str, Any] = {"pairs": 2, "raters": 2, **more}
    found = configuration_of_dataset(study, "news")
    return BatchSpec(found, seed=seed, selection=SelectionSpec(select, ids), **settings)


def design(study: Study, how: str, *, name: str = "d", **more: Any) -> list[Batch]:
    return create_design(spec=spec_of(study, **more), design=how, name=name)[0]


def met(batches: Sequence[Batch]) -> Counter[tuple[str, str]]:
    return Counter({(one.system_a.name, one.system_b.name): one.hits.count() for one in batches})


def test_balanced_uses_each_pair_equally_often_on_so_many_of_each_instance(study: Study) -> None:
    batches = design(study, "balanced:2")

    assert set(met(batches).values()) == {2}  # 6 instances with 2 pairs each, over 6 pairs of systems
    on = Counter(Hit.objects.values_list("matchup__instance__instance_id", flat=True))
    assert set(on.values()) == {2}
    assert batches[0].name == "d: alpha / beta"
    assert batches[0].selection["design"]["asked"]["design"] == "balanced:2"
    assert (batches[0].seed, batches[0].raters_per_hit) == (1, 2)


def test_hits_of_all_pairs_come_in_one_mixed_order(study: Study) -> None:
    design(study, "all")

    assert sorted(Hit.objects.values_list("position", flat=True)) == list(range(36))
    raters = make_annotator(study)
    first = [rate(claim(raters)).hit.batch_id for _ in range(8)]
    assert len(set(first)) > 2
    assert first == list(Hit.objects.order_by("position").values_list("batch_id", flat=True)[:8])


def test_swiss_lets_neighbours_in_peoples_ranking_meet(study: Study) -> None:
    everyone = design(study, "all", raters=1, pairs=1)
    rater, best = make_annotator(study), ("gamma", "alpha", "delta", "beta")
    for _ in range(36):
        assignment = claim(rater)
        systems = [assignment.hit.matchup.system_a.name, assignment.hit.matchup.system_b.name]
        better = min(systems, key=best.index) == systems[0]
        shown = assignment.displays.order_by("position")
        rate(assignment, ["left" if one.a_is_left == better else "right" for one in shown])
    for batch in everyone:
        batch.status = Batch.Status.CLOSED
        batch.save()

    batches = design(study, "swiss", name="round 2")

    assert batches[0].selection["design"]["order"] == list(best)
    assert met(batches) == {("alpha", "gamma"): 3, ("beta", "delta"): 3, ("alpha", "delta"): 3}


def test_swiss_begins_at_random_by_the_seed(study: Study) -> None:
    orders = [
        tuple(design(study, "swiss", name=f"d{seed}", seed=seed)[0].selection["design"]["order"]) for seed in (1, 2, 3)
    ]
    assert len(set(orders)) > 1
    assert {tuple(sorted(one)) for one in orders} == {tuple(sorted(SYSTEMS))}


def test_the_same_again_changes_nothing_and_another_is_refused(study: Study) -> None:
    made = design(study, "balanced:1")

    again, new = create_design(spec=spec_of(study), design="balanced:1", name="d")
    drawn, _ = create_design(spec=spec_of(study, seed=7), design="balanced:1", name="d", drawn=True)
    assert (again, drawn, new) == (made, made, False)
    for other in ({"seed": 7}, {"raters": 3}, {"select": "random:2"}):
        with pytest.raises(InvalidSelection, match="with other settings"):
            design(study, "balanced:1", **other)
    with pytest.raises(InvalidSelection, match="with other settings"):
        design(study, "all")
    assert Batch.objects.count() == len(made)


def test_forecast_equals_what_is_made(study: Study) -> None:
    spec = spec_of(study, select="random:4", seed=5)
    expected = design_forecast(spec, "balanced:2")

    batches, _ = create_design(spec=spec, design="balanced:2", name="d")

    assert dict(expected.by_systems) == {f"{a} / {b}": n for (a, b), n in met(batches).items()}
    assert (expected.pool, expected.chosen, expected.hits, expected.pairs) == (6, 4, 8, 16)
    assert expected.as_json["ratings"] == 32
    on = set(Hit.objects.values_list("matchup__instance__instance_id", flat=True))
    assert on == set(expected.instance_ids)


def test_instances_without_a_system_take_the_pairs_that_they_have(study: Study) -> None:
    add_instances(study, instance_rows(instances=2, systems=SYSTEMS[:2], prefix="few"))

    batches = design(study, "all", select="ids", ids=["few-1", "news-1"])

    assert met(batches)["alpha", "beta"] == 2
    assert sum(met(batches).values()) == 7


@pytest.mark.parametrize(
    ("how", "more", "message"),
    [
        pytest.param("round-robin", {}, "it must be all, balanced:N", id="unknown design"),
        pytest.param("balanced:0", {}, "it must be all, balanced:N", id="no pair"),
        pytest.param("all", {"select": "top:2"}, "its own separability", id="by separability"),
        pytest.param("all", {"select": "random:7"}, "7 of 6", id="too many"),
        pytest.param("all", {"select": "ids", "ids": ["x"]}, "1 of the ids", id="unknown instance"),
        pytest.param("all", {"purpose": Batch.Purpose.GOLD}, "a design is for ratings", id="checks"),
        pytest.param("all", {"pairs": 9}, "no instance of news", id="too few pairs"),
    ],
)
def test_designs_that_cannot_be_made_are_refused(study: Study, how: str, more: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidSelection, match=message):
        design(study, how, **more)
    assert not Batch.objects.exists()


def test_two_systems_have_no_design() -> None:
    with pytest.raises(InvalidSelection, match="only two systems"):
        design(make_study(), "all")


def test_command_makes_a_design(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["create_batch", "study", "--name", "d", "--design", "balanced:1", "--pairs", "1", "--raters", "1"]
    found = json.loads(output_of(*arguments, "--dataset", "news", "--seed", "3", "--draft", "--format", "json"))
    call_command(*arguments, "--dataset", "news")

    assert [one["hits"] for one in found["batches"]] == [1] * 6
    assert {one["status"] for one in found["batches"]} == {"draft"}
    assert capsys.readouterr().out.count("nothing was changed") == 6
    with pytest.raises(CommandError, match="compares no systems in a data set 'other'; it has news"):
        call_command(*arguments, "--dataset", "other")


def test_page_forecasts_and_makes_a_design(study: Study, manager: Client) -> None:
    data = {"name": "d", "configuration": "0", "design": "balanced", "per_instance": "2", "how": "all", "seed": "4"}
    data |= {"pairs": "2", "raters": "2", "status": "draft"}

    forecast = manager.post("/studies/study/batches/choice/", data, headers={"HX-Request": "true"}).content.decode()
    made = manager.post("/studies/study/batches/new/", data, follow=True)

    assert forecast.count('<th scope="row">') == 6
    assert "alpha / beta" in forecast
    assert "Design d was created; batches: 6." in made.content.decode()
    assert set(met(list(Batch.objects.all())).values()) == {2}
    refused = manager.post("/studies/study/batches/new/", {**data, "name": "e", "how": "top", "number": "2"})
    assert refused.status_code == 422
    assert "its own separability" in refused.content.decode()


def test_api_forecasts_and_makes_a_design(study: Study, manager: Client) -> None:
    body = {"study": "study", "dataset": "news", "design": "balanced:1", "pairs": 1, "raters": 1, "seed": 2}

    def post(**more: Any) -> Any:
        return manager.post("/api/v1/batches/", {**body, **more}, content_type="application/json")

    forecast = post(preview=True).json()
    first, again = post(name="d"), post(name="d")

    assert (forecast["hits"], sum(forecast["by_systems"].values())) == (6, 6)
    assert (first.status_code, again.status_code) == (201, 200)
    assert [one["id"] for one in first.json()["batches"]] == [one["id"] for one in again.json()["batches"]]
    assert post(name="e", systems=["alpha", "beta"]).status_code == 422
    assert "name" in post().content.decode()


def test_a_batch_of_a_design_is_extended_and_copied_as_any(study: Study) -> None:
    batch = design(study, "balanced:1")[0]
    extend_batch(batch=batch, reason="more", more_raters=1, selection=SelectionSpec("random:1"), seed=1)
    copy, _ = copy_batch(batch=batch, name="copy", seed=1)

    assert batch.hits.count() == 2
    assert copy.hits.count() == 1


def statuses(name: str = "d") -> Counter[str]:
    return Counter(Batch.objects.filter(name__startswith=f"{name}: ").values_list("status", flat=True))


def draft(study: Study, **more: Any) -> list[Batch]:
    return create_design(spec=spec_of(study, **more), design="all", name="d", status="draft")[0]


def test_batches_of_a_design_change_together(study: Study) -> None:
    batches = draft(study)
    design(study, "balanced:1", name="other")

    with pytest.raises(InvalidSelection, match="is draft; it can become open or closed, not paused"):
        set_design_status(study=study, name="d", status="paused")
    assert len(set_design_status(study=study, name="d", status="open")) == 6
    set_batch_status(batch=batches[0], status="closed", reason="too few raters")
    steps = (("paused", 5, 5), ("open", 5, 5), ("open", 5, 5), ("closed", 5, 6), ("open", 6, 6))
    for status, changed, now in steps:  # the one that was closed before stays so, until all are
        assert len(set_design_status(study=study, name="d", status=status)) == changed
        assert statuses()[status] == now
    set_design_status(study=study, name="d", status="closed", reason="enough")

    assert statuses("other") == {"open": 6}
    assert set(batches[0].events.values_list("kind", "reason")) >= {("closed", "too few raters"), ("closed", "enough")}
    for name, message in (("e", "it has: d, other"), ("", "it has: d, other")):
        with pytest.raises(UnknownName, match=message):
            set_design_status(study=study, name=name, status="open")
    with pytest.raises(InvalidSelection, match="not burnt"):
        set_design_status(study=study, name="d", status="burnt")


def test_page_launches_a_design_with_links_for_all_its_raters_and_closes_it(study: Study, manager: Client) -> None:
    batches = draft(study, raters=2, most_hits_per_rater=4)  # each batch: 6 HITs × 2 raters, 4 a rater at most
    Batch.objects.filter(pk=batches[3].pk).update(most_hits_per_rater=2)  # 12 / 2: six raters
    page = f"/studies/study/batches/{batches[1].pk}/"
    assert "all batches of design d (6)" in manager.get(page).content.decode()

    manager.post(f"{page}status/", {"status": "open", "design": "1", "raters_from": "links"})
    assert statuses() == {"open": 6}
    assert Invitation.objects.count() == 6
    manager.post(f"{page}status/", {"status": "paused"})
    assert statuses() == {"open": 5, "paused": 1}
    closed = manager.post(f"{page}status/", {"status": "closed", "design": "1"}, follow=True)
    assert statuses() == {"closed": 6}
    assert "All 6 batches of design d" in closed.content.decode()
    alone = make_batch(study, name="alone")
    assert "of design" not in manager.get(f"/studies/study/batches/{alone.pk}/").content.decode()
    assert (
        manager.post(f"/studies/study/batches/{alone.pk}/status/", {"status": "closed", "design": "1"}).status_code
        == 404
    )


def test_page_makes_links_for_the_raters_of_all_batches_of_a_design(study: Study, manager: Client) -> None:
    study.most_hits_per_rater = 8
    study.save()
    data = {"name": "d", "configuration": "0", "design": "all", "how": "all", "seed": "4", "raters_from": "links"}

    manager.post("/studies/study/batches/new/", {**data, "pairs": "2", "raters": "2"})

    assert Invitation.objects.count() == 9  # 36 HITs × 2 raters / 8; two would do for the first batch


def test_a_limit_of_hits_is_each_batchs_in_the_forecast_too(study: Study) -> None:
    work = design_forecast(spec_of(study, most_hits_per_rater=3), "all").work
    assert (work.hits, work.assignments, work.raters) == (36, 72, 4)  # 6 HITs × 2 raters / 3 in each batch


def test_command_and_api_change_a_design(study: Study, manager: Client, capsys: pytest.CaptureFixture[str]) -> None:
    batches = draft(study)

    call_command("set_batch", "study", "--design", "d", "--status", "open")
    assert capsys.readouterr().out.count(": open (was draft)") == 6
    call_command("set_batch", "study", "--batch", batches[0].name, "--status", "paused")
    assert statuses() == {"open": 5, "paused": 1}
    with pytest.raises(CommandError, match="has no design 'e'; it has: d"):
        call_command("set_batch", "study", "--design", "e", "--status", "open")
    address = f"/api/v1/batches/{batches[2].pk}/status/"
    found = manager.post(address, {"status": "closed", "design": True}, content_type="application/json").json()
    assert {one["status"] for one in found["batches"]} == {"closed"}
    assert statuses() == {"closed": 6}
    assert manager.post(address, {"status": "open"}, content_type="application/json").json()["status"] == "open"
    assert statuses() == {"closed": 5, "open": 1}
