"""Generated requests to the API by every role: what may not be done is refused, nothing fails or contradicts the schema."""

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi import checks as openapi

from annotation.models.members import Role
from tests.factories import token_of
from tests.hostile import STRINGS
from tests.routes import routes, values_of
from tests.whole_study import Whole, build_whole_study

# The client of schemathesis does not close a response that sends a file.
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.timeout(7200),  # thousands of requests
]
EXAMPLES = 3  # of each operation, mode and role; each is sent three times
CHECKS = [
    openapi.status_code_conformance,
    openapi.content_type_conformance,
    openapi.response_headers_conformance,
    openapi.response_schema_conformance,
]
MARK = "mine"
ROLES = ("signed out", Role.ANNOTATOR, Role.RESEARCHER, Role.STUDY_ADMIN, "stranger", "site admin")


@pytest.fixture
def whole() -> Whole:
    return build_whole_study(MARK)


@pytest.fixture(autouse=True)
def _one_connection() -> None:
    """Keep the connection of the test's transaction from one request to the next."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)


def user_of(role: str, whole: Whole) -> User | None:
    if role == "signed out":
        return None
    if role == "stranger":
        return build_whole_study("theirs").people[Role.STUDY_ADMIN]
    return User.objects.create_superuser("root") if role == "site admin" else whole.people[role]


@pytest.mark.parametrize("role", ROLES)
def test_no_request_of_any_role_fails_and_outsiders_change_nothing(whole: Whole, role: str) -> None:
    user = user_of(role, whole)
    headers = {"Accept-Encoding": "identity"}
    if user is not None:
        headers["Authorization"] = f"Token {token_of(user)}"
    by_address = {route.address: route for route in routes()}
    wrong: list[str] = []
    statuses: dict[int, int] = {}

    def send(case: schemathesis.Case) -> None:
        with transaction.atomic():
            response = case.call(headers=headers)
            transaction.set_rollback(True)
        statuses[response.status_code] = statuses.get(response.status_code, 0) + 1
        what = f"{case.method} {case.path} {case.path_parameters} {case.query} {case.body!r}: {response.status_code}"
        if response.status_code >= 500:
            wrong.append(what)
        elif role in ("signed out", "stranger") and MARK.encode() in response.content and response.status_code < 300:
            wrong.append(f"{what} tells of the study")
        try:
            case.validate_response(response, checks=CHECKS)
        except FailureGroup as failures:
            wrong.extend(f"{what}: {failure}" for failure in failures.exceptions)

    schema = schemathesis.openapi.from_wsgi("/api/v1/schema/?format=json", WSGIHandler())
    for found in schema.get_all_operations():
        operation = found.ok()
        address = operation.path.replace("{id}", "{pk}").replace("{", "<").replace("}", ">")
        real = {name.replace("pk", "id"): value for name, value in values_of(by_address[address], whole).items()}
        for mode in GenerationMode:

            @settings(
                max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )  # fmt: skip
            @given(case=operation.as_strategy(generation_mode=mode), text=st.sampled_from(STRINGS))
            def ask(case: schemathesis.Case, text: str) -> None:
                send(case)
                for name in case.query or {}:
                    case.query[name] = text
                send(case)
                case.path_parameters.update(real)  # noqa: B023  # called below, in the same turn
                send(case)

            ask()

    assert not wrong, "\n".join(wrong[:20])
    assert sum(statuses.values()) > 300
