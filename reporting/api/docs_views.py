"""The API's description as a page, made of its schema."""

import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

Json = dict[str, Any]
EMPTY: Json = {"integer": 0, "number": 0, "boolean": False, "object": {}, "[string]": [""], "[integer]": [0]}


@dataclass(frozen=True)
class DescribedField:
    """A parameter, or a field of a body or an answer."""

    name: str
    kind: str
    required: bool
    about: str


@dataclass(frozen=True)
class Operation:
    """One request. `answers` by status, each with its description and fields. `takes_files`: its body is no JSON."""

    method: str
    path: str
    about: str
    parameters: list[DescribedField]
    body: list[DescribedField]
    answers: list[tuple[str, str, list[DescribedField]]]
    takes_files: bool

    @property
    def sample(self) -> str:
        """Return a body with the fields that it needs, to be filled."""
        return json.dumps({field.name: EMPTY.get(field.kind, "") for field in self.body if field.required}, indent=2)

    @property
    def anchor(self) -> str:
        """Return a name for links."""
        return f"{self.method}-{self.path.strip('/').replace('/', '-').replace('{', '').replace('}', '')}"


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """List the requests of the API by what they are about. Like the schema, it holds nothing of any study."""
    return TemplateResponse(request, "reporting/api/docs.html", {"subjects": described()})


@cache
def public_schema() -> Json:
    """Return the API's schema, generated once in a process, since that takes a second. It holds nothing of any study."""
    generated: Json = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    return generated


class OnceGenerated(SchemaGenerator):
    """Cache of the generated schema."""

    def get_schema(self, request: Any = None, public: bool = False) -> Json:
        return public_schema()


@cache
def described() -> dict[str, list[Operation]]:
    """Return the operations of the schema by subject."""
    schema = public_schema()
    result: dict[str, list[Operation]] = defaultdict(list)
    for path, operations in schema["paths"].items():
        subject = path.split("/")[3]
        result[subject] += [_operation(schema, method, path, operation) for method, operation in operations.items()]
    return dict(result)


def _operation(schema: Json, method: str, path: str, described: Json) -> Operation:
    parameters = [
        DescribedField(
            parameter["name"],
            _kind(parameter["schema"]),
            parameter.get("required", False),
            parameter.get("description", ""),
        )
        for parameter in described.get("parameters", [])
    ]
    body = _content(schema, described.get("requestBody", {}))
    answers = [
        (status, item.get("description", ""), _content(schema, item) if status.startswith("2") else [])
        for status, item in sorted(described["responses"].items())
    ]
    takes_files = "application/json" not in described.get("requestBody", {}).get("content", {"application/json": {}})
    return Operation(method, path, described.get("description", ""), parameters, body, answers, takes_files)


def _content(schema: Json, described: Json) -> list[DescribedField]:
    """Return the fields of a body: those of a list's rows, and those of each choice."""
    for content in described.get("content", {}).values():
        return _fields(schema, content["schema"])
    return []


def _fields(schema: Json, of: Json) -> list[DescribedField]:
    if "$ref" in of:
        return _fields(schema, schema["components"]["schemas"][of["$ref"].rpartition("/")[2]])
    for several in ("oneOf", "anyOf"):
        if several in of:
            return [field for item in of[several] for field in _fields(schema, item)]
    if "items" in of:
        return _fields(schema, of["items"])
    properties = of.get("properties", {})
    if "results" in properties:
        return _fields(schema, properties["results"])
    required = of.get("required", [])
    return [
        DescribedField(name, _kind(property_), name in required, property_.get("description", ""))
        for name, property_ in properties.items()
    ]


def _kind(of: Json) -> str:
    """Name the type of a value, or the values that it can have."""
    if "enum" in of:
        return " | ".join(map(str, of["enum"]))
    if "items" in of:
        return f"[{_kind(of['items'])}]"
    for several in ("allOf", "oneOf", "anyOf"):
        if several in of:
            return " | ".join(_kind(item) for item in of[several])
    if "$ref" in of:
        return str(of["$ref"].rpartition("/")[2])
    return f"{of.get('format') or of.get('type', 'any')}{' | null' if of.get('nullable') else ''}"
