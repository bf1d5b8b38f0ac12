"""The database settings that DATABASE_URL comes to, and keys that are too weak to sign with."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import ConnectionHandler

from config import env

ROOT = Path(__file__).resolve().parent.parent


def options(monkeypatch: pytest.MonkeyPatch, url: str, **settings: Any) -> dict[str, Any]:
    monkeypatch.setattr(env, "DATABASE_URL", url)
    for name, value in settings.items():
        monkeypatch.setattr(env, name, value)
    found = env.database()["OPTIONS"]
    assert isinstance(found, dict)
    return found


def test_postgresql_keeps_the_options_of_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    found = options(monkeypatch, "postgres://somebody@db.example/tandem?sslmode=require&connect_timeout=3")
    assert (found["sslmode"], found["connect_timeout"]) == ("require", 3)
    assert "tcp_keepalives_idle=10" in found["options"]


@pytest.mark.parametrize(("wanted", "threshold"), [(True, 5), (False, None)])
def test_statements_are_prepared_unless_a_pooler_is_in_between(
    monkeypatch: pytest.MonkeyPatch, wanted: bool, threshold: int | None
) -> None:
    found = options(monkeypatch, "postgres://somebody@db.example/tandem", PREPARE_STATEMENTS=wanted)
    assert found["prepare_threshold"] == threshold


def test_redis_is_reached_by_the_parts_of_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "TASKS_URL", "rediss://tandem:p%40ss@redis.example:6380/3")
    _, queues = env.tasks()
    found = [queues["tandem"][name] for name in ("HOST", "PORT", "DB", "USERNAME", "PASSWORD", "SSL")]
    assert found == ["redis.example", 6380, 3, "tandem", "p@ss", True]


@pytest.mark.parametrize(
    ("name", "url", "read"),
    [
        pytest.param("DATABASE_URL", "postgres://tandem:hidden/word@db/tandem", env.database, id="a slash"),
        pytest.param("DATABASE_URL", "tandem:hidden@db/tandem", env.database, id="no scheme"),
        pytest.param("DATABASE_URL", "mysql://tandem:hidden@db/tandem", env.database, id="another engine"),
        pytest.param("TASKS_URL", "redis://:hidden/word@db", env.tasks, id="a slash for Redis"),
        pytest.param("TASKS_URL", "redis://:[hidden@db", env.tasks, id="a bracket for Redis"),
        pytest.param("TASKS_URL", "http://:hidden@redis.example", env.tasks, id="another program than Redis"),
        pytest.param("TASKS_URL", "redis.example:6379", env.tasks, id="no scheme for Redis"),
        pytest.param("TASKS_URL", "redis://", env.tasks, id="no host for Redis"),
    ],
)
def test_an_address_that_cant_be_read_is_refused_without_its_password(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, url: str, read: Callable[[], object]
) -> None:
    monkeypatch.setattr(env, name, url)
    with pytest.raises(SystemExit) as refused:
        read()
    said = capsys.readouterr().err
    assert name in said
    assert "hidden" not in said
    assert refused.value.code == env.CANT_BOOT


def test_a_line_of_env_that_cant_be_read_is_not_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / ".env").write_text("MY API KEY=hidden\n")
    env.env.read_env(tmp_path / ".env")
    assert caplog.messages == ["a line of .env is not NAME=VALUE, and was left out"]


FULL = 2  # as SQLite numbers it


@pytest.mark.slow
@pytest.mark.django_db
def test_every_connection_to_sqlite_waits_until_a_commit_is_on_the_disk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(env, "DATABASE_URL", f"sqlite:///{tmp_path / 'a new folder' / 'tandem.sqlite3'}")
    handler = ConnectionHandler({"default": env.database()})

    def synchronous() -> tuple[int, str]:
        connection = handler["default"]  # each thread has its own
        with connection.cursor() as cursor:
            level = cursor.execute("PRAGMA synchronous").fetchone()[0]
            mode = cursor.execute("PRAGMA journal_mode").fetchone()[0]
        connection.close()
        return level, mode

    with ThreadPoolExecutor(1) as other:
        assert [synchronous(), synchronous(), other.submit(synchronous).result()] == [(FULL, "wal")] * 3


# The key that everything is signed with


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of one's own, and no key in the environment."""
    monkeypatch.setattr(env, "DATA_DIR", tmp_path)
    monkeypatch.delenv("SECRET_KEY", raising=False)
    return tmp_path


def test_a_key_is_made_once_for_its_owner_and_is_no_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = env.secret_key()
    assert len(key) >= 64
    assert env.secret_key() == key
    assert (folder / "secret_key").stat().st_mode & 0o777 == 0o600
    assert [file.name for file in folder.iterdir()] == ["secret_key"]
    (folder / "secret_key").unlink()
    (folder / "secret_key").mkdir()
    with pytest.raises(SystemExit):
        env.secret_key()
    assert "it can't be read: Is a directory" in capsys.readouterr().err


def test_no_key_is_made_in_production(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(env, "PRODUCTION", True)
    with pytest.raises(SystemExit):
        env.secret_key()
    assert "SECRET_KEY can't be used as the secret key: it is not set" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"", "it has 0 characters", id="empty"),
        pytest.param(b"\n" * 64, "it has 0 characters", id="line ends"),
        pytest.param(b"ab", "it has 2 characters", id="two letters"),
        pytest.param(b"abcd" * 16, "it has 64 characters, 4 of them different", id="repeated"),
        pytest.param(b"changeme" * 8, "it says the same again and again", id="a word repeated"),
        pytest.param(b"django-insecure-" + bytes(range(48, 96)), "it begins with django-insecure-", id="of an example"),
        pytest.param(bytes(range(128, 192)), "it is not text in ASCII", id="binary"),
    ],
)
def test_a_file_that_is_no_key_is_refused_in_words_and_kept(
    folder: Path, capsys: pytest.CaptureFixture[str], content: bytes, reason: str
) -> None:
    (folder / "secret_key").write_bytes(content)
    with pytest.raises(SystemExit) as refused:
        env.secret_key()
    assert refused.value.code
    said = capsys.readouterr().err
    assert f"{folder / 'secret_key'} can't be used as the secret key: {reason}" in said
    assert "delete the file" in said
    assert (folder / "secret_key").read_bytes() == content


@pytest.mark.parametrize("in_production", [False, True])
@pytest.mark.parametrize("given", ["Q9", "x" * 64, " " * 64])
def test_a_weak_key_of_the_environment_is_refused_in_words_that_do_not_hold_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: str, in_production: bool
) -> None:
    monkeypatch.setenv("SECRET_KEY", given)
    monkeypatch.setattr(env, "PRODUCTION", in_production)
    with pytest.raises(SystemExit):
        env.secret_key()
    said = capsys.readouterr().err
    assert ("a key is made in" in said) is not in_production  # no key is made there
    assert "SECRET_KEY, from the environment or .env, can't be used as the secret key: it has" in said
    assert given not in said
    assert not (folder / "secret_key").exists()


def test_a_key_of_the_environment_is_taken_as_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "0123456789abcdef" * 2 + "0")
    assert env.secret_key() == "0123456789abcdef" * 2 + "0"


@pytest.mark.slow
@pytest.mark.parametrize("program", [("manage.py", "check"), ("-c", "import config.wsgi")], ids=["command", "server"])
def test_a_program_with_a_broken_key_ends_with_one_message_and_no_stack_trace(
    tmp_path: Path, program: tuple[str, ...]
) -> None:
    (tmp_path / "secret_key").write_bytes(b"\xff" * 64)
    own = {**os.environ, "TANDEM_DATA_DIR": str(tmp_path), "SECRET_KEY": ""}
    ended = subprocess.run([sys.executable, *program], cwd=ROOT, env=own, capture_output=True, text=True, check=False)
    assert ended.returncode == env.CANT_BOOT
    assert "Traceback" not in ended.stderr
    assert ended.stderr.startswith("Tandem can't start: ")
