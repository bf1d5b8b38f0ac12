"""Migrations that are incompatible with running processes of the previous release."""

from collections.abc import Iterable

from django.db import migrations
from django.db.migrations import Migration
from django.db.migrations.operations.base import Operation

APPS = ("annotation", "judging", "reporting")
REMOVING = (
    migrations.RemoveField,
    migrations.RenameField,
    migrations.DeleteModel,
    migrations.RenameModel,
    migrations.AlterModelTable,
)


def stops_old_code(operation: Operation, new_models: set[str]) -> bool:
    """Tell whether code of before the migration can't read or write any more. It does not know the models in `new_models`.

    Data migrations and SQL are not judged.
    """
    if isinstance(operation, migrations.SeparateDatabaseAndState):
        return any(stops_old_code(row, new_models) for row in operation.database_operations)
    if isinstance(operation, REMOVING):
        names = ("model_name_lower", "old_name_lower", "name_lower")
        return next(getattr(operation, name) for name in names if hasattr(operation, name)) not in new_models
    if not isinstance(operation, migrations.AddField) or operation.model_name_lower in new_models:
        return False
    field = operation.field  # Django keeps no default in the database, so old code's INSERT would lack the value
    return not (field.null or field.many_to_many or field.has_db_default())


def stop_old_code(missing: Iterable[Migration]) -> list[str]:
    """Return the names of those of some migrations, in their order, beside which the code of before them can't run."""
    stopping, new_models = [], set[str]()
    for migration in missing:
        if migration.app_label not in APPS:
            continue
        new_models |= {
            operation.name_lower for operation in migration.operations if isinstance(operation, migrations.CreateModel)
        }
        if any(stops_old_code(operation, new_models) for operation in migration.operations):
            stopping.append(f"{migration.app_label}.{migration.name}")
    return stopping
