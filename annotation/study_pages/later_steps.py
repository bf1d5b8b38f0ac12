"""Steps of a study that only apps above know: dotted paths of the functions that make them, in the order of the list."""

LATER: list[str] = []
