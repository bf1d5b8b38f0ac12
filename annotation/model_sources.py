"""Where further models for similarities come from: modules that are loaded when a model is first looked for.

What speaks to models takes memory and time to load, which no web process is to spend at its start.
"""

from importlib import import_module

_MODULES: list[str] = []


def offer_later(module: str) -> None:
    """Have a module's `offer()` called before models are looked for."""
    if module not in _MODULES:
        _MODULES.append(module)


def load() -> None:
    """Let those that were named offer their models; offering them again changes nothing."""
    for module in _MODULES:
        import_module(module).offer()
