"""The id of a request: in its response, its log lines and its error page; JSON lines; the log of slow statements."""

import json
import logging
import sys
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.backends.signals import connection_created
from django.test import Client

from config.log_filters import AddRequestId, JsonLines, MaskTokens
from tests.factories import make_user, signed_in

pytestmark = pytest.mark.django_db
VIEW = "annotation.rating.joining_views.progress_of"


def test_every_response_has_an_id_of_its_own() -> None:
    first, second = (Client().get("/healthz")["X-Request-ID"] for _ in range(2))
    assert len(first) == 16
    assert first != second


@pytest.mark.parametrize(
    ("behind_proxy", "given", "is_kept"),
    [
        (True, "from-the-proxy.1", True),
        (False, "from-a-client-1", False),
        (True, "short", False),
        (True, "a\nb" * 9, False),
    ],
)
def test_the_id_of_a_proxy_is_kept(settings: Any, behind_proxy: bool, given: str, is_kept: bool) -> None:
    settings.BEHIND_PROXY = behind_proxy
    assert (Client().get("/healthz", HTTP_X_REQUEST_ID=given)["X-Request-ID"] == given) is is_kept


@pytest.mark.parametrize(("error", "status"), [(RuntimeError("broken"), 500), (OperationalError("locked"), 503)])
def test_a_person_who_meets_an_error_is_shown_the_id_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception, status: int
) -> None:
    def fail(*_args: object, **_named: object) -> None:
        raise error

    monkeypatch.setattr(VIEW, fail)
    browser = signed_in(make_user("rater", "annotator"), raise_request_exception=False)
    caplog.handler.addFilter(AddRequestId())
    answer = browser.get("/rate/progress/")
    shown = answer["X-Request-ID"]
    assert answer.status_code == status
    assert f"<code>{shown}</code>" in answer.content.decode()
    logged = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert {record.request_id for record in logged} == {shown}  # type: ignore[attr-defined]


def test_a_line_of_json_holds_the_record_and_a_masked_traceback() -> None:
    try:
        raise ValueError("ada@example.org\nsecond line")
    except ValueError:
        record = logging.LogRecord("a.b", logging.ERROR, "f", 1, "it %s", ("broke",), sys.exc_info())
    record.status = 500
    for one in (MaskTokens(), AddRequestId()):
        one.filter(record)
    written = JsonLines().format(record)
    line = json.loads(written)
    assert "\n" not in written
    assert (line["level"], line["logger"], line["message"]) == ("ERROR", "a.b", "it broke")
    assert (line["request_id"], line["status"]) == ("-", 500)
    assert "ValueError" in line["error"]
    assert "ada@" not in written


def test_requests_are_logged_by_the_names_of_their_views(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="tandem.requests"):
        Client().get("/join/secret-key/secret-token/")
    [line] = [record for record in caplog.records if record.name == "tandem.requests"]
    assert line.message.startswith("GET annotation:invitation 404 in ")
    assert "secret" not in line.message


def test_slow_statements_are_logged_without_values(settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    settings.SLOW_QUERY_SECONDS = 1e-9
    connection_created.send(sender=type(connection), connection=connection)
    connection_created.send(sender=type(connection), connection=connection)
    with caplog.at_level(logging.WARNING, logger="annotation.core.database.prepared"), connection.cursor() as cursor:
        cursor.execute("SELECT\n %s", ["a secret"])
    assert [record.message.split(": ")[1] for record in caplog.records] == ["SELECT %s"]
    settings.SLOW_QUERY_SECONDS = 3600
    caplog.clear()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    assert caplog.records == []
