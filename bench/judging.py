"""Speed, memory and repeated calls of a judge's run, relative to the full speed of its endpoint.

    make bench-judging

The endpoint is the stand-in of the tests, a separate process that answers after half a second or two. Each run is a
process, as with `run_judge`; the start of Python is not counted.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.standin.process import StandInProcess, running

ROOT = Path(__file__).resolve().parent.parent
DELAY = 0.5
# Of a run at the endpoint's full speed: long enough that its first and last calls count little.
SECONDS = float(os.environ.get("BENCH_SECONDS", "30"))
CELLS = int(os.environ.get("BENCH_CELLS", "100000"))  # of the large run
TROUBLED = int(os.environ.get("BENCH_TROUBLED", "10000"))
# Calls in flight and seconds of a call → judgments a second, as a share of the full speed.
GOALS = {(16, DELAY): 0.9, (64, DELAY): 0.9, (256, DELAY): 0.75, (256, 4 * DELAY): 0.92}
ASKED_TIMES = 8  # calls of the judge `several` about a pair
KILLED_AT, KILLED_CELLS = 64, 2000


@dataclass
class Installation:
    """A new database, and the environment of the processes that use it."""

    name: str
    environment: dict[str, str]
    standin: StandInProcess

    def run(self, *arguments: object) -> Any:
        """Run `bench._judging_run` in a process; return the JSON that it printed."""
        done = subprocess.run(
            self.command(*arguments), cwd=ROOT, env=self.environment, check=False, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(done.stderr[-3000:])
        return json.loads(done.stdout or "null")

    def command(self, *arguments: object) -> list[str]:
        """Return the command line of a `bench._judging_run` process."""
        return [sys.executable, "-m", "bench._judging_run", *map(str, arguments)]

    def fill(self, study: str, pairs: int) -> None:
        """Make a study."""
        self.run("fill", study, pairs, self.standin.base_url)

    def say(self, text: str) -> None:
        """Print a line under the database's name."""
        print(f"{self.name:<10} {text}", flush=True)


def measure_speed(at: Installation) -> None:
    """Compare judgments a second with the endpoint's full speed."""
    for (in_flight, delay), goal in GOALS.items():
        full, study = in_flight / delay, f"speed-{in_flight}-{delay:g}"
        at.standin.reset()
        at.standin.behave(delay=delay)
        at.fill(study, int(full * SECONDS))
        run = at.run("judge", study, "judge", in_flight)
        at.say(
            f"{in_flight:>3} in flight, {delay:g} s a call: {run['verdicts'] / run['seconds'] / full:5.1%} of full speed "
            f"(goal {goal:.0%}), {1000 * (run['cpu'] - run['cpu_before']) / run['verdicts']:.2f} ms of processor a judgment"
        )


def measure_prefixes(at: Installation) -> None:
    """Compare judgments a second with the full speed where a pair's calls share prefixes, which the endpoint caches."""
    for in_flight in (64, 256):
        pairs = int(in_flight / DELAY * SECONDS / ASKED_TIMES)
        at.standin.reset()
        at.standin.behave(prefix_cache=True)
        at.fill(f"prefixes-{in_flight}", pairs)
        at.standin.forget()
        ours = at.run("judge", f"prefixes-{in_flight}", "several", in_flight)
        told = at.standin.stats()
        at.say(
            f"{in_flight:>3} in flight, shared prefixes: {ours['verdicts'] / ours['seconds'] * DELAY / in_flight:5.1%} of full "
            f"speed (goal {GOALS[in_flight, DELAY]:.0%}); {told['cached_tokens'] / told['prompt_tokens']:.0%} of the prompts' tokens from "
            f"the cache, at a tenth of the price: cost {ours['cost'] / (told['prompt_tokens'] + 2 * told['completion_tokens']) * 1e6:.0%}"
        )


def measure_size(at: Installation) -> None:
    """Run a judge on many cells, then an equal one, which finds every answer in the cache."""
    at.standin.behave(delay=0.0)
    at.fill("large", CELLS)
    first = at.run("judge", "large", "judge", 64)
    at.say(f"{CELLS:,} cells asked: {first['seconds']:.0f} s, {first['megabytes']:.0f} MB at most (goal 200)")
    asked = at.standin.stats()["calls"]
    second = at.run("judge", "large", "twin", 64)
    at.say(
        f"{CELLS:,} cells from the cache: {at.standin.stats()['calls'] - asked} calls, {second['megabytes']:.0f} MB, "
        f"{second['seconds']:.1f} s after {second['cells_made']:.1f} s for making the cells (goal: 60 together)"
    )
    again = at.run("judge", "large", "judge", 64)
    at.say(f"the same run once more: {again['calls']} calls, {again['cells_made'] + again['seconds']:.1f} s")


def measure_trouble(at: Installation) -> None:
    """Count calls per verdict when 10 % of the calls are answered 429 and 5 % are answered 500."""
    at.standin.reset()
    at.standin.behave(delay=0.1, too_many=0.1, error=0.05)
    at.fill("trouble", TROUBLED)
    took = at.run("judge", "trouble", "judge", 64)
    at.say(
        f"{TROUBLED:,} verdicts with 10 % 429 and 5 % 500: {TROUBLED - took['verdicts']} lost, "
        f"{took['calls'] / max(1, took['verdicts']):.3f} calls for each (goal 1.2), {took['seconds']:.0f} s"
    )


def measure_kill(at: Installation) -> None:
    """Kill a run half-way, restart it, and count the repeated calls."""
    at.standin.reset()
    at.fill("kill", KILLED_CELLS)
    at.standin.forget()
    process = subprocess.Popen(
        at.command("judge", "kill", "judge", KILLED_AT), cwd=ROOT, env=at.environment, stdout=subprocess.DEVNULL
    )
    while at.standin.stats()["calls"] < KILLED_CELLS / 2:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    took = at.run("judge", "kill", "judge", KILLED_AT)
    repeated = at.standin.stats()["repeated"]
    at.say(f"killed half-way with {KILLED_AT} in flight: {repeated} calls repeated, {took['verdicts']:,} verdicts")


@contextmanager
def installation(name: str, database_url: str) -> Iterator[Installation]:
    """Run a stand-in beside an empty database."""
    with tempfile.TemporaryDirectory() as folder, running(delay=DELAY, keep=0) as standin:
        environment = {
            **os.environ,
            "TANDEM_DATA_DIR": folder,
            "DATABASE_URL": database_url.format(folder=folder),
            "ENDPOINT_ALLOWLIST": "127.0.0.1",
            "LOG_LEVEL": "ERROR",
        }
        yield Installation(name, environment, standin)


def measure(name: str, database_url: str) -> None:
    """Measure everything on one database."""
    with installation(name, database_url) as at:
        measure_speed(at)
        measure_prefixes(at)
        measure_kill(at)
        measure_trouble(at)
        measure_size(at)


def main() -> None:
    """Measure on SQLite, then, where it is installed, on a temporary PostgreSQL."""
    measure("SQLite", "sqlite:///{folder}/bench.sqlite3")
    postgres = [sys.executable, "tools/with_postgres.py", sys.executable, "-m", "bench.judging"]
    subprocess.run(postgres, cwd=ROOT, check=False)  # prints a message when PostgreSQL is missing


if __name__ == "__main__":
    measure("PostgreSQL", os.environ["DATABASE_URL"])
