"""What a web process loads before its first request: all pages, and nothing that only judges and measures need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from config import __main__

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
WORKERS = ("reporting.bundle.importing", "reporting.downloads.making", "reporting.findings.computing")
IMPORTERS = (
    "annotation.importing.uploads",
    "judging.importing.services",
    "reporting.uploads.files",
    "xml.etree.ElementTree",
)
CLIENTS = ("aiohttp", "openai", "pydantic", "tenacity")
HEAVY = (*CLIENTS, "markdown_it", "nltk", "tokenizers", "scipy", "rest_framework", *WORKERS, *IMPORTERS)


def loaded_by(program: str, modules: tuple[str, ...]) -> str:
    """Run some lines in a process of their own after the web server's entry point; say which modules are loaded."""
    return told_by(f"import sys, config.wsgi\n{program}\nprint([name for name in {modules} if name in sys.modules])")


def told_by(program: str) -> str:
    """Run some lines in a process of their own; return what they print."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}
    started = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return started.stdout.strip()


def test_every_process_reads_stored_reasons() -> None:
    codes = ["answer_empty", "bad_line", "host_not_public", "nul_character"]  # of every module that has texts
    program = "import django; django.setup(); from annotation.core.reasons import TEXTS"
    assert told_by(f"{program}; print([code for code in {codes} if code in TEXTS])") == str(codes)


@pytest.mark.weekly
def test_web_process_has_its_pages_loaded_when_it_forks_and_no_clients_and_nothing_open() -> None:
    pages = ("annotation.batches.views", "judging.urls", "annotation.templatetags.tandem")
    nothing_that_a_fork_would_break = """
import threading
from django.db import connections
assert threading.active_count() == 1, threading.enumerate()
assert all(connection.connection is None for connection in connections.all(initialized_only=True))
"""
    installed = "from annotation.separability.forms import ComputeSeparability; ComputeSeparability().known_models()"
    unknown_address = (
        "\nfrom django.urls import get_resolver\nget_resolver('config.page_urls').resolve_error_handler(404)"
    )
    program = nothing_that_a_fork_would_break + installed + unknown_address
    assert loaded_by(program, HEAVY + pages) == str(list(pages))


@pytest.mark.parametrize(
    ("command", "given", "threads"), [("worker", None, "1"), ("worker", "3", "3"), ("check", None, None)]
)
def test_a_worker_has_one_thread_for_linear_algebra(
    command: str, given: str | None, threads: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str | None] = []
    monkeypatch.setattr("sys.argv", ["manage.py", command])
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", given or "")
    if given is None:
        monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    monkeypatch.setattr(
        __main__, "execute_from_command_line", lambda _: seen.append(os.environ.get("OPENBLAS_NUM_THREADS"))
    )
    __main__.main()
    assert seen == [threads]
