"""The rows of every table as JSON lines that mean the same on both engines, and the digest of a table."""

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.models import BinaryField, Field, JSONField, Model

CHUNK = 2_000  # rows read or written at once
_DIGITS = 2**256


def tables() -> dict[str, type[Model]]:
    """Return the model of every table, those between two others included. `django_migrations` is no model's."""
    models = apps.get_models(include_auto_created=True)
    return {model._meta.db_table: model for model in models if model._meta.managed and not model._meta.proxy}


def columns(model: type[Model]) -> list["Field[Any, Any]"]:
    """Return a table's columns, without those that the database computes from the others."""
    return [field for field in model._meta.concrete_fields if not field.generated]


def lines(model: type[Model]) -> Iterator[str]:
    """Yield each row as a JSON list, in no particular order."""
    fields = columns(model)
    rows = model._base_manager.order_by().values_list(*(field.attname for field in fields))
    for row in rows.iterator(chunk_size=CHUNK):
        values = list(row)
        for place, (field, value) in enumerate(zip(fields, row, strict=True)):
            if isinstance(field, BinaryField) and value is not None:
                values[place] = base64.b64encode(bytes(value)).decode("ascii")
            elif not (isinstance(field, JSONField) or isinstance(value, bool | int | float | str | None)):
                values[place] = value.isoformat() if hasattr(value, "isoformat") else str(value)
        yield json.dumps(values, ensure_ascii=False, sort_keys=True)


def parameters(model: type[Model], line: str) -> list[Any]:
    """Return a line's values as the connected database takes them."""
    values = []
    for field, value in zip(columns(model), json.loads(line), strict=True):
        if isinstance(field, BinaryField) and value is not None:
            value = base64.b64decode(value)
        elif not isinstance(field, JSONField):
            value = field.to_python(value)
        values.append(field.get_db_prep_save(value, connection))
    return values


class Digest:
    """Counts rows and adds their hashes up: equal for equal rows in any order, which engines sort differently."""

    def __init__(self) -> None:
        """Begin with no rows."""
        self.rows, self._sum = 0, 0

    def add(self, line: str) -> None:
        """Add a row."""
        self.rows += 1
        plain = json.dumps(_plain(json.loads(line)), sort_keys=True)
        self._sum = (self._sum + int.from_bytes(hashlib.sha256(plain.encode()).digest(), "big")) % _DIGITS

    def result(self) -> dict[str, Any]:
        """Return the count and the sum."""
        return {"rows": self.rows, "sha256_sum": f"{self._sum:064x}"}


def _plain(value: Any) -> Any:
    """Return whole floats as integers: PostgreSQL keeps 1e30 in JSON as the integer that it is."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value
