"""Keys in the wrong hands: ended, expired, of another study, of a person who lost the role; and keys in what is written down."""

import logging
from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from annotation.members.tokens import end_token
from annotation.models import ApiToken, AuditEntry, RoleGrant
from annotation.models.members import Role, Scope
from judging.runs.judges import add_judge
from reporting.api import numbers
from tests.factories import make_study, make_user, token_of
from tests.reporting.api.test_tokens import api_routes, header_of
from tests.routes import ask, body_of
from tests.whole_study import Whole, build_whole_study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
OPEN = {"api:docs", "api:schema"}  # which hold nothing of any study


def store() -> Whole:
    return build_whole_study("mine")


@pytest.fixture
def whole(stored: Whole) -> Whole:
    return deepcopy(stored)


def dead_keys(whole: Whole) -> tuple[list[str], str]:
    """Return keys that open nothing: an ended and an expired one, which are unknown; and one of a person without the role."""
    boss, lost = whole.people[Role.STUDY_ADMIN], make_user("lost", Role.STUDY_ADMIN)
    keys = [token_of(boss), token_of(boss, expires_at=timezone.now() + timedelta(days=1))]
    of_lost = token_of(lost)
    end_token(user=boss, token_id=ApiToken.objects.filter(user=boss, expires_at=None).get().pk)
    ApiToken.objects.filter(user=boss).update(expires_at=timezone.now())
    RoleGrant.objects.filter(user=lost).delete()
    return keys, of_lost


@pytest.mark.weekly
def test_no_request_takes_a_dead_key_or_one_of_another_study(client: Client, whole: Whole) -> None:
    elsewhere = header_of(User.objects.create_superuser("root"), studies=[make_study("elsewhere", instances=0)])
    unknown, of_lost = dead_keys(whole)
    wrong: list[tuple[Any, ...]] = []
    asked = 0
    for route in api_routes():
        if route.name in OPEN:
            continue
        for method in route.methods:
            for key, status in ((unknown[asked % 2], 401), (of_lost, 403)):
                answer: Any = ask(client, route, method, whole, "", headers={"Authorization": f"Token {key}"})
                if answer.status_code != status and (route.name, status) != ("api:api-root", 403):
                    wrong.append((route.name, method, answer.status_code, status))
            asked += 1
            answer = ask(client, route, method, whole, "", headers=elsewhere)
            if "mine" in body_of(answer).replace(route.address, "") and answer.status_code < 300:
                wrong.append((route.name, method, "tells of the study"))
            if route.arguments and answer.status_code not in (403, 404):
                wrong.append((route.name, method, answer.status_code, "of another study"))
    assert not wrong
    assert asked > 150


def test_bodies_and_filters_name_no_study_beyond_the_token(whole: Whole) -> None:
    elsewhere = make_study("elsewhere", instances=0)
    api = APIClient(headers=header_of(User.objects.create_superuser("root"), studies=[elsewhere]))
    mine: dict[str, Any] = {"study": whole.study.slug}
    judged = {**mine, "judge": whole.judge.name}
    configuration = {"dataset": "mine-news", "systems": ["mine-alpha", "mine-beta"]}
    for path, sent in (
        ("batches/", {**mine, **configuration, "name": "x"}),
        ("channels/", {**mine, "kind": "accounts", "name": "x"}),
        *((f"{kind}/{what}", judged) for kind in ("runs", "audits") for what in ("", "estimate/")),
    ):
        assert api.post(f"/api/v1/{path}", sent, format="json").status_code == 404, path
    for rows in ("ratings", "instances", "judgments", "annotators"):
        assert api.get(f"/api/v1/{rows}/", mine).json()["results"] == []
    add_judge(name="unused", method="coin")
    assert [one["name"] for one in api.get("/api/v1/judges/").json()["results"]] == ["unused"]


def test_no_key_is_written_down(
    whole: Whole, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    keys = [token_of(whole.people[Role.STUDY_ADMIN], *scopes) for scopes in (list(Scope.values), ["read"])]

    def fail(*_args: Any, **_kwargs: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(numbers, "table_effect", fail)
    statuses = set()
    for key in keys:
        for header in (f"Token {key}", f"Token {key}x", f"Bearer {key}", key):
            api = APIClient(raise_request_exception=False, headers={"Authorization": header, "Idempotency-Key": "one"})
            for path in ("studies/mine-study/", "studies/mine-study/table-effect/", "studies/mine-study/?x=1"):
                statuses.add(api.get(f"/api/v1/{path}").status_code)
            statuses.add(api.post("/api/v1/studies/mine-study/archive/", {}, format="json").status_code)
    assert statuses == {200, 400, 401, 403, 500}
    written = caplog.text + "".join(str(one) for one in AuditEntry.objects.values_list("about", "action", "changes"))
    for key in keys:
        assert key not in written
        assert key.removeprefix("tandem-") not in written
