"""Databases of every release come to the present schema whole, and migrations that old code can't run beside are known."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

from tests.test_release import releases
from tests.tools.helpers import ROOT
from tests.upgrades.releases import RELEASES

APPS = ("annotation", "judging", "reporting")
REMOVING = (
    migrations.RemoveField,
    migrations.RenameField,
    migrations.DeleteModel,
    migrations.RenameModel,
    migrations.AlterModelTable,
)


def stops_old_code(operation: Operation, made: set[str]) -> bool:
    """Tell whether code of before the migration can't read or write any more; it does not know the models in `made`.

    Data migrations and SQL are not judged.
    """
    if isinstance(operation, migrations.SeparateDatabaseAndState):
        return any(stops_old_code(one, made) for one in operation.database_operations)
    if isinstance(operation, REMOVING):
        names = ("model_name_lower", "old_name_lower", "name_lower")
        return next(getattr(operation, name) for name in names if hasattr(operation, name)) not in made
    if not isinstance(operation, migrations.AddField) or operation.model_name_lower in made:
        return False
    field = operation.field  # Django keeps no default in the database, so old code's INSERT would lack the value
    return not (field.null or field.many_to_many or field.has_db_default())


def unsafe_since(leaves: dict[str, str]) -> set[str]:
    """Return the migrations after a release beside which its code can't run."""
    found, made = set(), set()
    for (app, name), migration in sorted(MigrationLoader(None).disk_migrations.items()):
        if app not in APPS or name <= leaves.get(app, ""):
            continue
        made |= {one.name_lower for one in migration.operations if isinstance(one, migrations.CreateModel)}
        if any(stops_old_code(one, made) for one in migration.operations):
            found.add(f"{app}.{name}")
    return found


def test_every_release_has_its_last_migrations_here() -> None:
    assert {version for version, _ in releases()} <= RELEASES.keys()


@pytest.mark.slow
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
    assert told.pop("rows") == 64
    assert told == {"differences": [], "missing": [], "failed": []}


def upgrade(url: str) -> dict[str, object]:
    """Run `tests.upgrades.upgrade` on an empty database."""
    command = [sys.executable, "-m", "tests.upgrades.upgrade"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "DATABASE_URL": url}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return dict(json.loads(done.stdout))


def test_migrations_beside_which_the_release_before_cannot_run_are_named_in_the_documentation() -> None:
    page = (ROOT / "docs" / "howto" / "deploy.md").read_text(encoding="utf-8")
    section = page.partition("## Upgrade\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"`((?:annotation|judging|reporting)\.\d{4}_\w+)`", section)) == unsafe_since(
        RELEASES["0.2.0"]
    )


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
