"""Answers of the API: requests described for the schema, and refusals as JSON."""

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response
from rest_framework.views import exception_handler as default_handler

from annotation.core.errors import AnnotationError, BadFields, BadFile, SettingsRefused
from annotation.core.http import error_text, status_of
from annotation.core.middleware import HEADERS, UNAVAILABLE, log_unavailable, message_for

if TYPE_CHECKING:
    from rest_framework.decorators import ViewSetAction


class WithMessage(serializers.Serializer[Any]):
    """Why work stopped, as text and as a code. Both are empty without a reason."""

    message = serializers.CharField(source="message.text", read_only=True, help_text="Why it stopped.")
    message_code = serializers.CharField(source="message.code", read_only=True, help_text="Code of the message.")


MESSAGE = tuple(WithMessage().fields)


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
    if isinstance(error, SettingsRefused):
        return {"fields": {name: [error.why] for name in error.fields}}
    return {}


class RefusalSerializer(serializers.Serializer[Any]):
    """The reason of a refusal, with `fields` or `lines` of a file if it is about these."""

    detail = serializers.CharField()
    fields = serializers.DictField(  # type: ignore[assignment]
        child=serializers.ListField(child=serializers.CharField()), required=False
    )
    lines = serializers.ListField(child=serializers.DictField(), required=False)
    bad_lines = serializers.IntegerField(required=False)


def refusals(*codes: int) -> dict[int, Any]:
    """Return the schema's error responses: these status codes, and those of every endpoint."""
    descriptions = {
        400: (
            "Not readable: no JSON, no object, text that can't be stored; an unknown parameter, or one with a wrong "
            "value."
        ),
        401: "No token, or not a valid one.",
        403: "The user, or the token, may not do this; or a session's request lacks its CSRF token.",
        404: "There is no such study, row or name for this user.",
        409: (
            "Votes or draws fix the setting, a name is taken, settings contradict each other, or the state does not "
            "allow it."
        ),
        413: "Too large.",
        415: "A media type that is not supported.",
        422: "Invalid values or lines of a file; nothing was stored.",
        503: "The database is busy, or findings are being computed: repeat the request after `Retry-After` seconds.",
    }
    return {
        code: OpenApiResponse(RefusalSerializer, descriptions[code]) for code in (400, 401, 403, 404, 415, 503, *codes)
    }


def made(data: Any, name: str, key: object, code: int = 201) -> Response:
    """Return data about a row that was made, or queued, with its address: the name of its view and its key there."""
    where = {"Location": reverse(f"api:{name}", args=[key])} if code != 200 else None
    return Response(data, status=code, headers=where)


OBJECT = OpenApiTypes.OBJECT
View = TypeVar("View", bound=Callable[..., Any])
OF_BODY = (409, 413, 422)  # refusals of a request that sends values


def answers(
    answer: Any, *codes: int, body: Any = None, refused: Collection[int] | None = None, **more: Any
) -> Callable[[View], View]:
    """Describe a request for the schema.

    answer  : serializer of the answer, or one for each status
    codes   : its statuses; 200 by default
    refused : statuses of refusals beside those of every request; by default those of a request with a body
    """
    by_status = answer if isinstance(answer, dict) else dict.fromkeys(codes or (200,), answer)
    further = refused if refused is not None else OF_BODY if body is not None else ()
    return extend_schema(request=body, responses={**by_status, **refusals(*further)}, filters=False, **more)


def work(
    answer: Any = OBJECT,
    *codes: int,
    body: Any = None,
    refused: Collection[int] | None = None,
    path: str | None = None,
    methods: Any = ("get",),
    parameters: Sequence[OpenApiParameter] = (),
    detail: bool = True,
    **more: Any,
) -> "Callable[[View], ViewSetAction[View]]":
    """Describe a request about a row, and give it its address: by default the name of its method.

    more : further settings of the view
    """
    paging = {} if more.get("paged") else {"pagination_class": None}
    route = action(
        methods=methods, detail=detail, url_path=path, parameters=parameters, filter_backends=[], **paging, **more
    )
    description = answers(answer, *codes, body=body, refused=refused, parameters=list(parameters))

    def described(view: View) -> "ViewSetAction[View]":
        return description(route(view))

    return described
