"""Databases of every release come to the present schema whole, and migrations that old code can't run beside are known."""

import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, migrations, models, transaction
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

from annotation.core.database.old_code import stop_old_code, stops_old_code
from annotation.core.system_checks import check_migrations
from annotation.models import Assignment
from tests.factories import make_annotator, make_batch, make_study
from tests.test_release import releases
from tests.tools.helpers import ROOT
from tests.upgrades.releases import RELEASES


def unsafe_since(leaves: dict[str, str]) -> set[str]:
    """Return the migrations after a release beside which its code can't run."""
    every = sorted(MigrationLoader(None).disk_migrations.items())
    later = [migration for (app, name), migration in every if name > leaves.get(app, "")]
    return set(stop_old_code(later))


def test_every_release_has_its_last_migrations_here() -> None:
    assert {version for version, _ in releases()} <= RELEASES.keys()


@pytest.mark.slow
def test_new_and_upgraded_databases_have_one_schema() -> None:
    """A new one runs the squashed migrations, one of a release those that they replace."""
    new, upgraded = MigrationLoader(None), MigrationLoader(None, replace_migrations=False)
    assert len(new.graph.nodes) < len(upgraded.graph.nodes)
    for start, end in ((new, upgraded), (upgraded, new)):
        changes = MigrationAutodetector(start.project_state(), end.project_state()).changes(upgraded.graph)
        assert changes == {}


@pytest.mark.slow
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
    assert told.pop("rows") == 64
    assert told == {"differences": [], "lost": [], "missing": [], "failed": []}


@pytest.mark.engine
@pytest.mark.django_db
def test_a_lost_constraint_is_restored_unless_annotators_hold_several_hits() -> None:
    migration = import_module("annotation.migrations.0026_one_open_claim_again")
    study = make_study(instances=2)
    annotator, hits = make_annotator(study), list(make_batch(study).hits.all())
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX {migration.NAME}")
    for hit in hits:
        Assignment.objects.create(hit=hit, annotator=annotator)
    editor = connection.schema_editor()
    with pytest.raises(RuntimeError, match=f"more than one HIT: {annotator.code} of {study.slug}\\."):
        migration.restore(apps, editor)
    Assignment.objects.latest("pk").delete()
    connection.check_constraints()  # PostgreSQL makes no index while deferred ones wait
    migration.restore(apps, editor)
    migration.restore(apps, editor)  # finds it
    with pytest.raises(IntegrityError, match=r"(?i)unique"), transaction.atomic():
        Assignment.objects.create(hit=hits[1], annotator=annotator)


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


@pytest.mark.django_db
def test_the_check_before_an_upgrade_names_what_web_servers_must_be_stopped_for(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PRODUCTION = True
    loader = MigrationLoader(None)
    for name, warned in (("0018_render_math", True), ("0025_mail", False)):
        migration = loader.disk_migrations["annotation", name]
        monkeypatch.setattr("annotation.core.system_checks.missing_migrations", lambda migration=migration: [migration])
        found = {one.id: one for one in check_migrations(databases=["default"])}
        assert "tandem.E005" in found
        assert ("tandem.W001" in found) is warned
        assert not warned or f"annotation.{name}" in found["tandem.W001"].msg
