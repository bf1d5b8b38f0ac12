"""How the database is emptied after a test that commits."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import sql
from django.core.management.commands import flush
from django.db.backends.base.base import BaseDatabaseWrapper

from annotation.models.members import main_group

KEPT = ("auth_permission", "django_content_type")


@contextmanager
def quick_flush() -> Iterator[None]:
    """Keep content types and permissions, which Django deletes and makes again: nine tenths of the time of a flush on SQLite.

    A test that changes them has them made again. Rows are deleted where there are any: PostgreSQL, whose foreign keys are
    looked at when all is done, would take a tenth of a second to truncate each table.
    """
    migrated = read_kept()
    keeps = False

    def statements(style: Any, database: BaseDatabaseWrapper, **options: bool) -> list[str]:
        nonlocal keeps
        keeps = read_kept() == migrated and not any(options.values())
        if not keeps:
            return sql.sql_flush(style, database, **options)
        return [f"DELETE FROM {database.ops.quote_name(name)}" for name in filled_tables(database) if name not in KEPT]

    def announce(*arguments: Any) -> None:
        nonlocal migrated
        if not keeps:
            sql.emit_post_migrate_signal(*arguments)
            migrated = read_kept()
        main_group()  # made by a migration; the tests that follow on this worker find it as on any other

    with mock.patch.multiple(flush, sql_flush=statements, emit_post_migrate_signal=announce):
        yield


def filled_tables(database: BaseDatabaseWrapper) -> list[str]:
    """Return the names of the tables that hold rows."""
    names = database.introspection.django_table_names(only_existing=True, include_views=False)
    looks = [
        f"SELECT {place} WHERE EXISTS (SELECT 1 FROM {database.ops.quote_name(name)})"
        for place, name in enumerate(names)
    ]
    with database.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(looks))
        return [names[place] for (place,) in cursor.fetchall()]


def read_kept() -> tuple[list[Any], list[Any]]:
    """Return the names of all content types and permissions."""
    return (
        list(ContentType.objects.order_by("pk").values_list("app_label", "model")),
        list(Permission.objects.order_by("pk").values_list("content_type__model", "codename")),
    )
