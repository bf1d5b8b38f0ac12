"""What the tests of the tools share: waiting without a fixed pause, and looking at processes."""

import os
import re
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
PATIENCE = 120.0  # seconds; only a failing test waits that long


def wait_until(holds: Callable[[], object], what: str) -> None:
    """Return as soon as `holds()` is true; fail when it does not become so."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE:.0f} s in vain: {what}")
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    """Tell whether a process does anything still; a zombie does not."""
    return any(found == pid and state not in ("Z", "X") for found, state, _ in processes())


def processes() -> list[tuple[int, str, int]]:
    """Return id, state and parent's id of every process."""
    if not Path("/proc/self/stat").exists():
        listed = subprocess.run(["ps", "-A", "-o", "pid=,stat=,ppid="], capture_output=True, text=True, check=True)
        rows = [line.split() for line in listed.stdout.splitlines()]
        return [(int(pid), state[0], int(parent)) for pid, state, parent in rows]
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = file.read_text(errors="replace").rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            continue
        found.append((int(file.parent.name), state, int(parent)))
    return found


def read_pid(file: Path) -> int | None:
    """Return the number that a stand-in program wrote into a file of its own, once it has."""
    text = file.read_text(encoding="ascii") if file.exists() else ""
    return int(text) if text.endswith("\n") else None


def kill_if_running(pid: int | None) -> None:
    """Leave nothing behind, whatever the test came to."""
    if pid is not None and is_running(pid):
        os.kill(pid, 9)


def sign_in(link: str) -> str:
    """Open a one-time link and press its button, as a browser does; return the path that it leads to."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with browser.open(link, timeout=60) as page:
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.read().decode())
    assert token is not None
    with browser.open(link, f"csrfmiddlewaretoken={token[1]}".encode(), timeout=60) as page:
        return str(urllib.parse.urlsplit(page.url).path)


def try_links_of_the_demo(said: str) -> None:
    """Sign in by each of the links that the demo has printed."""
    for role in ("admin", "researcher", "annotator"):
        link = re.search(rf"^ +{role} +(\S+)$", said, re.MULTILINE)
        assert link is not None, said
        path = sign_in(link[1].replace("localhost", "127.0.0.1"))
        assert path.startswith("/rate/" if role == "annotator" else "/studies/")


def descendants(pid: int) -> list[int]:
    """Return the ids of all processes below a process."""
    everything = processes()
    found, fresh = [], [pid]
    while fresh:
        fresh = [child for child, _, parent in everything if parent in fresh]
        found += fresh
    return found
