"""Run every timing in this package, each in the same process and on the same data as what it is compared with."""

import importlib
import pkgutil
import sys
from pathlib import Path


def main() -> int:
    """Run `main()` of every module here; return 1 when there is none."""
    names = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]) if module.name[0] != "_"]
    for name in names:
        importlib.import_module(f"bench.{name}").main()
    return 0 if names else 1


if __name__ == "__main__":
    sys.exit(main())
