"""Read and check the bodies of API requests."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import QueryDict
from rest_framework import serializers, status
from rest_framework.exceptions import APIException, NotAuthenticated, ParseError
from rest_framework.request import Request

from annotation.core.errors import BadFields
from annotation.core.files.lines import unstorable_key
from annotation.members.permissions import may_manage
from annotation.models import Study


def user_of(request: Request) -> User:
    """Return the signed-in user."""
    if not isinstance(request.user, User):
        raise NotAuthenticated
    return request.user


def require_manager(user: Any, study: Study) -> None:
    """Refuse a user who reads a study and is no study admin of it.

    Raises: PermissionDenied.
    """
    if not may_manage(user, study):
        raise PermissionDenied("only study admins of the study may do this")


class TooLarge(APIException):
    """The body exceeds the limit for forms."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_detail = "the request is too large; texts are read in from files"
    default_code = "too_large"


def body_of(request: Request) -> dict[str, Any]:
    """Return a request's values by name.

    Raises: TooLarge; ParseError for anything but an object, and for text that the database can't store.
    """
    if int(request.META.get("CONTENT_LENGTH") or 0) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        raise TooLarge
    try:
        data = request.data
    except RecursionError:
        raise ParseError("nested too deep") from None
    if isinstance(data, QueryDict):
        data = {name: values[0] if len(values) == 1 else values for name, values in data.lists()}
    if not isinstance(data, dict):
        raise ParseError("send an object: names and values")
    if unstorable_key({"": data}) is not None:
        raise ParseError("a text holds characters that can't be stored")
    return dict(data)


def checked(form: forms.BaseForm) -> dict[str, Any]:
    """Return a form's clean values.

    Raises: BadFields.
    """
    if not form.is_valid():
        raise BadFields({name: [str(problem) for problem in problems] for name, problems in form.errors.items()})
    return form.cleaned_data


def texts_of(data: dict[str, Any], *names: str) -> dict[str, str]:
    """Pop texts from a request's values; missing and null ones are empty.

    Raises: BadFields for a value of another type.
    """
    texts = {name: data.pop(name, None) for name in names}
    if wrong := [name for name, value in texts.items() if not isinstance(value, str | None)]:
        raise BadFields({name: ["This must be a text."] for name in wrong})
    return {name: value or "" for name, value in texts.items()}


def read(kind: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    """Return a request's validated values.

    Raises: BadFields, also for unknown names, which may be mistyped.
    """
    data = body_of(request)
    known = kind().fields
    if unknown := [name for name in data if name not in known]:
        raise BadFields({name: ["There is no such field here."] for name in unknown})
    serializer = kind(data=data)
    if not serializer.is_valid():
        raise BadFields({name: _flatten(problems) for name, problems in serializer.errors.items()})
    return dict(serializer.validated_data)


def _flatten(problems: Any) -> list[str]:
    """Flatten a field's errors; those of a list are prefixed with the index."""
    if isinstance(problems, dict):
        return [f"{place}: {word}" for place, nested in problems.items() for word in _flatten(nested)]
    return [str(problem) for problem in problems]
