"""A real small language model on loopback for the tests of this folder, and the table of what each method came to."""

import os
import re
import secrets
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / ".venv" / "small-model"
KEY_NAME = "SMALL_MODEL_KEY"
COLUMNS = (
    *("method".ljust(16), "held to its form by", "read", "asked", "parsed", "expected", "unparsed", "refused", "calls"),
    "seconds",
)
Row = tuple[str, ...]
HAS_HEAD = pytest.StashKey[bool]()


@dataclass(frozen=True)
class SmallModel:
    """The server: where it listens, and what it has done so far."""

    address: str
    key: str

    @property
    def base_url(self) -> str:
        """The address to configure an endpoint with."""
        return f"{self.address}/v1"

    def tokens(self) -> int:
        """Return how many tokens it has read and written by its own count; calls that it never got don't move it."""
        asked = urllib.request.Request(f"{self.address}/metrics", headers={"Authorization": f"Bearer {self.key}"})
        with urllib.request.urlopen(asked, timeout=30) as answer:
            told = answer.read().decode()
        counters = "prompt_tokens_total|prompt_tokens_cached_total|tokens_predicted_total"
        found = re.findall(rf"(?m)^llamacpp:(?:{counters}) (\d+)$", told)
        assert len(found) == 3, told
        return sum(map(int, found))


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallModel]:
    """Serve the model until the last test is through."""
    if not (PACKAGES / "stamp").exists():
        pytest.fail("the small model is not installed: `make test-llm` does that, or sh tools/get_small_model.sh")
    key, log = secrets.token_hex(16), tmp_path_factory.mktemp("small-model") / "server.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("server.py")],
            env={**os.environ, "PYTHONPATH": str(PACKAGES), KEY_NAME: key},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        if not address:
            pytest.fail(f"the server did not start:\n{log.read_text(errors='replace')[-2000:]}")
        yield SmallModel(address, key)
    finally:
        process.stdin.close()
        process.wait(timeout=60)
        process.stdout.close()


@pytest.fixture
def key_name(small_model: SmallModel, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name the variable that holds the server's key while a test runs."""
    monkeypatch.setenv(KEY_NAME, small_model.key)
    return KEY_NAME


@pytest.fixture
def say_row(pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]) -> Callable[[Row], None]:
    """Print a row of the table, in the order of `COLUMNS`, at once, so that stopped tests leave those that have ended."""
    reporter = pytestconfig.pluginmanager.get_plugin("terminalreporter")

    def say(row: Row) -> None:
        head = [] if pytestconfig.stash.get(HAS_HEAD, False) else [COLUMNS]
        pytestconfig.stash[HAS_HEAD] = True
        with capsys.disabled():
            for first, *others in [*head, row]:
                cells = [cell.rjust(len(name)) for cell, name in zip(others, COLUMNS[1:], strict=True)]
                reporter.ensure_newline()
                reporter.write_line("  ".join([first.ljust(len(COLUMNS[0])), *cells]))

    return say
