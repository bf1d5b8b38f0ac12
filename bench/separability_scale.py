"""Time and memory of separability by size of the study, and the time of a second run after one change.

    make bench-separability

Two systems with five generations of 60 words each on every instance, in a new SQLite file; each step is a separate
process, whose peak memory is printed. Times are of the service: reading, comparing, normalising and storing.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SIZES = [int(size) for size in os.environ.get("BENCH_MATCHUPS", "1000 10000 100000").split()]
# In addition to rouge1, at the smallest size only.
SIMILARITIES = os.environ.get("BENCH_SIMILARITIES", "bleu").split()
AGAIN = 9  # runs after a change; their median is reported, as each takes a few hundredths of a second only
MOST_MB = 2048
MOST_SHARE = 0.02  # of the first run


def main() -> None:
    """Measure and print."""
    smallest: float | None = None
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            step(folder, "fill", size)
            found = step(folder, "compute", "rouge1", AGAIN)
            each = found["first"]["seconds"] / size
            smallest = smallest or each
            print(
                f"separability of {size:,} matchups by rouge1: {found['first']['seconds']:.2f} s, {each * 1e3:.2f} ms each, "
                f"{each / smallest:.2f} times the first size's; {found['peak_mb']:.0f} MB at most (goal: {MOST_MB})"
            )
            second_runs("rouge1", found)
            for similarity in SIMILARITIES if size == SIZES[0] else ():
                second_runs(similarity, step(folder, "compute", similarity, AGAIN))


def second_runs(similarity: str, found: dict[str, Any]) -> None:
    """Print the time and the processor time of a run after one change, as shares of the first run's."""
    if "error" in found:
        print(f"  {similarity}: {found['error']}")
        return
    first, again = found["first"], found["again"]
    seconds, worked = (median(run[name] for run in again) for name in ("seconds", "processor_seconds"))
    computed = ", ".join(str(run["computed"]) for run in again)
    print(
        f"  {similarity}: first {first['seconds']:.2f} s; after one changed text {seconds * 1e3:.0f} ms, "
        f"{seconds / first['seconds']:.2%} of it, {worked / first['processor_seconds']:.2%} of its processor time "
        f"(goal: below {MOST_SHARE:.0%}); matchups computed: {computed}"
    )


def step(folder: str, *arguments: object) -> Any:
    """Run `bench._separability_run` in a process; return the JSON that it printed."""
    environment = {**os.environ, "DATABASE_URL": "", "TANDEM_DATA_DIR": folder}
    command = [sys.executable, "-m", "bench._separability_run", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
