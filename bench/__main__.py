"""Run the benchmarks of this package.

usage: python -m bench [NAME ...]      without a name: all of them
"""

import importlib
import os
import pkgutil
import sys
from pathlib import Path

import django


def main(wanted: list[str]) -> int:
    """Run `main()` of the named modules, or of all; return 1 for an unknown name."""
    names = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]) if module.name[0] != "_"]
    if missing := set(wanted) - set(names):
        print(f"no benchmark {', '.join(sorted(missing))}; there are: {', '.join(names)}", file=sys.stderr)
        return 1
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()  # before modules with models are imported
    for name in wanted or names:
        importlib.import_module(f"bench.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
