"""What the tests of the tools share: waiting without a fixed pause, and looking at processes."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
PATIENCE = 60.0  # seconds; only a failing test waits that long


def wait_until(holds: Callable[[], object], what: str) -> None:
    """Return as soon as `holds()` is true; fail when it does not become so."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE:.0f} s in vain: {what}")
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Tell whether a process does anything still; a zombie does not."""
    if Path("/proc/self/stat").exists():
        try:
            state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2]
        except (FileNotFoundError, ProcessLookupError):
            return False
    else:
        asked = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
        state = asked.stdout
    return state.strip()[:1] not in ("", "Z", "X")


def read_pid(file: Path) -> int | None:
    """Return the number that a stand-in program wrote into a file of its own, once it has."""
    text = file.read_text(encoding="ascii") if file.exists() else ""
    return int(text) if text.endswith("\n") else None


def kill_if_running(pid: int | None) -> None:
    """Leave nothing behind, whatever the test came to."""
    if pid is not None and is_running(pid):
        os.kill(pid, 9)
