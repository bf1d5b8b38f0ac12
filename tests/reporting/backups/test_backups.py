"""A backup that is made while others write is restored row for row, on either engine, or changes nothing."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from annotation.core.reasons import NO_REASON, reason
from annotation.models import Annotator, Rating, SeparabilityJob, Study
from annotation.privacy.erasing import erase_rater
from reporting.backups import whole
from reporting.backups.whole import MANIFEST, Digest, tables, write_backup
from tests import migrated
from tests.every_table import fill_empty_tables
from tests.factories import make_study
from tests.rows import undone_at_the_end
from tests.tools.helpers import ROOT
from tests.whole_study import build_whole_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engine, pytest.mark.slow]


@pytest.fixture(autouse=True)
def log(settings: Any, tmp_path: Path) -> Path:
    settings.ERASURE_LOG = tmp_path / "erasures.jsonl"
    return tmp_path / "erasures.jsonl"


def restore(path: Path, *options: str) -> str:
    said = StringIO()
    call_command("restore", str(path), *options, stdout=said)
    return said.getvalue()


def counted(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        found: dict[str, Any] = json.loads(archive.read(MANIFEST))["tables"]
    return found


def test_every_row_comes_back_also_by_way_of_another_database_and_the_erased_stay_erased(tmp_path: Path) -> None:
    whole = build_whole_study("mine")
    fill_empty_tables()
    backup, there, again = tmp_path / "backup", tmp_path / "there", tmp_path / "again"
    call_command("backup", str(backup), stdout=StringIO())
    assert backup.stat().st_mode & 0o777 == 0o600
    before = counted(backup)
    assert [table for table, found in before.items() if not found["rows"]] == []

    # Into a SQLite file in another process, and from there into another backup.
    migrated.copy_file(tmp_path / "db.sqlite3")
    own = {"DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}", "TANDEM_DATA_DIR": str(tmp_path)}
    both = "import sys, django; from django.core.management import call_command; django.setup(); [call_command(*of) for of in (('restore', sys.argv[1]), ('backup', sys.argv[2]))]"
    subprocess.run([sys.executable, "-c", both, backup, there], cwd=ROOT, env={**os.environ, **own}, check=True)
    assert counted(there) == before

    # Back over a database that has changed.
    make_study("another")
    User.objects.create(username="late")
    restore(there, "--replace")
    write_backup(again, at=timezone.now())
    assert counted(again) == before
    User.objects.create(username="its number is free")  # sequences follow

    rater = Annotator.objects.get(pk=whole.annotator.pk)
    assert Rating.objects.filter(display__assignment__annotator=rater).exists()
    erase_rater(annotator=rater, by=None, at=timezone.now())
    assert "1 rater erased again" in restore(backup, "--replace")
    rater.refresh_from_db()
    assert rater.erased_at is not None
    assert not Rating.objects.filter(display__assignment__annotator=rater).exists()
    assert "0 raters erased again" in restore(again, "--replace", "--erasures")
    rater.refresh_from_db()
    assert rater.erased_at is None


@pytest.mark.any_engine
def test_reasons_keep_their_codes_and_older_ones_their_texts(tmp_path: Path) -> None:
    reasons = [NO_REASON, reason("judgments_by", number=3, judges=["y"]), reason("text", text="of old")]
    study = make_study()
    for why in reasons:
        SeparabilityJob.objects.create(study=study, asked={}, software_version="1", message=why)
    write_backup(tmp_path / "backup", at=timezone.now())
    with zipfile.ZipFile(tmp_path / "backup") as archive:
        assert b', "of old", ' in archive.read(f"{SeparabilityJob._meta.db_table}.jsonl")
    restore(tmp_path / "backup", "--replace")
    assert list(SeparabilityJob.objects.order_by("pk").values_list("message", flat=True)) == reasons
    rewritten(tmp_path / "backup", f"{SeparabilityJob._meta.db_table}.jsonl", b'"judgments_by"', b'"of_a_later_one"')
    with pytest.raises(CommandError, match="no complete backup"):
        restore(tmp_path / "backup", "--replace")
    assert list(SeparabilityJob.objects.order_by("pk").values_list("message", flat=True)) == reasons


@pytest.mark.any_engine
def test_the_log_of_erasures_means_nothing_in_another_database(log: Path, tmp_path: Path) -> None:
    rater = build_whole_study("mine").annotator
    write_backup(tmp_path / "backup", at=timezone.now())
    erase_rater(annotator=rater, by=None, at=timezone.now())
    [line] = log.read_text().splitlines()
    assert set(json.loads(line)) == {"at", "rater", "joined_at", "keep_ratings", "everywhere"}
    assert log.stat().st_mode & 0o777 == 0o600
    log.write_text(json.dumps({**json.loads(line), "joined_at": "2020-01-01T00:00:00+00:00"}) + "\n")
    assert "0 raters erased again" in restore(tmp_path / "backup", "--replace")
    with pytest.raises(CommandError, match="gone can't be read"):
        restore(tmp_path / "backup", "--replace", "--erasures", str(tmp_path / "gone"))


def in_thread(work: Any) -> Any:
    """Do something with another connection to the database."""

    def then_close() -> Any:
        try:
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as other:
        return other.submit(then_close).result(timeout=60)


def test_a_backup_is_of_one_moment_and_lets_others_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    User.objects.create(username="before")
    plain = whole.lines

    def lines_while_others_write(model: Any) -> Iterator[str]:
        if model is not User:
            yield from plain(model)
            return
        in_thread(lambda: User.objects.create(username="meanwhile"))
        yield from plain(model)

    monkeypatch.setattr(whole, "lines", lines_while_others_write)
    made = write_backup(tmp_path / "backup", at=timezone.now())
    assert made["tables"]["auth_user"]["rows"] == 1
    assert User.objects.count() == 2


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    Study.objects.all().delete()
    User.objects.create(username="ada")
    write_backup(tmp_path / "backup", at=timezone.now())
    return tmp_path / "backup"


def rewritten(path: Path, name: str, old: bytes, new: bytes) -> None:
    """Change a file of the archive."""
    with zipfile.ZipFile(path) as archive:
        files = {one: archive.read(one) for one in archive.namelist()}
    assert old in files[name]
    files[name] = files[name].replace(old, new)
    with zipfile.ZipFile(path, "w") as archive:
        for one, content in files.items():
            archive.writestr(one, content)


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        pytest.param("auth_user.jsonl", b'"ada"', b'"eve"', "auth_user: the rows differ", id="another row"),
        pytest.param("auth_user.jsonl", b"[", b"", "no complete backup", id="not JSON"),
        pytest.param(MANIFEST, b'"sessions.0001_initial"', b'"sessions.0009"', "then upgrade", id="another schema"),
        pytest.param(MANIFEST, b'"format": 1', b'"format": 2', "format 2", id="another format"),
    ],
)
def test_a_backup_that_does_not_fit_changes_nothing(backup: Path, name: str, old: bytes, new: bytes, said: str) -> None:
    rewritten(backup, name, old, new)
    User.objects.create(username="kept")
    with pytest.raises(CommandError, match=said):
        restore(backup, "--replace")
    assert User.objects.filter(username="kept").exists()


@pytest.mark.any_engine
def test_a_database_without_its_migrations_is_told_of_them(backup: Path) -> None:
    with undone_at_the_end():
        MigrationRecorder(connection).record_unapplied("sessions", "0001_initial")
        with pytest.raises(CommandError, match="lacks 1 of this version's migrations"):
            restore(backup, "--replace")


@pytest.mark.any_engine
def test_a_file_that_is_cut_off_and_a_database_in_use_are_refused(backup: Path) -> None:
    with pytest.raises(CommandError, match="has studies or accounts"):
        restore(backup)
    backup.write_bytes(backup.read_bytes()[:-100])
    with pytest.raises(CommandError, match="no complete backup"):
        restore(backup, "--replace")
    assert User.objects.get().username == "ada"


def test_a_backup_that_fails_leaves_the_one_before(backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_model: Any) -> Iterator[str]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(whole, "lines", fail)
    before = backup.read_bytes()
    with pytest.raises(OSError, match="No space"):
        write_backup(backup, at=timezone.now())
    assert backup.read_bytes() == before
    assert [file.name for file in backup.parent.iterdir()] == ["backup"]


def test_a_digest_is_of_the_rows_in_any_order_and_of_each_of_them() -> None:
    def digest(*lines: str) -> dict[str, Any]:
        made = Digest()
        for line in lines:
            made.add(line)
        return made.result()

    assert digest('[1, {"a": 1, "b": 2.0}]', "[2]") == digest("[2]", '[1, {"b": 2, "a": 1}]')
    assert digest("[1]", "[2]") != digest("[1]", "[3]")
    assert digest("[1]") != digest("[1]", "[1]")
    assert digest("[1]") != digest("[true]")


def test_every_table_is_in_a_backup() -> None:
    stored = {name for name in connection.introspection.table_names() if not name.startswith("sqlite_")}
    assert stored - {"django_migrations"} == set(tables())
