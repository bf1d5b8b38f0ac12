"""The full stress runs: PostgreSQL with four server processes, SQLite with one of eight threads."""

import os
import subprocess
import sys
import time

from tests.stress.run import ROOT, Plan, stress, violations

ON_POSTGRESQL = Plan(raters=50, hits=120, raters_per_hit=5, processes=4, threads=2)
ON_SQLITE = Plan(raters=50, hits=60, raters_per_hit=5, processes=1, threads=8, kill_every=500)


def run(name: str, plan: Plan, database_url: str = "") -> None:
    """Do one run and print its counts; exit with the violations, if there are any."""
    begun = time.perf_counter()
    counted, seen = stress(plan, database_url)
    took = time.perf_counter() - begun
    print(f"{name}: {plan.raters} raters, {plan.processes} processes of {plan.threads} threads, {took:.0f} s")
    print("  " + ", ".join(f"{what}: {times}" for what, times in sorted(seen.steps.items())))
    print(f"  assignments: {counted['states']}")
    print(f"  ratings per pair: {counted['ratings_per_pair']}; confirmed votes: {len(seen.acknowledged)}")
    if found := violations(plan, counted, seen):
        raise SystemExit("\n".join(["violations:", *found[:20]]))
    print("  every pair has exactly the wanted number of ratings; none is lost or doubled")
    sys.stdout.flush()


def main() -> None:
    """Run on SQLite, then on a temporary PostgreSQL."""
    if sys.argv[1:] == ["--postgresql"]:
        run("PostgreSQL", ON_POSTGRESQL, os.environ["DATABASE_URL"])
        return
    run("SQLite", ON_SQLITE)
    again = [sys.executable, "tools/with_postgres.py", sys.executable, "-m", "tests.stress", "--postgresql"]
    raise SystemExit(subprocess.run(again, cwd=ROOT, check=False).returncode)


if __name__ == "__main__":
    main()
