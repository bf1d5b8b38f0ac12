"""Both runs with faults, on SQLite and PostgreSQL; the arguments choose one."""

import signal
import sys

from tests.faults.machine import FaultImpossible
from tests.faults.run import faults


def main() -> int:
    """Do the runs; return the exit code."""
    code = 0
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))  # ends the programs that it started
    for engine in sys.argv[1:] or ["SQLite", "PostgreSQL"]:
        try:
            lines, broken = faults(engine)
        except FaultImpossible as impossible:
            print(f"{engine}: {impossible}", flush=True)
            return 1
        print("\n".join(lines))
        print("\n".join(["  VIOLATIONS:", *broken[:20]] if broken else ["  nothing acknowledged is lost or doubled"]))
        sys.stdout.flush()
        code |= bool(broken)
    return code


if __name__ == "__main__":
    sys.exit(main())
