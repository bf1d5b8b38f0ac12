"""The same domain errors as JSON."""

from typing import Any

from rest_framework.response import Response
from rest_framework.views import exception_handler as default_handler

from annotation.errors import AnnotationError
from annotation.middleware import status_of


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Answer a domain error with its own words; leave everything else to the framework."""
    if isinstance(error, AnnotationError):
        return Response({"detail": str(error)}, status=status_of(error))
    return default_handler(error, context)
