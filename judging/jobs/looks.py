"""Checks of apps above that a worker makes whenever it requeues tasks: dotted paths of functions, called with the time."""

LOOKS_ABOVE: list[str] = []
