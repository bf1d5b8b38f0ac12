"""The language that a request is answered in: what the person chose, else what their browser asks for."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils import translation


class LanguageMiddleware(LocaleMiddleware):
    """Translates pages, and pages only: the API, exports and pictures are data, the same in every language."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Speak the source language to programs, whatever their requests' headers say."""
        if hasattr(view, "cls"):  # the REST framework's mark of its own views, which is not imported for pages
            translation.activate(settings.LANGUAGE_CODE)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Tell browsers and caches the language of a page, and that it depends on the reader."""
        if not response.headers.get("Content-Type", "").startswith("text/html"):
            return response
        return super().process_response(request, response)
