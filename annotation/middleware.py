"""Turns domain errors into pages, so that no view has to catch them."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from annotation.errors import AnnotationError, BadFile, UnknownName, UnknownStudy


class DomainErrorMiddleware:
    """Answers an `AnnotationError` with its own words: 404 for unknown names, 422 for bad files, else 409."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Render the error as a page, or as a card when htmx asked."""
        if not isinstance(error, AnnotationError):
            return None
        template = "error.html#card" if getattr(request, "htmx", False) else "error.html"
        return render(request, template, {"message": str(error)}, status=status_of(error))


def status_of(error: AnnotationError) -> int:
    """HTTP status that says what kind of refusal this is."""
    if isinstance(error, UnknownStudy | UnknownName):
        return 404
    if isinstance(error, BadFile):
        return 422
    return 409
