"""Batches through the API: preview, making, launching, extending, copying; who may; what is refused."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from annotation.models import Batch, Event, Hit, Study
from tests.annotation.batches.test_batches import chosen, separate
from tests.factories import add_instances, api_of, make_batch, make_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
BATCHES = "/api/v1/batches/"


def store() -> Study:
    return make_study(instances=6, k=3, pay_per_hit="0.50", currency="EUR", minutes_per_hit=6, raters_per_hit=2)


@pytest.fixture
def manager(study: Study) -> APIClient:
    return api_of(make_user("manager", "study-admin", study=study))


def body(**changes: Any) -> dict[str, Any]:
    made = {"study": "study", "name": "b", "dataset": "news", "systems": ["beta", "alpha"], "pairs": 2, "seed": 7}
    return {**made, **changes}


def post(client: APIClient, address: str, values: dict[str, Any]) -> Any:
    return client.post(address, values, format="json")


def test_a_preview_says_what_would_be_made_and_stores_nothing(study: Study, manager: APIClient) -> None:
    separate(study, [0.0, 0.2, 0.4, 0.6, 0.8, None])

    answer = post(manager, BATCHES, body(select="stratified:2x1", preview=True, fee_percent="10"))

    assert answer.status_code == 200
    told = answer.json()
    expected = {"pool": 6, "chosen": 2, "ratings": 8, "hours": 0.4, "fee": "0.20", "cost": "2.20", "currency": "EUR"}
    assert expected.items() <= told.items()
    assert [(bar["chosen"], bar["left"]) for bar in told["histogram"]] == [(1, 1), (1, 2), (0, 1)]
    assert (Batch.objects.count(), Hit.objects.count(), Event.objects.count()) == (0, 0, 0)
    assert post(manager, BATCHES, body(select="stratified:2x1", seed=told["seed"])).status_code == 201
    assert chosen(Batch.objects.get()) == told["instance_ids"]


def test_a_batch_is_made_once(study: Study, manager: APIClient) -> None:
    first = post(manager, BATCHES, body(instance_ids=["news-2", "news-4"], status="draft", most_hits_per_rater=3))
    again = post(manager, BATCHES, body(instance_ids=["news-4", "news-2"], most_hits_per_rater=3))
    other = post(manager, BATCHES, body(instance_ids=["news-4"]))

    assert (first.status_code, again.status_code, other.status_code) == (201, 200, 409)
    batch = Batch.objects.get()
    assert first.headers["Location"] == f"{BATCHES}{batch.pk}/"
    assert first.json() == again.json() == {**manager.get(f"{BATCHES}{batch.pk}/").json(), "notices": []}
    shown = first.json()
    assert (shown["status"], shown["raters_per_hit"], shown["most_hits_per_rater"]) == ("draft", 2, 3)
    assert (shown["launched_at"], shown["selection"]["spec"]) == (None, "ids")
    assert shown["selection"]["left_out"] == {}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"systems": ["alpha"]}, 422),
        ({"seeed": 1}, 422),
        ({"status": "paused"}, 422),
        ({"instance_ids": [["x"]]}, 422),
        ({"select": "best"}, 409),
        ({"dataset": "talk"}, 404),
        ({"study": "nowhere"}, 404),
    ],
    ids=str,
)
def test_what_cannot_be_made_is_refused(study: Study, manager: APIClient, change: dict[str, Any], code: int) -> None:
    for preview in (False, True):
        assert post(manager, BATCHES, body(**change, preview=preview)).status_code == code
    assert Batch.objects.count() == 0


def test_a_batch_needs_a_name_and_a_preview_none(study: Study, manager: APIClient) -> None:
    nameless = body()
    del nameless["name"]

    assert post(manager, BATCHES, nameless).json()["fields"] == {"name": ["This field is required."]}
    assert post(manager, BATCHES, {**nameless, "preview": True}).status_code == 200


def test_a_batch_is_launched_paused_and_closed(study: Study, manager: APIClient) -> None:
    address = f"{BATCHES}{make_batch(study, status='draft').pk}/status/"

    for status in ("open", "paused", "closed"):
        answer = post(manager, address, {"status": status, "reason": "so"})
        assert (answer.status_code, answer.json()["status"]) == (200, status)
    assert [post(manager, address, {"status": status}).status_code for status in ("paused", "draft")] == [409, 422]
    events = Event.objects.order_by("pk").values_list("kind", "reason", "by__username")
    assert list(events) == [(kind, "so", "manager") for kind in ("launched", "paused", "closed")]


def test_an_extension_is_previewed_then_made(study: Study, manager: APIClient) -> None:
    batch = make_batch(study, select="ids", instance_ids=["news-1", "news-2"], pairs=2, raters=2)
    address = f"{BATCHES}{batch.pk}/extend/"
    asked = {"more_raters": 1, "select": "random:3", "seed": 4, "known_raters": 2, "known_hits": 2}

    told = post(manager, address, {**asked, "preview": True}).json()
    assert (told["more_raters"]["ratings"], told["more_raters"]["cost"]) == (4, "1.00")
    assert (told["more_hits"]["hits"], told["more_hits"]["ratings"], told["more_hits"]["pool"]) == (3, 18, 4)
    assert batch.hits.count() == 2
    assert post(manager, address, asked).status_code == 422
    answer = post(manager, address, {**asked, "reason": "Too wide."})

    assert (answer.status_code, answer.json()["raters_per_hit"]) == (200, 3)
    assert set(chosen(batch)) == {"news-1", "news-2", *told["more_hits"]["instance_ids"]}
    assert post(manager, address, {**asked, "reason": "Too wide."}).status_code == 409
    assert post(manager, address, {"reason": "x", "select": "importance:1"}).status_code == 409
    assert post(manager, address, {"preview": True, "more_raters": 1}).json()["more_hits"] is None


def test_a_copy_may_be_of_another_configuration(study: Study, manager: APIClient) -> None:
    add_instances(study, dataset="talk", instances=3, k=3, systems=("alpha", "gamma"))
    batch = make_batch(study, select="random:2", raters=4)
    address = f"{BATCHES}{batch.pk}/copy/"

    answer = post(manager, address, {"name": "c", "dataset": "talk", "systems": ["alpha", "gamma"]})

    assert answer.status_code == 201
    copied = {"dataset": "talk", "system_b": "gamma", "status": "draft", "raters_per_hit": 4}
    assert copied.items() <= answer.json().items()
    assert post(manager, address, {"name": "c", "dataset": "talk", "systems": ["alpha", "gamma"]}).status_code == 200
    assert post(manager, address, {"name": "d", "dataset": "talk"}).status_code == 404
    assert post(manager, address, {}).status_code == 422
