"""Modules that register further models; imported when a model is first looked for, to keep web processes small."""

from importlib import import_module

_MODULES: list[str] = []


def register_module(module: str) -> None:
    """Have a module's `offer()` called before models are looked for."""
    if module not in _MODULES:
        _MODULES.append(module)


def load() -> None:
    """Call `offer()` of the registered modules; idempotent."""
    for module in _MODULES:
        import_module(module).offer()
