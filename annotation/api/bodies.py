"""What a request to the API carries, as plain values; what can't be read or is too much is refused in JSON."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.http import QueryDict
from rest_framework import serializers, status
from rest_framework.exceptions import APIException, NotAuthenticated, ParseError
from rest_framework.request import Request

from annotation.errors import BadFields
from annotation.formats.lines import unstorable


def user_of(request: Request) -> User:
    """Return the account that asks; for views that let nobody else in."""
    if not isinstance(request.user, User):
        raise NotAuthenticated
    return request.user


class TooLarge(APIException):
    """The body is larger than a form may be."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_detail = "the request is too large; texts are read in from files"
    default_code = "too_large"


def body_of(request: Request) -> dict[str, Any]:
    """Return the values that a request carries, by name.

    Raises: TooLarge; ParseError for anything but an object, and for text that no database takes.
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
    if unstorable({"": data}) is not None:
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
    """Take texts out of what a request carries; one that is left out, or null, is empty.

    Raises: BadFields for a value of another kind.
    """
    taken = {name: data.pop(name, None) for name in names}
    if wrong := [name for name, value in taken.items() if not isinstance(value, str | None)]:
        raise BadFields({name: ["This must be a text."] for name in wrong})
    return {name: value or "" for name, value in taken.items()}


def read(kind: type[serializers.Serializer], request: Request) -> dict[str, Any]:
    """Return the checked values of a request.

    Raises: BadFields, also for names that mean nothing here: a mistyped one is no wish for the default.
    """
    data = body_of(request)
    known = kind().fields
    if unknown := [name for name in data if name not in known]:
        raise BadFields({name: ["There is no such field here."] for name in unknown})
    serializer = kind(data=data)
    if not serializer.is_valid():
        raise BadFields({name: _words(problems) for name, problems in serializer.errors.items()})
    return dict(serializer.validated_data)


def _words(problems: Any) -> list[str]:
    """Flatten what is wrong with a field: that of a list is told by place."""
    if isinstance(problems, dict):
        return [f"{place}: {word}" for place, told in problems.items() for word in _words(told)]
    return [str(problem) for problem in problems]
