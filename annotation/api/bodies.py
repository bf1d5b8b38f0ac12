"""Bodies of requests to the API, and the study admins who may send them."""

from collections.abc import Collection, Mapping
from operator import attrgetter
from typing import Any, TypeVar

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import QueryDict
from rest_framework import serializers, status
from rest_framework.exceptions import APIException, NotAuthenticated, ParseError
from rest_framework.request import Request
from rest_framework.viewsets import GenericViewSet

from annotation.core.actions import described, filled, json_shape, static_choices, type_problem
from annotation.core.errors import BadFields
from annotation.core.files.lines import unstorable_key
from annotation.members.permissions import may_manage
from annotation.models import Study

MOST_INTEGER = 2**31 - 1
F = TypeVar("F", bound=forms.BaseForm)


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


class Managed(GenericViewSet[Any]):
    """Rows that belong to a study, and are changed by its study admins."""

    study_of = staticmethod(attrgetter("study"))

    def managed(self) -> Any:
        """Return the row to a study admin, else raise 403 for readers and 404 for others."""
        row = self.get_object()
        require_manager(self.request.user, self.study_of(row))
        return row


class ManagedStudies(Managed):
    """Studies, which are changed by their study admins."""

    study_of = staticmethod(lambda study: study)


class TooLarge(APIException):
    """The body exceeds the limit for forms."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_detail = "the request is too large; import texts from files"
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
        raise ParseError("send an object of names and values")
    if unstorable_key({"": data}) is not None:
        raise ParseError("a text holds characters that can't be stored")
    return dict(data)


def needed_text(data: dict[str, Any], name: str) -> str:
    """Pop a text that a request must have from its values.

    Raises: BadFields.
    """
    text = data.pop(name, None)
    if not isinstance(text, str | None):
        raise BadFields({name: ["This must be a text."]})
    if not text:
        raise BadFields({name: ["This field is required."]})
    return text


def schema_of(
    form: "type[forms.Form | forms.ModelForm[Any]]",
    name: str = "",
    description: str = "",
    *,
    exclude: Collection[str] = (),
    partial: bool = False,
    **extra: Any,
) -> type[serializers.Serializer[Any]]:
    """Return the serializer that describes the fields of a form, for the schema alone. The form checks their values.

    partial : what is left out stays as it is stored
    extra   : fields that the form doesn't have, or has otherwise
    """
    optional = form.base_fields if partial else getattr(form, "OPTIONAL_IN_PREVIEW", ())
    fields = {
        key: _described(
            field,
            required=field.required and field.initial is None and key not in optional,
            default=None if partial else bool(field.initial) if json_shape(field) is bool else field.initial,
        )
        for key, field in form.base_fields.items()
        if key not in exclude
    }
    attributes = {"__doc__": description or form.__doc__, **fields, **extra}
    return type(f"{name or form.__name__}Serializer", (serializers.Serializer,), attributes)


def _described(field: Any, *, required: bool, default: Any) -> serializers.Field[Any, Any, Any, Any]:
    shared: dict[str, Any] = {"required": required, "allow_null": not field.required, "help_text": described(field)}
    if not required and default not in (None, "") and not callable(default):
        shared["default"] = default
    shape = json_shape(field)
    if shape is dict:
        texts = serializers.CharField(max_length=getattr(field, "longest", None), allow_blank=True)
        more: dict[str, Any] = {"child": texts} if hasattr(field, "longest") else {}
        return serializers.DictField(**shared, **more)
    if shape is list:
        is_whole = getattr(field, "coerce", None) is int
        exactly, longest = getattr(field, "exactly", None), getattr(field, "longest", None)
        child: serializers.Field[Any, Any, Any, Any] = serializers.CharField(max_length=longest)
        if is_whole:
            child = serializers.IntegerField()
        elif values := static_choices(field):
            child = serializers.RegexField(f"^({'|'.join(values)})$")
        return serializers.ListField(child=child, min_length=exactly, max_length=exactly, **shared)
    if shape is bool:
        return serializers.BooleanField(**shared)
    bounds: dict[str, Any] = {name: getattr(field, name, None) for name in ("min_value", "max_value")}
    if isinstance(field, forms.DecimalField):
        digits: dict[str, Any] = {"max_digits": field.max_digits, "decimal_places": field.decimal_places}
        return serializers.DecimalField(**shared, **bounds, **digits)
    if isinstance(field, forms.FloatField):
        return serializers.FloatField(**shared, **bounds)
    if isinstance(field, forms.IntegerField):
        return serializers.IntegerField(**{**shared, **bounds, "max_value": bounds["max_value"] or MOST_INTEGER})
    if values := static_choices(field):
        # A pattern, since enums with the same field name collide in the schema.
        pattern = f"^({'|'.join(values)}){'' if required or 'default' in shared else '?'}$"
        return serializers.RegexField(pattern, **shared)
    longest = getattr(field, "max_length", None)
    if isinstance(field, forms.SlugField) and field.required:
        return serializers.SlugField(**shared, max_length=longest)
    if isinstance(field, forms.RegexField):
        return serializers.RegexField(field.regex.pattern, **shared, max_length=longest)
    return serializers.CharField(**shared, max_length=longest, allow_blank=not field.required)


def read_form(form: type[F], body: Mapping[str, Any], *, exclude: Collection[str] = (), **context: Any) -> F:
    """Return a form filled with a request's values, and valid.

    context : further arguments of the form
    Raises: BadFields, also for unknown names, which may be mistyped, and for values of another JSON type.
    """
    fields = form(**context).fields
    problems = {name: problem for name, value in body.items() if (problem := type_problem(fields.get(name), value))}
    problems |= {name: "Unknown field." for name in body if name in exclude}
    if problems:
        raise BadFields({name: [problem] for name, problem in problems.items()})
    return filled(form, body, **context)


def read(kind: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    """Return a request's validated values.

    Raises: BadFields, also for unknown names, which may be mistyped.
    """
    data = body_of(request)
    fields = kind().fields
    if unknown := [name for name in data if name not in fields]:
        raise BadFields({name: ["Unknown field."] for name in unknown})
    serializer = kind(data=data)
    if not serializer.is_valid():
        raise BadFields({name: _flatten(problems) for name, problems in serializer.errors.items()})
    return dict(serializer.validated_data)


def _flatten(problems: Any) -> list[str]:
    """Flatten a field's errors. Those of a list are prefixed with the index."""
    if isinstance(problems, dict):
        return [f"{field}: {word}" for field, nested in problems.items() for word in _flatten(nested)]
    return [str(problem) for problem in problems]
