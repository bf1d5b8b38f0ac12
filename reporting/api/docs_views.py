"""The API's description as a page, made of its schema."""

import json
from collections import defaultdict
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

Json = dict[str, Any]
EMPTY: Json = {"integer": 0, "number": 0, "boolean": False, "object": {}, "[string]": [""], "[integer]": [0]}


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
def described() -> dict[str, list[Json]]:
    """Return the operations of the schema by subject."""
    schema = public_schema()
    result: dict[str, list[Json]] = defaultdict(list)
    for path, operations in schema["paths"].items():
        subject = path.split("/")[3]
        result[subject] += [_operation(schema, method, path, operation) for method, operation in operations.items()]
    return dict(result)


def _operation(schema: Json, method: str, path: str, described: Json) -> Json:
    """Return one request: answers by status, each with its description and fields, and a sample of its body to be filled."""
    parameters = [
        _field(item["name"], item["schema"], item.get("description", ""), required=item.get("required", False))
        for item in described.get("parameters", [])
    ]
    request = described.get("requestBody", {})
    body = _content(schema, request)
    sample = {field["name"]: EMPTY.get(field["kind"], "") for field in body if field["required"]}
    answers = [
        (status, item.get("description", ""), _content(schema, item) if status.startswith("2") else [])
        for status, item in sorted(described["responses"].items())
    ]
    return {
        "method": method,
        "path": path,
        "about": described.get("description", ""),
        "parameters": parameters,
        "body": body,
        "sample": json.dumps(sample, indent=2),
        "answers": answers,
        "takes_files": "application/json" not in request.get("content", {"application/json": {}}),
        "anchor": f"{method}-{path.strip('/').replace('/', '-').replace('{', '').replace('}', '')}",
    }


def _field(name: str, of: Json, about: str, *, required: bool) -> Json:
    """Return a parameter, or a field of a body or an answer."""
    return {"name": name, "kind": _kind(of), "required": required, "about": about}


def _content(schema: Json, described: Json) -> list[Json]:
    """Return the fields of a body: those of a list's rows, and those of each choice."""
    for content in described.get("content", {}).values():
        return _fields(schema, content["schema"])
    return []


def _fields(schema: Json, of: Json) -> list[Json]:
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
        _field(name, item, item.get("description", ""), required=name in required) for name, item in properties.items()
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
