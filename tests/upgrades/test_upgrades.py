"""Databases of every release come to the present schema whole, and migrations that old code can't run beside are known."""

import json
import os
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, migrations, models
from django.db.migrations import Migration
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

from annotation.core.system_checks import APPS, check_migrations, stop_old_code, stops_old_code
from tests.test_release import releases
from tests.tools.helpers import ROOT
from tests.upgrades.releases import RELEASES

pytestmark = pytest.mark.slow

some_release = pytest.mark.skipif(not RELEASES, reason="nothing is released")


def test_every_release_has_its_last_migrations_here() -> None:
    assert {".".join(map(str, version)) for version, _ in releases()} == RELEASES.keys()


@pytest.mark.parametrize("app", APPS)
def test_initial_migration_is_named_after_its_content(app: str) -> None:
    """So that a database that an earlier content made has a name that the code lacks, and is refused."""
    files = sorted((ROOT / app / "migrations").glob("0001_*.py"))
    assert [file.stem for file in files] == [f"0001_initial_{sha256(files[0].read_bytes()).hexdigest()[:6]}"]


@some_release
@pytest.mark.weekly
@pytest.mark.django_db
def test_rows_of_every_release_are_there_after_migrating(tmp_path: Path) -> None:
    if connection.vendor == "sqlite":
        told = upgrade(f"sqlite:///{tmp_path / 'old.sqlite3'}")
    else:
        given = connection.settings_dict
        with connection._nodb_cursor() as cursor:
            cursor.execute("DROP DATABASE IF EXISTS tandem_upgraded")
            cursor.execute("CREATE DATABASE tandem_upgraded")
        try:
            login = f"{given['USER']}:{given['PASSWORD']}@{given['HOST']}:{given['PORT']}"
            told = upgrade(f"postgres://{login}/tandem_upgraded")
        finally:
            with connection._nodb_cursor() as cursor:
                cursor.execute("DROP DATABASE tandem_upgraded")
    assert told.pop("rows") == 1 + 21 * len(RELEASES)  # a group, and a study of each
    assert told == {"differences": [], "lost": [], "missing": [], "failed": []}


def upgrade(url: str) -> dict[str, object]:
    """Run `tests.upgrades.upgrade` on an empty database."""
    command = [sys.executable, "-m", "tests.upgrades.upgrade"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "DATABASE_URL": url}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return dict(json.loads(done.stdout))


@some_release
def test_migrations_beside_which_the_release_before_cannot_run_are_named_in_the_documentation() -> None:
    leaves = list(RELEASES.values())[-1]
    every = sorted(MigrationLoader(None).disk_migrations.items())
    unsafe = stop_old_code([migration for (app, name), migration in every if name > leaves.get(app, "")])
    page = (ROOT / "docs" / "howto" / "deploy.md").read_text(encoding="utf-8")
    section = page.partition("## Upgrade\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"`((?:annotation|judging|reporting)\.\d{4}_\w+)`", section)) == set(unsafe)


@pytest.mark.parametrize(
    ("operation", "stops"),
    [
        pytest.param(migrations.RemoveField("study", "title"), True, id="drops a column"),
        pytest.param(migrations.RenameField("study", "title", "name"), True, id="renames a column"),
        pytest.param(migrations.DeleteModel("Study"), True, id="drops a table"),
        pytest.param(migrations.RenameModel("Study", "Trial"), True, id="renames a table"),
        pytest.param(migrations.RemoveField("new", "title"), False, id="drops a column that no release has"),
        pytest.param(migrations.AddField("study", "n", models.IntegerField(default=1)), True, id="needs a value"),
        pytest.param(migrations.AddField("study", "n", models.IntegerField(null=True)), False, id="may be empty"),
        pytest.param(
            migrations.AddField("study", "n", models.IntegerField(db_default=1)), False, id="the database has a default"
        ),
        pytest.param(
            migrations.SeparateDatabaseAndState([migrations.RemoveField("study", "title")]), True, id="inside another"
        ),
        pytest.param(
            migrations.SeparateDatabaseAndState(state_operations=[migrations.RemoveField("study", "title")]),
            False,
            id="in the state only",
        ),
    ],
)
def test_rule_tells_which_operations_old_code_survives(operation: Operation, stops: bool) -> None:
    assert stops_old_code(operation, {"new"}) is stops


@pytest.mark.django_db
def test_the_check_before_an_upgrade_names_what_web_servers_must_be_stopped_for(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PRODUCTION = True
    drops, adds = Migration("0002_drops", "annotation"), Migration("0003_adds", "annotation")
    drops.operations = [migrations.RemoveField("study", "title")]
    adds.operations = [migrations.AddField("study", "n", models.IntegerField(null=True))]
    for to_come, warned in ((adds, False), (drops, True)):
        monkeypatch.setattr("annotation.core.system_checks.missing_migrations", lambda to_come=to_come: [to_come])
        found = {one.id: one for one in check_migrations(databases=["default"])}
        assert "tandem.E005" in found
        assert ("tandem.W001" in found) is warned
        assert not warned or "annotation.0002_drops" in found["tandem.W001"].msg
