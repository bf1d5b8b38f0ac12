"""`manage.py verify_bundle`: whether a bundle's numbers follow from its rows."""

import argparse
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import connection

from annotation.core.errors import AnnotationError
from annotation.management.commands._base import TandemCommand, argument
from reporting.bundle.opening import unpacked
from reporting.bundle.verifying import compare_here, verify_bundle


class Command(TandemCommand):
    is_audited = False  # only reads
    help = "Check a bundle's files and recompute its numbers from its rows, without the database."

    arguments = (
        argument("folder", type=Path, help="the bundle: a folder, or the ZIP archive of the page Export"),
        argument("--here", action="store_true", help=argparse.SUPPRESS),  # of the process that `verify_bundle` starts
    )
    requires_migrations_checks = False  # it may stand anywhere, without a database

    def handle(self, *args: Any, folder: Path, here: bool, **options: Any) -> None:
        if here:
            self.say_json(_result(folder))
            return
        with unpacked(folder) as opened:
            self.say(f"{folder}: {verify_bundle(opened).result}")


def _result(folder: Path) -> dict[str, Any]:
    with connection.schema_editor() as schema:
        for model in apps.get_models():
            schema.create_model(model)
    try:
        return {"reworded": compare_here(folder)}
    except AnnotationError as error:
        return {"problem": error.reason.stored()}
