"""Run timings of this package, each in the same process and on the same data as what it is compared with.

usage: python -m bench [NAME ...]      all of them when none is named
"""

import importlib
import pkgutil
import sys
from pathlib import Path


def main(wanted: list[str]) -> int:
    """Run `main()` of the modules that were named, or of every one; return 1 when one of them is not there."""
    names = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]) if module.name[0] != "_"]
    if missing := set(wanted) - set(names):
        print(f"no benchmark {', '.join(sorted(missing))}; there are: {', '.join(names)}", file=sys.stderr)
        return 1
    for name in wanted or names:
        importlib.import_module(f"bench.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
