"""The pages of the endpoints: who sees what, what can be set, and the test that a worker makes."""

from decimal import Decimal

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse
from django_tasks_db.models import DBTaskResult

from judging.endpoints.tasks import MAX_TEST_TIME, is_being_tested, probe, queue_test
from judging.models import Endpoint
from tests.factories import signed_in
from tests.judging.builders import make_endpoint, make_user
from tests.standin.process import StandInProcess

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
SECRET = "sk-very-secret-0123456789"
NEW = {"name": "far", "base_url": "https://models.example/v1", "model": "big", "key_env": "FAR_KEY", "currency": "usd"}
LIMITS = {"timeout_seconds": "30", "batch_discount": "0.5", "currency": "USD"}
LIST, ADD = reverse("judging:endpoints"), reverse("judging:new-endpoint")
HTMX = {"HX-Request": "true"}


@pytest.fixture
def site_admin() -> Client:
    return signed_in(get_user_model().objects.create_superuser("root", password="long enough for this"))


@pytest.fixture
def researcher() -> Client:
    return signed_in(make_user("ann", "researcher"))


def page(name: str = "stand-in") -> str:
    return reverse("judging:endpoint", args=[name])


def test_readers_see_models_and_prices_and_no_address(researcher: Client, site_admin: Client) -> None:
    make_endpoint(
        price_prompt=Decimal("0.15"), key_env="FAR_KEY", headers={"X-Team": "owls"}, supports={"chat": True, "why": {}}
    )
    seen = researcher.get(LIST).content.decode()
    assert "stand-in" in seen
    assert "small" in seen
    assert "0.1500 USD" in seen
    for hidden in ("models.example", "FAR_KEY", "X-Team", "owls", page(), ADD):
        assert hidden not in seen
    assert page() in site_admin.get(LIST).content.decode()


def test_endpoint_is_added_on_the_page(site_admin: Client) -> None:
    made = site_admin.post(ADD, {**NEW, **LIMITS, "price_prompt": "0.15", "headers": "X-Team: owls\nX-Key: env:MY_KEY"})
    assert (made.status_code, made.headers["Location"]) == (302, page("far"))
    endpoint = Endpoint.objects.get()
    assert (endpoint.price_prompt, endpoint.price_completion) == (Decimal("0.15"), None)
    assert endpoint.headers == {"X-Team": "owls", "X-Key": "env:MY_KEY"}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"base_url": "http://10.0.0.1/v1"}, id="private host"),
        pytest.param({"key_env": SECRET}, id="key"),
        pytest.param({"headers": f"Authorization: Bearer {SECRET}"}, id="header"),
        pytest.param({"headers": SECRET}, id="no header"),
        pytest.param({"headers": "A: 1\nA: 2"}, id="header twice"),
    ],
)
def test_what_can_not_be_is_said_beside_the_form(site_admin: Client, change: dict[str, str]) -> None:
    answer = site_admin.post(ADD, {**NEW, **LIMITS, **change})
    assert answer.status_code == 422
    assert not Endpoint.objects.exists()


def test_prices_are_changed_and_who_answers_is_not(site_admin: Client) -> None:
    make_endpoint(price_prompt=Decimal("0.15"), headers={"X-Team": "owls"})
    shown = site_admin.get(page()).content.decode()
    assert "X-Team: owls" in shown
    changed = {
        **LIMITS,
        "price_prompt": "",
        "requests_per_minute": "60",
        "headers": "",
        "model": "huge",
        "base_url": "x",
    }
    assert site_admin.post(page(), changed).status_code == 302
    endpoint = Endpoint.objects.get()
    assert (endpoint.price_prompt, endpoint.requests_per_minute, endpoint.headers) == (None, 60, {})
    assert (endpoint.model, endpoint.base_url, endpoint.timeout_seconds) == ("small", "https://models.example/v1", 30)
    assert site_admin.post(page(), {**changed, "timeout_seconds": "0"}).status_code == 422


def test_button_has_a_worker_test_it_and_the_page_shows_what_was_found(
    site_admin: Client, standin: StandInProcess
) -> None:
    standin.behave(answer="random", rejects=["logprobs"])
    endpoint = make_endpoint(standin.base_url)
    button = reverse("judging:test-endpoint", args=["stand-in"])
    assert site_admin.post(button).headers["Location"] == page()
    waiting = site_admin.post(button, headers=HTMX).content.decode()
    assert waiting.lstrip().startswith("<section")
    assert 'hx-trigger="every 2s, wake"' in waiting
    [task] = DBTaskResult.objects.all()
    assert probe.func(*task.args_kwargs["args"])
    DBTaskResult.objects.update(status="SUCCEEDED")
    done = site_admin.get(page(), headers=HTMX).content.decode()
    assert "hx-trigger" not in done
    assert "rejected: HTTP 400" in done
    assert done.count("<td>yes</td>") == 7  # all but log-probabilities
    assert not is_being_tested(endpoint)


def test_test_that_died_with_its_worker_does_not_block_the_next_one() -> None:
    endpoint, other = make_endpoint(), make_endpoint(name="other")
    assert [queue_test(endpoint=endpoint), queue_test(endpoint=endpoint), queue_test(endpoint=other)] == [
        True,
        False,
        True,
    ]
    task = DBTaskResult.objects.earliest("enqueued_at")
    DBTaskResult.objects.filter(pk=task.pk).update(status="RUNNING", started_at=task.enqueued_at - MAX_TEST_TIME)
    assert not is_being_tested(endpoint)
    assert queue_test(endpoint=endpoint)


def test_reason_of_a_failure_is_escaped(site_admin: Client) -> None:
    endpoint = make_endpoint()
    why = {"chat": "<script>alert(1)</script>"}
    Endpoint.objects.update(supports={"chat": False, "why": why}, tested_at=endpoint.created_at)
    shown = site_admin.get(page()).content.decode()
    assert "&lt;script&gt;alert(1)" in shown
    assert "<script>alert" not in shown
