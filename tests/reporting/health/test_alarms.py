"""Alarms: each rule finds what it is for, and each alarm is told once when it begins and once when it ends."""

import shutil
from collections import namedtuple
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db.models import F
from django.test import Client
from django.utils import timezone

from annotation.mail.outbox import send_due
from annotation.models import Assignment, Mail
from judging.models import JudgeRun
from judging.worker import requeue_and_release
from reporting.health import alarms
from reporting.health.alarms import ENDS_AFTER, EVERY, RULES, look, look_from_worker
from reporting.health.signs import WORKER_SILENT
from reporting.health.watching import watch
from reporting.models import Alarm, Sign
from tests.annotation.mail.conftest import post as post
from tests.factories import claim, make_annotator, make_batch, make_study, rate
from tests.smtp import Postbox

pytestmark = [pytest.mark.django_db, pytest.mark.engine]
NOW = timezone.now()
MINUTE = timedelta(minutes=1)
Disk = namedtuple("Disk", "total used free")


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    cache.clear()


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Replace the rules by one that finds what the test puts into a list."""
    found: list[tuple[str, str]] = []
    monkeypatch.setattr(alarms, "RULES", {"run": alarms.Rule(lambda _at: list(found))})
    return found


def found_by(rule: str, at: Any = NOW) -> list[str]:
    return [text for _about, text in RULES[rule].find(at)]


def test_an_alarm_is_told_once_until_it_ends_and_its_end_is_told(
    post: Postbox, settings: Any, only: list[tuple[str, str]]
) -> None:
    settings.ALARM_ADDRESSES = ["ops@lab.example"]
    User.objects.create_superuser("boss", email="boss@lab.example")
    only.append(("7", "Run 7\nhas stopped."))
    for minute in range(5):
        look(at=NOW + minute * MINUTE)
    only.clear()
    for minute in (6, 8):
        look(at=NOW + minute * MINUTE)
    only.append(("7", "Run 7 has stopped."))  # it comes and goes: still the same one
    look(at=NOW + 9 * MINUTE)
    only.clear()
    end = NOW + 9 * MINUTE + ENDS_AFTER
    for minute in range(3):
        look(at=end + minute * MINUTE)
    send_due(at=end)
    assert [(mail["To"], mail["Subject"]) for mail in post.taken] == [
        ("ops@lab.example", "Tandem: Run 7 has stopped."),
        ("ops@lab.example", "Tandem: an alarm has ended"),
    ]
    assert "https://tandem.example.org/status/" in post.texts[0]
    only.append(("7", "Run 7 has stopped."))
    look(at=end + 5 * MINUTE)
    assert Alarm.objects.count() == 2


def test_all_that_begins_at_once_is_one_mail_to_each_admin_with_an_address(
    post: Postbox, only: list[tuple[str, str]]
) -> None:
    for name, address in (("boss", "boss@lab.example"), ("other", "other@lab.example"), ("silent", "")):
        User.objects.create_superuser(name, email=address)
    only += [(str(number), f"Run {number} has stopped.") for number in range(50)]
    look(at=NOW)
    assert sorted(Mail.objects.values_list("address", flat=True)) == ["boss@lab.example", "other@lab.example"]
    assert Mail.objects.earliest("pk").text.count("has stopped") == 51


def test_a_rule_that_fails_silences_no_other_and_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, only: list[tuple[str, str]]
) -> None:
    only.append(("7", "Run 7 has stopped."))
    look(at=NOW)

    def fail(_at: object) -> list[tuple[str, str]]:
        raise RuntimeError("the disk is gone")

    monkeypatch.setattr(alarms, "RULES", {"run": alarms.Rule(fail), "queue": alarms.Rule(lambda _at: [("", "Long.")])})
    look(at=NOW + 2 * ENDS_AFTER)
    assert sorted(Alarm.objects.filter(ended_at=None).values_list("rule", flat=True)) == ["queue", "run"]


def test_a_worker_gives_a_sign_and_the_web_server_raises_the_alarm_when_it_is_silent(
    post: Postbox, settings: Any
) -> None:
    settings.ALARM_ADDRESSES = ["ops@lab.example"]
    requeue_and_release()
    assert not watch()
    assert found_by("worker", timezone.now()) == []
    Sign.objects.filter(name="worker").update(at=NOW - WORKER_SILENT - MINUTE)
    assert watch()
    assert watch()  # of several web processes one looks
    assert [mail["Subject"][:40] for mail in post.taken] == ["Tandem: No worker has given a sign of li"]


def test_a_worker_that_was_never_started_is_an_alarm_too(post: Postbox, settings: Any) -> None:
    settings.ALARM_ADDRESSES = ["ops@lab.example"]
    assert not watch()  # it may be starting
    Sign.objects.update(at=F("at") - WORKER_SILENT)
    assert watch()
    assert [mail["Subject"][:40] for mail in post.taken] == ["Tandem: No worker has given a sign of li"]


def test_of_several_workers_one_looks_each_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Any] = []
    monkeypatch.setattr(alarms, "look", lambda at: looks.append(at))
    for seconds in (0, 10, 20, 60, 70):
        look_from_worker(NOW + timedelta(seconds=seconds))
    assert looks == [NOW, NOW + EVERY]


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


def test_a_nearly_full_disk_and_a_long_queue_are_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Disk(100, 89, 11))
    assert found_by("disk") == []
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Disk(100, 91, 9))
    assert found_by("disk") == ["The disk of the data folder is nearly full: 9 % are free."]
    waits = namedtuple("Numbers", "oldest_waiting")
    for seconds, n in ((3000.0, 0), (4000.0, 1)):
        monkeypatch.setattr(alarms, "read_numbers", lambda seconds=seconds: waits(seconds))
        assert len(found_by("queue")) == n


def test_site_admins_see_alarms_on_the_status_page(only: list[tuple[str, str]]) -> None:
    only.append(("7", "Run 7 has <b>stopped</b>."))
    look(at=NOW)
    browser = Client()
    browser.force_login(User.objects.create_superuser("boss"))
    assert "Run 7 has &lt;b&gt;stopped&lt;/b&gt;." in browser.get("/status/").text
