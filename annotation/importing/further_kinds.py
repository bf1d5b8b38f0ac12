"""Kinds of files that only apps above read: dotted paths of functions.

FURTHER : like `judging.importing.elsewhere.import_upload`
WHOLE   : of archives that are a whole study, like `reporting.bundle.importing.import_upload`; for site admins, since they are large, and
          bring what all studies share
"""

FURTHER: dict[str, str] = {}
WHOLE: dict[str, str] = {}
