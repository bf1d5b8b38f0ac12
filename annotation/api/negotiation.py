"""Content negotiation of the API, which sends JSON to every client."""

from typing import Any

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request


class FirstRenderer(BaseContentNegotiation):
    """Answers JSON to every client: a schema that holds has no further content types, and no 406."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        """Return the parser of the body's media type, or None for one that is not taken."""
        media = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == media), None)

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        """Return the first renderer, with its media type."""
        return renderers[0], renderers[0].media_type
