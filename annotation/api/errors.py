"""Errors as JSON responses."""

from typing import Any

from rest_framework.exceptions import ValidationError
from rest_framework.response import Response
from rest_framework.views import exception_handler as default_handler

from annotation.core.errors import AmendmentNeeded, AnnotationError, BadFields, BadFile, SettingFixed
from annotation.core.http import error_text, status_of
from annotation.core.middleware import HEADERS, UNAVAILABLE, log_unavailable, message_for

MOST_LINES = 1000  # listed of a bad file


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Handle domain errors and an unavailable database, and leave others to the framework."""
    if isinstance(error, AnnotationError):
        return Response({"detail": error_text(error), **_more(error)}, status=status_of(error))
    if isinstance(error, UNAVAILABLE):
        request = context["request"]
        log_unavailable(request, error)
        return Response({"detail": message_for(request.method, error)}, status=503, headers=HEADERS)
    if isinstance(error, ValidationError) and isinstance(error.detail, dict):  # of filters
        fields = {name: [str(problem) for problem in problems] for name, problems in error.detail.items()}
        return Response(
            {"detail": "; ".join(" ".join(texts) for texts in fields.values()), "fields": fields}, status=400
        )
    return default_handler(error, context)


def _more(error: AnnotationError) -> dict[str, Any]:
    """Return an error's lines or fields, for programs."""
    if isinstance(error, BadFile):
        listed = [
            {"number": line.number, "code": line.reason.code, "reason": line.text} for line in error.lines[:MOST_LINES]
        ]
        return {"lines": listed, "bad_lines": len(error.lines)}
    if isinstance(error, BadFields):
        return {"fields": error.fields}
    if isinstance(error, SettingFixed | AmendmentNeeded):
        return {"fields": {name: [error.why] for name in error.fields}}
    return {}
