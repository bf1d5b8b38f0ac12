"""Alarms: each rule finds what it is for, and the status page shows it."""

import shutil
from collections import namedtuple
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.models import Assignment
from judging.models import JudgeRun
from reporting.health import status_views
from reporting.health.status_views import RULES, open_alarms
from reporting.health.views import WORKER_SILENT
from reporting.models import Sign
from reporting.worker import requeue_and_release
from tests.factories import claim, make_annotator, make_batch, make_study, rate, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.engine]
NOW = timezone.now()
Disk = namedtuple("Disk", "total used free")


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    cache.clear()


def found_by(rule: str, at: Any = NOW) -> list[str]:
    return [*RULES[rule](at)]


@pytest.mark.any_engine
def test_a_rule_that_fails_silences_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_at: Any) -> list[str]:
        raise OSError("no disk")

    monkeypatch.setattr(status_views, "RULES", {"disk": fail, "queue": lambda _at: ["Long."]})
    assert open_alarms(at=NOW) == ["Long."]


def test_a_worker_gives_a_sign_of_life_and_its_silence_is_an_alarm() -> None:
    assert len(found_by("worker")) == 1  # none was ever started
    requeue_and_release()
    assert found_by("worker", timezone.now()) == []
    Sign.objects.filter(name="worker").update(at=NOW - WORKER_SILENT - timedelta(minutes=1))
    assert len(found_by("worker")) == 1


@pytest.mark.slow
def test_runs_that_stopped_by_themselves_are_alarms_and_those_that_were_stopped_are_not() -> None:
    from tests.whole_study import build_whole_study

    run = build_whole_study("mine").run
    for status, message, alarming in (
        ("failed", "unexpected: KeyError", True),
        ("paused", "the cap of 5.00 is reached", True),
        ("paused", "", False),
        ("done", "", False),
    ):
        JudgeRun.objects.filter(pk=run.pk).update(status=status, message=message)
        assert bool(found_by("run")) is alarming, (status, message)
        assert all(message in text for text in found_by("run"))


@pytest.mark.slow
def test_batches_that_are_finished_or_stuck_are_alarms() -> None:
    study = make_study("talks")
    batch = make_batch(study, pairs=2, raters=1)
    batch.launched_at = NOW - timedelta(days=2)
    batch.save()
    assert (found_by("batch-finished"), len(found_by("batch-stuck"))) == ([], 1)
    hit = claim(make_annotator(study), at=NOW)
    rate(hit)
    Assignment.objects.filter(pk=hit.pk).update(submitted_at=NOW)
    while batch.slots.filter(assignment=None).exists():
        rate(claim(make_annotator(study, f"r{batch.slots.filter(assignment=None).count()}"), at=NOW))
    assert (len(found_by("batch-finished")), found_by("batch-stuck")) == (1, [])
    batch.status = "closed"
    batch.save()
    assert found_by("batch-finished") == []


def test_a_failed_and_a_missing_backup_are_alarms(settings: Any, tmp_path: Path) -> None:
    assert (found_by("backup-old"), found_by("backup-failed")) == ([], [])
    settings.BACKUP_HOURS = 26
    assert len(found_by("backup-old")) == 1
    with pytest.raises((OSError, CommandError)):
        call_command("backup", str(tmp_path / "no folder" / "a.zip"))
    assert len(found_by("backup-failed", timezone.now())) == 1
    Sign.objects.update(went_well=True)
    assert (found_by("backup-old", timezone.now()), found_by("backup-failed")) == ([], [])
    assert len(found_by("backup-old", timezone.now() + timedelta(hours=27))) == 1


@pytest.mark.any_engine
def test_a_nearly_full_disk_and_a_long_queue_are_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Disk(100, 89, 11))
    assert found_by("disk") == []
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Disk(100, 91, 9))
    assert found_by("disk") == ["The disk of the data folder is nearly full: 9 % are free."]
    waits = namedtuple("Numbers", "oldest_waiting")
    for seconds, n in ((3000.0, 0), (4000.0, 1)):
        monkeypatch.setattr(status_views, "read_numbers", lambda seconds=seconds: waits(seconds))
        assert len(found_by("queue")) == n


@pytest.mark.any_engine
def test_site_admins_see_alarms_on_the_status_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_views, "RULES", {"run": lambda _at: ["Run 7 has <b>stopped</b>."]})
    browser = signed_in(User.objects.create_superuser("boss"))
    assert "Run 7 has &lt;b&gt;stopped&lt;/b&gt;." in browser.get("/status/").text
