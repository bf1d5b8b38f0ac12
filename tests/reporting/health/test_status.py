"""/readyz, /metrics and the status page: what they say, and to whom."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from annotation.models import Assignment, Rating
from judging.models import Judgment
from judging.runs.tasks import execute_run
from reporting.health.views import WORKER_SILENT
from reporting.models import Sign
from tests.factories import claim, make_annotator, make_batch, make_study, make_user, signed_in
from tests.whole_study import build_whole_study

pytestmark = [pytest.mark.django_db, pytest.mark.engine]


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    cache.clear()


def queue_task(*, minutes_ago: int) -> DBTaskResult[Any, Any]:
    made = execute_run.enqueue(run_id=0)
    rows = DBTaskResult.objects.filter(pk=made.id)
    then = timezone.now() - timedelta(minutes=minutes_ago)
    rows.update(enqueued_at=then, run_after=then)
    return rows.get()


def test_ready_when_nothing_is_missing_and_a_task_has_just_been_queued() -> None:
    queue_task(minutes_ago=1)
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["failed"]) == (200, [])


def test_tasks_that_nobody_does_are_told_until_a_worker_that_lives_runs_one() -> None:
    task = queue_task(minutes_ago=11)
    Sign.objects.create(name="worker", at=timezone.now() - WORKER_SILENT)  # killed in the middle of the first task
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["failed"]) == (503, ["queued tasks are not done"])
    task.status = TaskResultStatus.RUNNING
    task.started_at = timezone.now()
    task.save()
    queue_task(minutes_ago=11)
    assert Client().get("/readyz").json()["failed"] == ["queued tasks are not done"]
    Sign.objects.update(at=timezone.now())
    assert Client().get("/readyz").status_code == 200


def test_missing_migrations_are_told_and_none_is_loaded_to_find_that_none_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MigrationLoader, "load_disk", lambda _loader: pytest.fail("20 MB of a web process"))
    assert Client().get("/readyz").json()["failed"] == []
    monkeypatch.undo()
    cache.clear()
    MigrationRecorder.Migration.objects.filter(app="sessions").delete()
    assert Client().get("/readyz").json()["failed"] == ["migrations are missing"]


@pytest.mark.any_engine
def test_monitors_need_no_tls(settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert [Client().get(path).status_code for path in ("/healthz", "/readyz", "/metrics", "/login/")] == [
        200,
        200,
        200,
        301,
    ]


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("given", "status"),
    [
        pytest.param({}, 200, id="this machine"),
        pytest.param({"REMOTE_ADDR": "::1"}, 200, id="this machine by IPv6"),
        pytest.param({"REMOTE_ADDR": "192.0.2.7"}, 404, id="another machine"),
        pytest.param({"REMOTE_ADDR": ""}, 404, id="unknown"),
        pytest.param({"HTTP_X_FORWARDED_FOR": "127.0.0.1"}, 404, id="through a proxy on this machine"),
    ],
)
def test_metrics_are_for_this_machine(given: dict[str, str], status: int) -> None:
    assert Client().get("/metrics", **given).status_code == status


@pytest.mark.any_engine
def test_metrics_are_for_a_token_where_one_is_set(settings: Any) -> None:
    settings.METRICS_TOKEN = "a-long-token"
    assert Client().get("/metrics").status_code == 404
    assert Client().get("/metrics", HTTP_AUTHORIZATION="Bearer another").status_code == 404
    allowed = Client().get("/metrics", HTTP_AUTHORIZATION="Bearer a-long-token", REMOTE_ADDR="192.0.2.7")
    assert allowed.status_code == 200


def value_of(name: str, text: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)
    assert found, f"{name} is not in:\n{text}"
    return float(found[1])


@pytest.mark.slow
def test_metrics_count_requests_votes_claims_tasks_and_judge_calls_once_in_a_while() -> None:
    build_whole_study("mine")
    queue_task(minutes_ago=3)
    before = Client().get("/metrics").content.decode()
    Client().get("/no/such/page")
    Client().generic("INVENTED", "/healthz")
    with CaptureQueriesContext(connection) as queries:
        after = Client().get("/metrics").content.decode()
    assert len(queries) == 0
    missing = 'tandem_requests_total{method="GET",status="404"}'
    assert value_of(missing, after) == (value_of(missing, before) if missing in before else 0) + 1
    assert value_of('tandem_requests_total{method="other",status="405"}', after) >= 1
    assert value_of('tandem_request_seconds_count{view="metrics"}', after) >= 1
    assert value_of("tandem_votes_total", after) == Rating.objects.count() > 0
    submitted = Assignment.objects.filter(state="submitted").count()
    assert value_of('tandem_claims{state="submitted"}', after) == submitted > 0
    assert value_of('tandem_tasks{state="ready"}', after) == 1
    assert value_of("tandem_oldest_task_seconds", after) >= 180
    parsed = Judgment.objects.filter(status="parsed").count()
    assert value_of('tandem_judgments{state="parsed"}', after) == parsed > 0
    calls = Judgment.objects.values_list("calls", "cached")
    assert value_of("tandem_judge_calls_total", after) == sum(made - cached for made, cached in calls)


@pytest.mark.slow
@pytest.mark.any_engine
def test_status_page_is_for_site_admins() -> None:
    browser = signed_in(User.objects.create_superuser("boss"))
    page = browser.get("/status/").content.decode()
    assert "All checks pass" in page
    queue_task(minutes_ago=11)
    make_batch(study := make_study())
    claim(make_annotator(study))
    cache.clear()
    page = browser.get("/status/").content.decode()
    states = r'<th scope="row">(.*?)</th>'  # words, not the keys of /metrics
    assert re.findall(states, page) == ["Claimed", "Queued", "Running", "Failed", "Done"]
    browser.force_login(make_user("reader", "study-admin"))
    assert browser.get("/status/").status_code == 403
