"""Lists of the API, in JSON, by pages: the next one begins after the last row's key, whatever comes or goes before it."""

from collections.abc import Collection
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from rest_framework.exceptions import NotFound, ParseError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response

PAGE_SIZE, LARGEST_PAGE = 100, 1000


class KeyPagination(CursorPagination):
    """Rows after a key. The first page has the total count."""

    page_size = PAGE_SIZE
    max_page_size = LARGEST_PAGE
    page_size_query_param = "page_size"
    page_size_query_description = f"Rows on a page, at most {LARGEST_PAGE}."
    count: int | None = None

    def get_page_size(self, request: Request) -> int:
        """Return the page size that is asked for.

        Raises: ParseError for one that can't be had.
        """
        return number_asked(request, "page_size", PAGE_SIZE, minimum=1, maximum=LARGEST_PAGE)

    def get_ordering(self, request: Request, queryset: QuerySet[Any], view: Any) -> tuple[str, ...]:
        return tuple(str(field) for field in queryset.query.order_by)

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        """Return the rows of a page.

        Raises: NotFound for a cursor that no page has named.
        """
        if "cursor" not in request.query_params:
            self.count = queryset.order_by().count()
        try:
            return super().paginate_queryset(queryset, request, view)
        except (ValueError, OverflowError, TypeError):
            raise NotFound(self.invalid_cursor_message) from None

    def get_paginated_response(self, data: Any) -> Response:
        links = {"next": self.get_next_link(), "previous": self.get_previous_link()}
        return Response({"count": self.count, **links, "results": data})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        address = {"type": "string", "nullable": True, "format": "uri"}
        count = {"type": "integer", "nullable": True, "description": "Of all rows; on the first page only."}
        return {
            "type": "object",
            "required": ["count", "next", "previous", "results"],
            "properties": {"count": count, "next": address, "previous": address, "results": schema},
        }


def number_asked(request: Request, name: str, default: int, *, minimum: int, maximum: int) -> int:
    """Return a parameter that is a whole number.

    Raises: ParseError for anything else, or one out of bounds.
    """
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdecimal() and len(text) <= 10 and minimum <= int(text) <= maximum):
        raise ParseError(f"{name} must be from {minimum} to {maximum}")
    return int(text)


PAGED = ("cursor", "page_size")


def refuse_unknown(request: Request | HttpRequest, names: Collection[str]) -> None:
    """Refuse a query that names something else than these parameters: a mistyped filter would let all rows through.

    Raises: ParseError.
    """
    if unknown := sorted(set(request.GET) - set(names)):
        there_are = ", ".join(sorted(names)) or "none"
        raise ParseError(f"unknown parameter {', '.join(unknown)}; allowed: {there_are}")


class FirstRenderer(BaseContentNegotiation):
    """Answers JSON to every client: a schema that holds has no further content types, and no 406."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        """Return the parser of the body's media type, or None for one that is not taken."""
        media = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == media), None)

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type
