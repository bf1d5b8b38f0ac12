"""The language of a response: the user's choice, else the browser's."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils import translation


class LanguageMiddleware(LocaleMiddleware):
    """Translates pages only: the API, exports and charts are data, the same in every language."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Answer API requests in the source language."""
        if hasattr(view, "cls"):  # a view of the REST framework, which is not imported for pages
            translation.activate(settings.LANGUAGE_CODE)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Set Content-Language and Vary on pages."""
        if not response.headers.get("Content-Type", "").startswith("text/html"):
            return response
        return super().process_response(request, response)
