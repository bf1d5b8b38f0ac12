"""Requests that the form of a page checks: what the schema says of its fields, and the form filled with what was sent."""

import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from django import forms
from django.http import QueryDict
from rest_framework import serializers
from rest_framework.request import Request

from annotation.api.bodies import checked, read
from annotation.core.errors import BadFields
from annotation.models import Study
from annotation.studies.questions import find_question
from judging.core.visibility import judges_seen_by
from reporting.api.run_setup import find_prompt

MOST_INTEGER = 2**31 - 1
F = TypeVar("F", bound=forms.Form)


def body_of_form(
    form: type[forms.Form],
    name: str,
    about: str,
    *,
    lines: Collection[str] = (),
    objects: Collection[str] = (),
    but: Collection[str] = (),
    **more: serializers.Field[Any, Any, Any, Any],
) -> type[serializers.Serializer[Any]]:
    """Return the serializer of a form's fields; those with an initial value may be left out.

    lines   : fields that hold a text on each line, sent as a list
    objects : fields of lines `key=value`, sent as an object
    but     : fields that requests don't have; `more`: those that the form doesn't have in general
    """
    fields: dict[str, Any] = {
        key: _of_shape(field, child=key in lines, mapped=key in objects)
        for key, field in form.base_fields.items()
        if key not in but
    }
    return type(f"{name}Serializer", (serializers.Serializer,), {"__doc__": about, **fields, **more})


def filled(
    form: type[F],
    body: type[serializers.Serializer[Any]],
    request: Request,
    *,
    convert: Mapping[str, Callable[[Any], Any]] | None = None,
    beside: Collection[str] = (),
    **given: Any,
) -> F:
    """Return a page's form, valid, with what a request has sent; what it left out is as on the page at first.

    convert : what makes of a value of the request that of the form
    beside  : fields of the request that are another form's
    given   : further arguments of the form
    Raises: BadFields, also for a field that the form does not have in this study.
    """
    data, blank = read(body, request), form(**given)
    for name, change in (convert or {}).items():
        if data.get(name) is not None:
            data[name] = change(data[name])
    if foreign := [name for name, value in data.items() if name not in blank.fields and name not in beside and value]:
        raise BadFields({name: ["There is no such field in this study."] for name in foreign})
    sent = QueryDict(mutable=True)
    for name, field in blank.fields.items():
        value = data[name] if name in data else blank.get_initial_for_field(field, name)
        sent.setlist(name, _texts(name, field, value))
    made = form(sent, **given)
    checked(made)
    return made


def filled_for_judges(form: type[F], body: type[serializers.Serializer[Any]], request: Request, study: Study) -> F:
    """Return a page's form about a study's judges, as `filled`; prompts and the question are named by the request."""
    user = request.user
    return filled(
        form,
        body,
        request,
        convert={
            "prompts": lambda names: [find_prompt(user, name).pk for name in names],
            "wording": lambda name: find_prompt(user, name).pk,
            "question": lambda key: find_question(study, key).number,
        },
        study=study,
        judges=judges_seen_by(user),
    )


def _of_shape(field: Any, *, child: bool, mapped: bool) -> Any:
    # Labels are for people who see the page; a choice's values depend on the study, and the form checks them.
    shared: dict[str, Any] = {
        "required": field.required and field.initial is None,
        "allow_null": not field.required,
        "help_text": field.help_text or field.label or "",
    }
    longest = getattr(field, "max_length", None)
    if mapped:
        return serializers.DictField(**{**shared, "required": False})
    if child:
        return serializers.ListField(child=serializers.CharField(), **shared)
    if isinstance(field, forms.MultipleChoiceField | forms.ModelMultipleChoiceField):
        whole = getattr(field, "coerce", None) is int
        return serializers.ListField(
            child=serializers.IntegerField() if whole else serializers.CharField(),
            **{**shared, "allow_empty": not field.required},
        )
    if isinstance(field, forms.BooleanField):
        return serializers.BooleanField(**shared)
    if isinstance(field, forms.IntegerField):  # as all of numbers are
        return _of_number(field, shared)
    return serializers.CharField(
        **shared, allow_blank=not field.required, max_length=longest, trim_whitespace=getattr(field, "strip", True)
    )


def _of_number(field: Any, shared: dict[str, Any]) -> Any:
    bounds: dict[str, Any] = {"min_value": field.min_value, "max_value": field.max_value}
    if isinstance(field, forms.DecimalField):
        digits: dict[str, Any] = {"max_digits": field.max_digits, "decimal_places": field.decimal_places}
        return serializers.DecimalField(**shared, **bounds, **digits)
    if isinstance(field, forms.FloatField):
        return serializers.FloatField(**shared, **bounds)
    bounds["max_value"] = MOST_INTEGER if field.max_value is None else field.max_value
    return serializers.IntegerField(**shared, **bounds)


def _texts(name: str, field: forms.Field, value: Any) -> list[str]:
    """Return a value as a browser would send it.

    Raises: BadFields for a text that would be read as several, or a key that can't be written.
    """
    if value is None or value is False:
        return []
    if isinstance(value, dict):
        if wrong := [key for key in value if re.fullmatch(r"[\w.-]+", key) is None]:
            raise BadFields({name: [f"This can't be the name of a parameter: {wrong[0]}"]})
        return ["\n".join(f"{key}={json.dumps(one)}" for key, one in value.items())]
    if isinstance(value, list | tuple):
        texts = [str(one) for one in value]
        if isinstance(field, forms.MultipleChoiceField | forms.ModelMultipleChoiceField):
            return texts
        if any(len(text.splitlines()) > 1 for text in texts):
            raise BadFields({name: ["Each text must be on one line."]})
        return ["\n".join(texts)]
    return ["on" if value is True else str(value)]
