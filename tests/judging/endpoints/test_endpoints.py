"""Endpoints: prices, limits and headers, what may change under a name, and what may not."""

from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from judging.core.errors import BadSettings
from judging.endpoints.services import add_endpoint, edit_endpoint, update_endpoint
from judging.models import Endpoint
from judging.runs.judges import add_judge

pytestmark = pytest.mark.django_db
ENDPOINT: dict[str, Any] = {"name": "far", "base_url": "https://models.example/v1", "model": "big"}
SECRET = "sk-very-secret-0123456789"


def stored() -> Endpoint:
    return Endpoint.objects.get()


def test_the_same_endpoint_again_keeps_what_is_not_named() -> None:
    add_endpoint(**ENDPOINT, price_prompt=Decimal("0.15"), timeout_seconds=30)
    assert add_endpoint(**ENDPOINT)[1] is False
    assert add_endpoint(**ENDPOINT, price_prompt=Decimal("0.150"))[1] is False
    assert (stored().price_prompt, stored().timeout_seconds) == (Decimal("0.15"), 30)


def test_headers_are_not_repeated_where_they_differ() -> None:
    add_endpoint(**ENDPOINT, headers={"X-Team": "owls"})
    with pytest.raises(BadSettings, match="headers differ") as refused:
        add_endpoint(**ENDPOINT, headers={"X-Team": "larks"})
    assert "larks" not in str(refused.value)


@pytest.mark.parametrize("change", [{"base_url": "https://other.example"}, {"model": "small"}, {"key_env": "MY_KEY"}])
def test_who_answers_may_not_change(change: dict[str, str]) -> None:
    endpoint, _ = add_endpoint(**ENDPOINT)
    with pytest.raises(BadSettings, match="settings that can't be changed"):
        edit_endpoint(endpoint=endpoint, **change)
    with pytest.raises(BadSettings, match="choose another name"):
        update_endpoint(name="far", price_prompt=Decimal(1), **change)
    assert stored().price_prompt is None


def test_command_adds_and_updates(capsys: pytest.CaptureFixture[str]) -> None:
    about = ["far", "--base-url", "https://models.example/v1", "--model", "big"]
    call_command("add_endpoint", *about, "--price-prompt", "0.15", "--header", "X-Team: owls")
    with pytest.raises(CommandError, match="to change these, update it"):
        call_command("add_endpoint", *about, "--price-prompt", "0.3", "--price-completion", "1.2")
    call_command("add_endpoint", *about, "--update", "--price-prompt", "0.3", "--price-completion", "1.2")
    call_command("add_endpoint", "far", "--update", "--requests-per-minute", "60", "--header", "")
    call_command("add_endpoint", "far", "--update", "--price-completion", "")
    assert (stored().price_prompt, stored().price_completion) == (Decimal("0.3"), None)
    assert (stored().requests_per_minute, stored().headers) == (60, {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "endpoint far added: big at https://models.example/v1"
    assert lines[1] == "prices: 0.15 USD for a million prompt tokens, unknown USD for a million tokens written"
    assert "endpoint far updated: big at https://models.example/v1" in lines
    call_command("add_endpoint", "far", "--update", "--requests-per-minute", "0")
    assert stored().requests_per_minute is None
    for name, reason in (("far", "give a price"), ("near", "there is no endpoint near; there are: far")):
        with pytest.raises(CommandError, match=reason):
            call_command("add_endpoint", name, "--update")


def test_command_does_not_repeat_a_secret(capsys: pytest.CaptureFixture[str]) -> None:
    about = ["far", "--base-url", "https://models.example/v1", "--model", "big"]
    for header in (f"Authorization: Bearer {SECRET}", SECRET, f":{SECRET}"):
        with pytest.raises(CommandError) as refused:
            call_command("add_endpoint", *about, "--header", header)
        assert SECRET not in str(refused.value) + "".join(capsys.readouterr())
    assert not Endpoint.objects.exists()


def test_endpoints_and_judges_have_names_that_differ_by_more_than_case() -> None:
    endpoint, _ = add_endpoint(**ENDPOINT)
    add_judge(name="plain", method="longer")

    for add in (lambda: add_endpoint(**{**ENDPOINT, "name": "Far"}), lambda: add_judge(name="Plain", method="longer")):
        with pytest.raises(BadSettings, match="by case only"):
            add()
    assert add_endpoint(**ENDPOINT) == (endpoint, False)
    assert add_judge(name="plain", method="longer")[1] is False
