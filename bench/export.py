"""Exports of 100,000 and of 1,000,000 ratings beside the bare rows of the same query, and a bundle with its verification.

Processor seconds, and how much the memory of the process grows at most.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench._findings_study import PAIRS, PEOPLE

RATINGS = (100_000, 1_000_000)


def main() -> None:
    """Print a table for each number of ratings."""
    for ratings in RATINGS:
        print(f"\n{ratings:,} ratings")
        print(f"{'':16}{'seconds':>10}{'× bare':>10}{'MB grown':>10}{'MB written':>12}")
        found = run(ratings // PAIRS // PEOPLE, with_bundle=ratings == RATINGS[0])
        bare = found["bare rows"][0]
        for name, (seconds, grown, size) in found.items():
            print(f"{name:16}{seconds:10.2f}{seconds / bare:10.2f}{grown:10.1f}{size / 2**20:12.1f}")


def run(instances: int, *, with_bundle: bool) -> dict[str, list[float]]:
    """Measure in a process of its own, on an empty SQLite database."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "out").mkdir()
        environment = {
            **os.environ,
            "TANDEM_DATA_DIR": folder,
            "DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3",
            "SECRET_KEY": "only for this benchmark, which serves nothing at all",
        }
        command = [sys.executable, "-m", "bench._export_study", str(instances), f"{folder}/out"]
        command += ["bundle"] if with_bundle else []
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return found
