"""Tables of apps above whose rows an import may store: dotted paths.

BEFORE_REMOVAL : of functions that remove further rows of a study that is deleted, which is handed to them
AFTER_REMOVAL : of functions that remove further rows of an unfinished import
LEVELS        : of tables whose rows an import may stage, like `judging.importing.services.LEVELS`
"""

LEVELS: list[str] = []
BEFORE_REMOVAL: list[str] = []
AFTER_REMOVAL: list[str] = []
