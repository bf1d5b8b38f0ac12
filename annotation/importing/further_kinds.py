"""Kinds of files that only apps above read: dotted paths of functions.

FURTHER : like `judging.importing.elsewhere.import_upload`
WHOLE   : of archives that are a whole study, like `reporting.bundle.importing.import_upload`; for site admins, since they are large, and
          bring what all studies share
AFTER_REMOVAL : of functions that remove what else an unfinished import left
LEVELS  : of tables whose rows an import may stage, like `judging.importing.services.LEVELS`
"""

FURTHER: dict[str, str] = {}
WHOLE: dict[str, str] = {}
LEVELS: list[str] = []
AFTER_REMOVAL: list[str] = []
