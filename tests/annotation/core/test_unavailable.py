"""While the database takes no writes, a request is answered that nothing was saved, and a later one is saved."""

import html
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import Client

from annotation.core.middleware import RETRY_SECONDS
from annotation.models import Assignment, Rating, Study, VoteChange
from tests.factories import claim, make_annotator, make_batch, make_study, make_user, signed_in, token_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engine, pytest.mark.slow]


@contextmanager
def another_writer() -> Iterator[None]:
    """Hold the lock that every write needs from another connection; this one waits for it a moment only."""
    if connection.vendor == "sqlite":
        other: Any = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
        begin, patience, back = "BEGIN IMMEDIATE", "PRAGMA busy_timeout = 1", "PRAGMA busy_timeout = 20000"
    else:
        other = connection.copy().cursor()
        other.execute("BEGIN")
        begin = "LOCK TABLE annotation_assignment, annotation_study IN EXCLUSIVE MODE"
        patience, back = "SET lock_timeout = 1", "RESET lock_timeout"
    other.execute(begin)
    with connection.cursor() as cursor:
        cursor.execute(patience)
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        with suppress(AttributeError):
            other.db.close()  # PostgreSQL's, back into the pool
        other.close()
        with connection.cursor() as cursor:
            cursor.execute(back)


@pytest.fixture
def assignment() -> Assignment:
    study = make_study(instances=1)
    make_batch(study)
    return claim(make_annotator(study))


@pytest.fixture
def client(assignment: Assignment) -> Client:
    return signed_in(assignment.annotator.user)


def vote(client: Client, assignment: Assignment, **headers: str) -> Any:
    pair = assignment.displays.earliest("position").pair
    return client.post(f"/rate/hit/{assignment.key}/vote/", {"pair_key": pair.key, "choice": "left"}, headers=headers)


def test_a_vote_that_meets_a_long_write_says_that_it_is_not_saved_yet(client: Client, assignment: Assignment) -> None:
    with another_writer():
        response = vote(client, assignment)
        part = vote(client, assignment, hx_request="true").text
        german = vote(client, assignment, accept_language="de").text

    assert part.startswith('<div class="notice error" role="alert">')
    assert "Not saved yet" in part
    assert '<html lang="de"' in german
    assert "Noch nicht gespeichert" in german
    assert response.status_code == 503
    assert response["Retry-After"] == str(RETRY_SECONDS)
    assert response["Cache-Control"] == "no-store"
    page = response.content.decode()
    assert "Not saved yet" in page
    assert "reload this page" in page
    assert "locked" not in page  # the database's own words are for the log
    assert (Rating.objects.count(), VoteChange.objects.count()) == (0, 0)
    assert vote(client, assignment).status_code == 302
    assert Rating.objects.count() == 1


@pytest.mark.any_engine
def test_a_page_that_meets_a_lock_says_that_the_database_is_busy(client: Client, assignment: Assignment) -> None:
    with another_writer(), pytest.raises(OperationalError) as locked:
        Study.objects.update(title="Other")

    def lock(execute: Any, *call: Any) -> None:
        raise locked.value

    with connection.execute_wrapper(lock):
        response = client.get(f"/rate/hit/{assignment.key}/")
    assert (response.status_code, response["Retry-After"]) == (503, str(RETRY_SECONDS))
    assert "database is busy" in html.unescape(response.text)
    assert "can't read" not in html.unescape(response.text)


@pytest.mark.any_engine
def test_the_api_says_it_in_json(assignment: Assignment) -> None:
    study = assignment.hit.batch.study
    manager = make_user("manager", "study-admin", study=study)
    token = {"authorization": f"Token {token_of(manager)}"}
    with another_writer():
        response = Client().patch(
            f"/api/v1/studies/{study.slug}/", {"title": "Other"}, content_type="application/json", headers=token
        )

    assert (response.status_code, response["Retry-After"]) == (503, str(RETRY_SECONDS))
    assert list(response.json()) == ["detail"]
    assert "Not saved yet" in response.json()["detail"]
    assert Study.objects.get(pk=study.pk).title != "Other"


@pytest.mark.parametrize(
    "error", [OperationalError("server closed the connection"), InterfaceError("connection closed")]
)
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_database_that_goes_away_under_a_signed_in_request_is_no_500(
    client: Client, assignment: Assignment, error: Exception, method: str
) -> None:
    def gone(execute: Any, *call: Any) -> None:
        raise error

    with connection.execute_wrapper(gone):
        response = getattr(client, method)(f"/rate/hit/{assignment.key}/{'vote/' if method == 'post' else ''}")

    assert response.status_code == 503
    assert ("Not saved yet" in response.content.decode()) == (method == "post")
    assert "Please try again in a few seconds" in response.content.decode()
