"""Time and memory of importing large files, and of votes meanwhile, compared with reading and `executemany`.

    BENCH_RATINGS=100000,1000000 .venv/bin/python -m bench imports
    .venv/bin/python tools/with_postgres.py .venv/bin/python -m bench imports     (without the comparison)

Ten ratings an instance, of two texts, in an order by rater. The comparison reads the same file by `csv.DictReader` and stores the
very rows that the import stored by `executemany`, 500 in a transaction, in a copy of the database that was there before.
"""

import csv
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from statistics import quantiles

SIZES = [int(size) for size in os.environ.get("BENCH_RATINGS", "30000,100000").split(",")]
EACH = 10  # ratings an instance
PART = 500  # rows of a transaction
TABLES = ("annotator", "batch", "hit", "hitpair", "assignment", "slot", "display", "rating")
COLUMNS = ("instance_id", "dataset", "system_a", "system_b", "rater", "rating", "shown_first", "rated_at", "reason")


def write_files(folder: Path, ratings: int) -> None:
    """Write a study file, and a file of its ratings."""
    instances = range(ratings // EACH)
    with (folder / "study.jsonl").open("w") as file:
        for n in instances:
            texts = {system: [f"{system} says {n}. " * 12] for system in ("heron", "wren")}
            record = {"instance_id": f"i{n}", "dataset": "talk", "source": f"Talk {n}. " * 30, "generations": texts}
            file.write(json.dumps(record) + "\n")
    with (folder / "ratings.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for turn in range(EACH):
            for n in instances:
                rater, verdict = f"r{n % 97}-{turn}", (n + turn) % 3 - 1
                row = [f"i{n}", "talk", "heron", "wren", rater, verdict, "ab"[n % 2], "2026-03-01T12:00:00Z", "clearer"]
                writer.writerow(row)


def run(*arguments: str) -> "subprocess.Popen[str]":
    """Start a step in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "bench._import_run", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def step(*arguments: str) -> dict[str, float]:
    """Run a step in a process of its own, and return what it measured."""
    output, _ = (process := run(*arguments)).communicate()
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed")
    results: dict[str, float] = json.loads(output.splitlines()[-1])
    return results


def bare_seconds(file: Path, before: Path, after: Path) -> float:
    """Return the processor time of reading a file and storing the rows that its import added."""
    start = time.process_time()
    with file.open(newline="") as lines:
        for _ in csv.DictReader(lines):
            pass
    seconds = time.process_time() - start
    with closing(sqlite3.connect(after)) as source, closing(sqlite3.connect(before, isolation_level=None)) as target:
        target.execute("PRAGMA synchronous = NORMAL")
        for table in TABLES:
            last = target.execute(f"SELECT coalesce(max(id), 0) FROM annotation_{table}").fetchone()[0]
            rows = source.execute(f"SELECT * FROM annotation_{table} WHERE id > {last}")
            insert = f"INSERT INTO annotation_{table} VALUES ({', '.join('?' * len(rows.description))})"
            while part := rows.fetchmany(PART):
                start = time.process_time()
                target.execute("BEGIN IMMEDIATE")
                target.executemany(insert, part)
                target.execute("COMMIT")
                seconds += time.process_time() - start
    return seconds


def told(results: dict[str, float]) -> str:
    """Return a step's time and memory in words."""
    return "{seconds:.0f} s ({processor:.0f} s of a processor), {grown:.0f} MB more".format(**results)


def main() -> None:
    """Import files of several sizes while a rater votes."""
    is_sqlite = "DATABASE_URL" not in os.environ
    for ratings in SIZES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            database = folder / "tandem.sqlite3"
            if is_sqlite:
                os.environ["DATABASE_URL"] = f"sqlite:///{database}"
            os.environ["TANDEM_DATA_DIR"] = name
            write_files(folder, ratings)
            step("prepare")
            voter = run("vote")
            texts = step("import_study", str(folder / "study.jsonl"))
            if is_sqlite:
                with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(folder / "bare")) as copy:
                    source.backup(copy)
            rated = step("import_ratings", str(folder / "ratings.csv"))
            votes = json.loads(voter.communicate("\n")[0].splitlines()[-1])
            cuts = quantiles(votes, n=100)
            print(
                f"{ratings:>9,} ratings: {told(rated)}; {ratings // EACH:,} instances: {told(texts)}; "
                f"{len(votes)} votes meanwhile: p50 {cuts[49]:.0f}, p99 {cuts[98]:.0f}, most {max(votes):.0f} ms"
            )
            if is_sqlite:
                bare = bare_seconds(folder / "ratings.csv", folder / "bare", database)
                print(
                    f"{'':9} reading and executemany: {bare:.0f} s; the import took {rated['processor'] / bare:.1f} times as long",
                    flush=True,
                )
                del os.environ["DATABASE_URL"]
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
