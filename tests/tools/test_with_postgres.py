"""The throwaway PostgreSQL is there for its command, and gone after it."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.tools.helpers import TOOLS, is_running, wait_until

pytestmark = pytest.mark.slow

ASK = """
import json, os, pathlib, sys
import psycopg
with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
    pid = connection.execute("SELECT pg_backend_pid()").fetchone()[0]
    folder = connection.execute("SHOW data_directory").fetchone()[0]
pathlib.Path(sys.argv[1]).write_text(json.dumps([os.environ["DATABASE_URL"], folder]))
"""
WAIT = "import signal; signal.pause()"


def command(*arguments: str, folder: Path, options: tuple[str, ...] = ()) -> list[str]:
    script = [sys.executable, str(TOOLS / "with_postgres.py"), *options]
    return [*script, sys.executable, "-c", *arguments, str(folder / "asked")]


def told(folder: Path) -> tuple[str, Path]:
    url, data = json.loads((folder / "asked").read_text())
    return url, Path(data)


def is_listening(url: str) -> bool:
    address = urlsplit(url)
    with socket.socket() as probe:
        return probe.connect_ex((address.hostname, address.port)) == 0


def test_command_gets_a_database_that_others_cannot_open_and_that_is_gone_afterwards(tmp_path: Path) -> None:
    without = ASK + (
        "import urllib.parse as u\n"
        "a = u.urlsplit(os.environ['DATABASE_URL'])\n"
        "try: psycopg.connect(host=a.hostname, port=a.port, user=a.username, password='wrong', dbname='postgres')\n"
        "except psycopg.OperationalError: sys.exit(5)\n"
    )
    ran = subprocess.run(command(without, folder=tmp_path), capture_output=True, text=True, check=False)
    assert ran.returncode == 5, ran.stderr
    url, data = told(tmp_path)
    assert not is_listening(url)
    assert not data.parent.exists()


@pytest.mark.weekly
def test_terminated_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    process = subprocess.Popen(command(ASK + WAIT, folder=tmp_path, options=("--in-memory",)))
    wait_until(lambda: (tmp_path / "asked").exists() and (tmp_path / "asked").stat().st_size, "the command to run")
    url, data = told(tmp_path)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert not is_listening(url)
    assert not data.parent.exists()


@pytest.mark.weekly
def test_killed_in_the_middle_leaves_no_server(tmp_path: Path) -> None:
    process = subprocess.Popen(command(ASK + WAIT, folder=tmp_path), start_new_session=True)
    try:
        wait_until(lambda: (tmp_path / "asked").exists() and (tmp_path / "asked").stat().st_size, "the command to run")
        url, data = told(tmp_path)
        process.kill()
        process.wait()
        wait_until(lambda: not is_listening(url), "the server to end")
        shutil.rmtree(data.parent)
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # the command, which survives its parent
    assert not is_running(process.pid)
