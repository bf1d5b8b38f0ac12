"""Tables of apps above whose rows an import may store: dotted paths.

AFTER_REMOVAL : of functions that remove further rows of an unfinished import
LEVELS        : of tables whose rows an import may stage, like `judging.importing.services.LEVELS`
"""

LEVELS: list[str] = []
AFTER_REMOVAL: list[str] = []
