"""Measures as pure functions: arrays in, arrays or frozen dataclasses out.

Each room holds the measures of one subject. The modules beside them hold types, errors and groups of rows for all rooms.
Functions and classes are found from here too, as in `from analysis import krippendorff_alpha`.
"""

import importlib
import pkgutil
from typing import Any


def __getattr__(name: str) -> Any:
    """Return a public function or class of any room. Rooms are imported when asked for, since few processes need NumPy."""
    if not name.startswith("_") and name not in {module.name for module in pkgutil.iter_modules(__path__)}:
        for module in pkgutil.walk_packages(__path__, f"{__name__}."):
            value = getattr(importlib.import_module(module.name), name, None)
            if getattr(value, "__module__", None) == module.name:
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
