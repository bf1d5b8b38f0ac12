"""What /healthz says to strangers when this installation is well, and when it can't save what it is sent."""

import shutil
import sqlite3
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import DatabaseError, connection
from django.test import Client

from annotation.core.version import VERSION

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engine]

Usage = namedtuple("Usage", "total used free")


def asked() -> tuple[int, dict[str, str]]:
    response = Client().get("/healthz")
    assert response["Cache-Control"] == "max-age=0, no-cache, no-store, must-revalidate, private"
    return response.status_code, response.json()


def execute(sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone() if cursor.description else None


@contextmanager
def full_database() -> Iterator[None]:
    """Keep the database from growing by one page more; PostgreSQL is made read-only, as its standby is."""
    if connection.vendor == "sqlite":
        execute("VACUUM")  # no page is free
        ((pages,), (most,)) = execute("PRAGMA page_count"), execute("PRAGMA max_page_count")
        execute(f"PRAGMA max_page_count = {pages}")
        back = f"PRAGMA max_page_count = {most}"
    else:
        execute("SET default_transaction_read_only = on")
        back = "SET default_transaction_read_only = off"
    try:
        yield
    finally:
        execute(back)


def test_health_is_ok_without_signing_in_and_leaves_nothing_behind() -> None:
    assert asked() == (200, {"status": "ok", "version": VERSION})
    assert not Session.objects.exists()


@pytest.mark.any_engine
def test_a_database_that_is_away_is_told_without_its_words() -> None:
    def away(*_call: Any) -> None:
        raise DatabaseError("password of the database is hunter2")

    with connection.execute_wrapper(away):
        assert asked() == (503, {"status": "database unavailable", "version": VERSION})


def test_a_database_that_takes_no_writes_is_told() -> None:
    with full_database():
        assert asked() == (503, {"status": "database takes no writes", "version": VERSION})
    assert asked()[0] == 200


@pytest.mark.any_engine
def test_a_disk_that_is_almost_full_is_told_without_its_path(
    monkeypatch: pytest.MonkeyPatch, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    free = settings.LEAST_FREE_BYTES
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: Usage(10**12, 10**12 - free, free))
    assert asked()[0] == 200

    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: Usage(10**12, 10**12 - free + 1, free - 1))
    assert asked() == (503, {"status": "data folder missing or almost full", "version": VERSION})
    assert str(settings.DATA_DIR) in caplog.text  # who runs the server is told where


@pytest.mark.any_engine
def test_a_data_folder_that_is_gone_is_told(settings: Any, tmp_path: Any) -> None:
    settings.DATA_DIR = tmp_path / "gone"
    assert asked() == (503, {"status": "data folder missing or almost full", "version": VERSION})


def test_a_long_write_of_another_request_is_no_trouble() -> None:
    if connection.vendor == "sqlite":
        other: Any = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
    else:
        other = connection.copy()
        other.cursor().execute("BEGIN; LOCK TABLE django_session IN EXCLUSIVE MODE")
    before = execute("PRAGMA busy_timeout") if connection.vendor == "sqlite" else None
    try:
        assert asked()[0] == 200
    finally:
        other.rollback()
        other.close()
    assert connection.vendor != "sqlite" or execute("PRAGMA busy_timeout") == before  # raters' writes still wait
