"""The same domain errors as JSON."""

from typing import Any

from rest_framework.response import Response
from rest_framework.views import exception_handler as default_handler

from annotation.errors import AmendmentNeeded, AnnotationError, BadFields, BadFile, SettingFixed
from annotation.middleware import shown, status_of

MOST_LINES = 1000  # of a bad file: who has more looks at the file first


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Answer a domain error with its own words; leave everything else to the framework."""
    if isinstance(error, AnnotationError):
        return Response({"detail": shown(error), **_more(error)}, status=status_of(error))
    return default_handler(error, context)


def _more(error: AnnotationError) -> dict[str, Any]:
    """What a program needs beside the words: which lines, which fields."""
    if isinstance(error, BadFile):
        listed = [{"number": line.number, "reason": line.reason} for line in error.lines[:MOST_LINES]]
        return {"lines": listed, "bad_lines": len(error.lines)}
    if isinstance(error, BadFields):
        return {"fields": error.fields}
    if isinstance(error, SettingFixed | AmendmentNeeded):
        return {"fields": {name: [error.why] for name in error.fields}}
    return {}
