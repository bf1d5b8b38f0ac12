"""System checks of a server before it starts, as of `check --deploy --database default`.

With PRODUCTION the server and the worker refuse to start while one of them fails; without it they are not made.
"""

import stat
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from pkgutil import iter_modules
from typing import Any
from urllib.parse import urlsplit

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register, run_checks  # noqa: A004  # Django's name
from django.core.management import CommandError
from django.db import DatabaseError, connections, migrations
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations.base import Operation
from django.db.migrations.recorder import MigrationRecorder

from annotation.core.version import VERSION

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


_NAMED = 10  # migrations in a message
_FIRST = "0001_"  # of a migration that creates the tables of an application
_LOCAL = {"localhost", "127.0.0.1", "[::1]"}


@register(Tags.security, deploy=True)
def check_settings(**_options: Any) -> list[CheckMessage]:
    """Check DEBUG, the host names, mail and the data folder."""
    if not settings.PRODUCTION:
        return []
    results: list[CheckMessage] = []
    if settings.DEBUG:
        results.append(
            Error("DEBUG is on: error pages would show code and settings.", hint="Set DEBUG=off.", id="tandem.E001")
        )
    if "*" in settings.ALLOWED_HOSTS or _LOCAL.issuperset(settings.ALLOWED_HOSTS):
        hint = "Set ALLOWED_HOSTS to the names under which people reach this server."
        results.append(Error(f"ALLOWED_HOSTS is {','.join(settings.ALLOWED_HOSTS)}.", hint=hint, id="tandem.E002"))
    if settings.MAIL_ON and urlsplit(settings.BASE_URL).hostname in _LOCAL:
        hint = "Set BASE_URL to this server's public address: links in mails begin with it."
        results.append(Error(f"EMAIL_URL is set, and BASE_URL is {settings.BASE_URL}.", hint=hint, id="tandem.E006"))
    if settings.MAIL_ON and settings.DEFAULT_FROM_EMAIL.endswith("@localhost"):
        hint = "Set it to an address that your mail server may send from."
        results.append(Error("EMAIL_URL is set, and MAIL_FROM is not.", hint=hint, id="tandem.E007"))
    try:
        with tempfile.TemporaryFile(dir=settings.DATA_DIR):
            pass
    except OSError as error:
        hint = "Give the server's account the right to write there, or name another folder in TANDEM_DATA_DIR."
        message = f"The data folder {settings.DATA_DIR} can't be written to: {error.strerror}."
        results.append(Error(message, hint=hint, id="tandem.E003"))
    else:
        if Path(settings.DATA_DIR).stat().st_mode & (stat.S_IROTH | stat.S_IXOTH):
            hint = f"Files in it hold sessions and keys: chmod o-rwx {settings.DATA_DIR}"
            message = f"Every account of this machine can look into {settings.DATA_DIR}."
            results.append(Warning(message, hint=hint, id="tandem.W002"))
    return results


@register(Tags.database, deploy=True)
def check_migrations(databases: Sequence[str] | None = None, **_options: Any) -> list[CheckMessage]:
    """Check that the database can be reached and has all migrations."""
    if not settings.PRODUCTION or "default" not in (databases or ()) or check_version_of_database(databases):
        return []
    return database_problems()


def database_problems() -> list[CheckMessage]:
    """Return why the program can't work with the database, if so."""
    try:
        to_come = missing_migrations()
    except DatabaseError as error:
        hint = "Look at DATABASE_URL, and whether the server runs."
        return [Error(f"The database can't be reached: {error}".strip(), hint=hint, id="tandem.E004")]
    results: list[CheckMessage] = []
    if to_come:
        hint = "Create a backup, then run: tandem migrate"
        results.append(Error(f"The database lacks migrations: {_list(_names(to_come))}.", hint=hint, id="tandem.E005"))
    if stopping := stop_old_code(to_come):
        hint = "Stop web servers and workers first (docs/howto/deploy.md, Upgrade)."
        message = f"Processes of the previous version can't run with these migrations: {_list(stopping)}."
        results.append(Warning(message, hint=hint, id="tandem.W001"))
    return results


@register(Tags.database)
def check_version_of_database(databases: Sequence[str] | None = None, **_options: Any) -> list[CheckMessage]:
    """Check that this version knows all migrations of the database. `migrate` makes this check too."""
    if "default" not in (databases or ()):
        return []
    try:
        recorded = MigrationRecorder(connections["default"]).applied_migrations().keys()
    except DatabaseError:  # said by what needs the database next
        return []
    ours = {app.label for app in apps.get_app_configs() if Path(app.path).is_relative_to(settings.PACKAGES_DIR)}
    keys = {key for key in migrations_of_the_code() if key[0] in ours}
    unknown = sorted(f"{app}.{name}" for app, name in recorded - keys if app in ours)
    if not unknown:
        return []
    if any(name.startswith(_FIRST) for _app, name in keys - recorded):
        message = (
            "The database has an older schema, which can't be upgraded. Export its studies as bundles with the "
            "version that made it. Import them into an empty database (another DATABASE_URL or TANDEM_DATA_DIR)."
        )
        return [Error(message, id="tandem.E009")]
    hint = f"This is Tandem {VERSION}. Install the version that made it, or a newer one, or restore a backup."
    message = f"The database was made by a newer version: it has the migrations {_list(unknown)}."
    return [Error(message, hint=hint, id="tandem.E008")]


def missing_migrations() -> list[Migration]:
    """Return the migrations that the code has and the database lacks, in the order in which they come."""
    executor = MigrationExecutor(connections["default"])
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [migration for migration, _backwards in plan]


def unapplied_migrations() -> list[str]:
    """Return their names. They are not loaded where all are recorded, since that takes time and 20 MB of memory."""
    recorded = MigrationRecorder(connections["default"]).applied_migrations().keys()
    return _names(missing_migrations()) if migrations_of_the_code() - recorded else []


@cache
def migrations_of_the_code() -> frozenset[tuple[str, str]]:
    """Return the application and the name of each. Those of a process stay what they are."""
    return frozenset(
        (app.label, module.name)
        for app in apps.get_app_configs()
        for module in iter_modules([str(Path(app.path, "migrations"))])
        if module.name[0] not in "_~"  # no migration, as Django sees it
    )


def _names(migrations: Sequence[Migration]) -> list[str]:
    return [f"{migration.app_label}.{migration.name}" for migration in migrations]


def _list(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def refuse_unready() -> None:
    """End a command before it begins to serve when a newer version made the database, or in production when a check fails."""
    if settings.PRODUCTION:
        refuse_on(run_checks(include_deployment_checks=True, databases=["default"]))
    else:
        refuse_on(check_version_of_database(["default"]))


def refuse_on(messages: Sequence[CheckMessage]) -> None:
    """End a command when a check has failed. The message names each failure."""
    failed = [item for item in messages if item.is_serious()]
    if failed:
        raise CommandError(
            "\n".join(["Tandem can't start:", *(f"- {item.msg} {item.hint or ''} ({item.id})" for item in failed)])
        )
