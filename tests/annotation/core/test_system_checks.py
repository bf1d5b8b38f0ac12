"""A server for others refuses to start while something is missing, and names each thing."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.checks import Tags, run_checks
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder

from annotation.core import system_checks
from annotation.core.system_checks import refuse_unready, unapplied_migrations
from reporting.management.commands import serve
from tests import migrated
from tests.tools.helpers import ROOT

pytestmark = pytest.mark.django_db


@pytest.fixture
def production(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Serve others, and be checked for that only: Django's own checks of all models and addresses take a third of a second."""
    of_servers = partial(run_checks, tags=[Tags.security, Tags.database])
    monkeypatch.setattr(system_checks, "run_checks", of_servers)
    settings.PRODUCTION, settings.ALLOWED_HOSTS, settings.DATA_DIR = True, ["tandem.example.org"], tmp_path
    return settings


@pytest.mark.slow
def test_a_server_that_lacks_nothing_starts(production: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_checks, "run_checks", run_checks)
    refuse_unready()
    assert list(production.DATA_DIR.iterdir()) == []


@pytest.mark.parametrize("hosts", [["localhost"], [], ["tandem.example.org", "*"]])
def test_everything_that_is_missing_is_named_at_once(production: Any, hosts: list[str]) -> None:
    production.DEBUG, production.ALLOWED_HOSTS = True, hosts
    production.DATA_DIR = production.DATA_DIR / "gone"
    MigrationRecorder.Migration.objects.filter(app="sessions").delete()
    with pytest.raises(CommandError) as refused:
        refuse_unready()
    for part in (
        "DEBUG is on",
        "ALLOWED_HOSTS is",
        "gone can't be written to: No such file",
        "migrations: sessions.0001_initial.",
    ):
        assert part in str(refused.value)


def test_a_data_folder_that_others_of_the_machine_can_read_is_told_and_stops_nothing(production: Any) -> None:
    production.DATA_DIR.chmod(0o755)
    assert [found.id for found in system_checks.check_settings()] == ["tandem.W002"]
    refuse_unready()


@pytest.mark.parametrize(
    ("base_url", "mail_from", "words"),
    [
        pytest.param("http://127.0.0.1:8000", "Tandem <t@example.org>", "BASE_URL is http://127.0.0.1:8000", id="E006"),
        pytest.param("https://tandem.example.org", "tandem@localhost", "MAIL_FROM is not", id="E007"),
    ],
)
def test_mail_needs_a_public_address_and_a_sender(
    production: Any, base_url: str, mail_from: str, words: str, request: pytest.FixtureRequest
) -> None:
    production.MAIL_ON, production.BASE_URL, production.DEFAULT_FROM_EMAIL = True, base_url, mail_from
    with pytest.raises(CommandError, match=words) as refused:
        refuse_unready()
    assert str(refused.value).count("(tandem.") == 1
    assert f"(tandem.{request.node.callspec.id})" in str(refused.value)
    production.MAIL_ON = False  # nothing is sent
    refuse_unready()
    production.MAIL_ON, production.BASE_URL = True, "https://tandem.example.org"
    production.DEFAULT_FROM_EMAIL = "Tandem <t@example.org>"
    assert system_checks.check_settings() == []


def test_a_database_that_is_away_is_named(production: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> list[str]:
        raise OperationalError("connection refused")

    monkeypatch.setattr(system_checks, "missing_migrations", away)
    with pytest.raises(CommandError, match="The database can't be reached: connection refused"):
        refuse_unready()


def test_long_lists_of_migrations_are_cut(production: Any) -> None:
    MigrationRecorder.Migration.objects.all().delete()
    with pytest.raises(CommandError, match=r"contenttypes.0001_initial, .* and \d\d more\."):
        refuse_unready()


def test_a_server_for_oneself_is_not_checked(settings: Any) -> None:
    settings.DEBUG, settings.PRODUCTION = True, False
    MigrationRecorder.Migration.objects.filter(app="sessions").delete()
    assert unapplied_migrations() == ["sessions.0001_initial"]
    refuse_unready()


@pytest.fixture
def unheard(production: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `serve` listen nowhere, and keep no counters."""
    production.KEEP_COUNTERS_IN = lambda folder: None
    monkeypatch.setattr(serve, "listen", lambda port: nullcontext(SimpleNamespace(fileno=lambda: 0)))


def newer() -> None:
    """Let a newer version have migrated the database."""
    MigrationRecorder(connection).record_applied("annotation", "0999_of_the_future")
    MigrationRecorder(connection).record_applied("elsewhere", "0001_of_an_app_that_is_gone")


def older() -> None:
    """Let a version before the first release have made the database."""
    MigrationRecorder.Migration.objects.filter(app="judging").delete()
    MigrationRecorder(connection).record_applied("judging", "0001_initial_of_before")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("check", "--database", "default", "--tag", "database"), id="check"),
        pytest.param(("migrate",), id="migrate"),
        pytest.param(("serve",), id="serve"),
        pytest.param(("demo", "--no-serve"), id="demo"),
        pytest.param(("worker", "--batch"), id="worker"),
    ],
)
@pytest.mark.parametrize(
    ("made_by", "code", "in_production"), [(newer, "tandem.E008", True), (older, "tandem.E009", False)]
)
def test_a_database_of_another_version_is_refused(
    production: Any,
    unheard: None,
    made_by: Callable[[], None],
    code: str,
    command: tuple[str, ...],
    in_production: bool,
) -> None:
    made_by()
    production.PRODUCTION = in_production
    with pytest.raises((CommandError, SystemCheckError)) as refused:
        call_command(*command, **({"skip_checks": False} if command[0] == "migrate" else {}))  # as from a shell
    assert re.findall(r"tandem\.E\d+", str(refused.value)) == [code]


def test_serve_migrates_nothing_in_production(production: Any, unheard: None, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []
    monkeypatch.setattr(serve, "call_command", lambda name, **options: called.append(name))
    monkeypatch.setattr(serve, "static_files_are_current", lambda: False)
    monkeypatch.setattr(serve, "connections", SimpleNamespace(close_all=lambda: called.append("close_all")))
    monkeypatch.setattr(serve, "run_together", lambda programs, **options: called.append(list(programs)))
    with pytest.raises(SystemExit):
        call_command("serve", "--web-only")
    assert called == ["first_admin", "collectstatic", "close_all", ["The web server"]]


@pytest.mark.slow
def test_the_deployment_checks_find_nothing_with_the_settings_of_the_guide(tmp_path: Path) -> None:
    migrated.copy_file(tmp_path / "db.sqlite3")
    own = {
        "PRODUCTION": "on",
        "HTTPS_ONLY": "on",
        "ALLOWED_HOSTS": "tandem.example.org",
        "TANDEM_DATA_DIR": str(tmp_path),
    }
    own |= {"DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}", "SECRET_KEY": "".join(map(str, range(50)))}
    command = [sys.executable, "manage.py", "check", "--deploy", "--database", "default", "--fail-level", "WARNING"]
    # Those of models, addresses and the admin are the same whatever the settings, and made above.
    tags = [f"--tag={tag}" for tag in (Tags.security, Tags.database, Tags.caches, Tags.files)]
    subprocess.run([*command, *tags], cwd=ROOT, env={**os.environ, **own}, check=True)
