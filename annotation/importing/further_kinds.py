"""Kinds of files that only apps above read: dotted paths of functions like `judging.importing.elsewhere.import_upload`."""

FURTHER: dict[str, str] = {}
