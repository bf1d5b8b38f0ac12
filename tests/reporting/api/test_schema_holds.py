"""Generated requests, right and wrong ones: no response of the API contradicts its schema."""

import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings

from tests.factories import token_of
from tests.routes import routes, values_of
from tests.whole_study import Whole, build_whole_study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
EXAMPLES = 2  # of each operation and mode, each asked twice: of generated names, and of those of a study that is there


@pytest.fixture
def whole() -> Whole:
    return build_whole_study("mine")


@pytest.fixture
def one_connection() -> Iterator[None]:
    """Keep the connection of the test's transaction from one request to the next."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def generate(cases: Any, real: dict[str, Any], send: Callable[[Any], None]) -> None:
    """Send generated cases, each also with real names in its address."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases)
    def ask(case: Any) -> None:
        send(case)
        if real:
            case.path_parameters.update(real)
            send(case)

    ask()


@pytest.mark.weekly
def test_no_response_contradicts_the_schema(
    whole: Whole, one_connection: None, caplog: pytest.LogCaptureFixture
) -> None:
    import schemathesis  # half a second: not in every worker's collection
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks as openapi

    caplog.set_level(logging.CRITICAL)  # every refusal would be a line of the report
    checks = [
        not_a_server_error,
        openapi.status_code_conformance,
        openapi.content_type_conformance,
        openapi.response_headers_conformance,
        openapi.response_schema_conformance,
    ]
    key = token_of(User.objects.create_superuser("root"))
    by_address = {route.address: route for route in routes()}
    statuses: dict[int, int] = {}
    wrong: list[str] = []

    def send(case: Any) -> None:
        with transaction.atomic():
            response = case.call(headers={"Authorization": f"Token {key}", "Accept-Encoding": "identity"})
            transaction.set_rollback(True)
        statuses[response.status_code] = statuses.get(response.status_code, 0) + 1
        try:
            case.validate_response(response, checks=checks)
        except schemathesis.core.failures.FailureGroup as failures:
            wrong.extend(f"{case.method} {case.path}: {failure}" for failure in failures.exceptions)

    schema = schemathesis.openapi.from_wsgi("/api/v1/schema/?format=json", WSGIHandler())
    for found in schema.get_all_operations():
        operation = found.ok()
        address = operation.path.replace("{id}", "{pk}").replace("{", "<").replace("}", ">")
        real = {name.replace("pk", "id"): value for name, value in values_of(by_address[address], whole).items()}
        for mode in schemathesis.GenerationMode:
            generate(operation.as_strategy(generation_mode=mode), real, send)

    assert not wrong, "\n\n".join(wrong)
    assert sum(statuses.values()) > 500
    assert {200, 201, 202, 204, 400, 404, 409, 422} <= set(statuses)


def test_the_page_lists_every_request_of_the_schema(client: Client) -> None:
    page = client.get("/api/v1/docs/").text
    schema = client.get("/api/v1/schema/?format=json").json()
    for path, operations in schema["paths"].items():
        for method in operations:
            assert f"{method.upper()} {path}" in page
    assert "page_size" in page
    assert "Why work is excluded" not in page  # descriptions of parts that are shown by their fields
    assert not re.search(r'(href|src)="https?://', page.split("<main", 1)[1])
