"""Everything that the database holds, to look for what should be gone."""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import connection, models


def all_rows() -> Iterator[tuple[type[models.Model], dict[str, Any]]]:
    """Yield each table's rows, as the driver returns them: by attribute, with the primary key as `pk` too.

    Models would take a hundred queries ten times as long to build.
    """
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        for model in apps.get_models(include_auto_created=True):
            fields = [*model._meta.local_concrete_fields, model._meta.pk]
            columns = ", ".join(quote(field.column) for field in fields)
            cursor.execute(f"SELECT {columns} FROM {quote(model._meta.db_table)}")
            names = [*(field.name for field in fields[:-1]), "pk"]
            yield from ((model, dict(zip(names, row, strict=True))) for row in cursor.fetchall())


def stored() -> str:
    """Return everything that the database holds, as text."""
    return "\n".join(f"{model._meta.label} {row!r}" for model, row in all_rows())


def left_of(*texts: str) -> list[str]:
    return [line for line in stored().splitlines() if any(text in line for text in texts)]
