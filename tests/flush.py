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
    """Keep content types and permissions, which Django deletes and makes again: nine tenths of the time of a flush.

    A test that changes them has them made again.
    """
    migrated = read_kept()
    keeps = False

    def statements(style: Any, database: BaseDatabaseWrapper, **options: bool) -> list[str]:
        nonlocal keeps
        keeps = read_kept() == migrated and not any(options.values())
        if not keeps:
            return sql.sql_flush(style, database, **options)
        existing = database.introspection.django_table_names(only_existing=True, include_views=False)
        return database.ops.sql_flush(style, [name for name in existing if name not in KEPT])

    def announce(*arguments: Any) -> None:
        nonlocal migrated
        if not keeps:
            sql.emit_post_migrate_signal(*arguments)
            migrated = read_kept()
        main_group()  # made by a migration; the tests that follow on this worker find it as on any other

    with mock.patch.multiple(flush, sql_flush=statements, emit_post_migrate_signal=announce):
        yield


def read_kept() -> tuple[list[Any], list[Any]]:
    """Return the names of all content types and permissions."""
    return (
        list(ContentType.objects.order_by("pk").values_list("app_label", "model")),
        list(Permission.objects.order_by("pk").values_list("content_type__model", "codename")),
    )
