"""The version of a study's data: it changes with each row that findings may be computed from.

Triggers in the database count the changes, so that no writer can forget to. On PostgreSQL each connection counts in a row of
its own: with one row a study, raters would wait for each other, and two that write to several studies could wait in a circle.
"""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model, Sum

from annotation.core.version import VERSION
from annotation.models import Study
from reporting.models import DataChanges

# Tables whose rows findings read, each with the way from a row to its study.
SOURCES = {
    "annotation.Study": "",
    "annotation.Annotator": "study",
    "annotation.System": "study",
    "annotation.Instance": "study",
    "annotation.Batch": "study",
    "annotation.Event": "study",
    "annotation.SeparabilityRun": "study",
    "annotation.Generation": "instance__study",
    "annotation.Matchup": "instance__study",
    "annotation.Pair": "matchup__instance__study",
    "annotation.Hit": "batch__study",
    "annotation.HitPair": "hit__batch__study",
    "annotation.Slot": "batch__study",
    "annotation.Assignment": "hit__batch__study",
    "annotation.Display": "assignment__hit__batch__study",
    "annotation.Rating": "display__assignment__hit__batch__study",
    "annotation.Alignment": "run__study",
    "judging.Judge": "runs__study",
    "judging.JudgeRun": "study",
    "judging.Judgment": "run__study",
}
# Of these tables only these columns count: others change whenever raters come or judges work.
COLUMNS = {
    "annotation.Annotator": ("code", "kind", "excluded", "withdrawn_at", "erased_at"),
    "annotation.Assignment": ("annotator", "state", "purpose", "excluded", "arm"),
    "annotation.Display": ("a_is_left", "position"),
    "annotation.Slot": ("assignment",),
    "judging.JudgeRun": ("judge", "batch", "questions", "created_at"),
}
_COUNTED = "reporting_datachanges"


def version_of(study: Study) -> str:
    """Return the version of a study's data, with that of the software, which may compute other numbers from them."""
    changes = DataChanges.objects.filter(study=study.pk).aggregate(Sum("number"))["number__sum"]
    return f"{VERSION}-{changes or 0}"


def forget_removed() -> None:
    """Delete the counts of studies that were deleted."""
    DataChanges.objects.exclude(study__in=Study._base_manager.order_by().values("pk")).delete()


def drop_triggers(using: str, plan: Any = None, **_: Any) -> None:
    """Let migrations change tables, which SQLite refuses while triggers name them."""
    if plan:
        with connections[using].cursor() as cursor:
            for statement in _dropping(connections[using]):
                cursor.execute(statement)


def create_triggers(using: str, plan: Any = None, **_: Any) -> None:
    """Count changes again after migrations, and those that came meanwhile as one of every study."""
    database = connections[using]
    tables = set(database.introspection.table_names())
    if not plan or not tables.issuperset({_COUNTED, *(apps.get_model(name)._meta.db_table for name in SOURCES)}):
        return
    with transaction.atomic(using=using), database.cursor() as cursor:
        for statement in (*_dropping(database), *_creating(database)):
            cursor.execute(statement)
        cursor.execute(_counting(database, "SELECT id AS study_id FROM annotation_study"))


def _dropping(database: BaseDatabaseWrapper) -> Iterator[str]:
    for name in SOURCES:
        for event in ("insert", "update", "delete"):
            named = _trigger_name(name, event)
            on_postgres = f"DROP FUNCTION IF EXISTS {named} CASCADE"
            yield f"DROP TRIGGER IF EXISTS {named}" if database.vendor == "sqlite" else on_postgres


def _creating(database: BaseDatabaseWrapper) -> Iterator[str]:
    trigger = _sqlite_trigger if database.vendor == "sqlite" else _postgres_trigger
    for name, way in SOURCES.items():
        model = apps.get_model(name)
        columns = [model._meta.get_field(column).column for column in COLUMNS.get(name, ())]
        for event in ("insert", "update", "delete"):
            yield trigger(database, _trigger_name(name, event), model, way, event, columns)


def _trigger_name(model: str, event: str) -> str:
    return f"count_{model.replace('.', '_').lower()}_{event}"


def _sqlite_trigger(
    database: BaseDatabaseWrapper, name: str, model: type[Model], way: str, event: str, columns: list[str]
) -> str:
    when = f"UPDATE OF {', '.join(columns)}" if event == "update" and columns else event
    counting = _counting(database, _study_of("OLD" if event == "delete" else "NEW", model, way))
    return f"CREATE TRIGGER {name} AFTER {when} ON {model._meta.db_table} BEGIN {counting}; END"


def _postgres_trigger(
    database: BaseDatabaseWrapper, name: str, model: type[Model], way: str, event: str, columns: list[str]
) -> str:
    """Count once a statement, however many rows it writes."""
    table, rows = model._meta.db_table, "OLD TABLE AS changed" if event == "delete" else "NEW TABLE AS changed"
    source = f"SELECT way.study_id FROM changed AS one CROSS JOIN LATERAL ({_study_of('one', model, way)}) AS way"  # noqa: S608  # names of our own
    if event == "update":
        rows += " OLD TABLE AS earlier"
        differs = " OR ".join(f"one.{column} IS DISTINCT FROM earlier.{column}" for column in columns) or "TRUE"
        source += f" JOIN earlier ON earlier.id = one.id AND ({differs})"
    return f"""
        CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN {_counting(database, source)}; RETURN NULL; END $$;
        CREATE TRIGGER {name} AFTER {event} ON {table} REFERENCING {rows}
        FOR EACH STATEMENT EXECUTE FUNCTION {name}()"""


def _counting(database: BaseDatabaseWrapper, studies: str) -> str:
    """Return the statement that counts a change of each of these studies."""
    connection = "0" if database.vendor == "sqlite" else "pg_backend_pid()"
    return (
        f"INSERT INTO {_COUNTED} (study, connection, number) SELECT DISTINCT study_id, {connection}, 1 "  # noqa: S608  # names of our own
        f"FROM ({studies}) AS found WHERE study_id IS NOT NULL "
        f"ON CONFLICT (study, connection) DO UPDATE SET number = {_COUNTED}.number + 1"
    )


def _study_of(row: str, model: type[Model], way: str) -> str:
    """Return the statement that finds the study of a row of a table."""
    if not way:
        return f"SELECT {row}.id AS study_id"
    first, _, remaining_path = way.partition("__")
    field: Any = model._meta.get_field(first)
    if field.one_to_many:
        return f"SELECT study_id FROM {field.related_model._meta.db_table} WHERE {field.field.column} = {row}.id"  # noqa: S608  # names of our own
    query = f"SELECT {row}.{field.column} AS study_id"
    for name in remaining_path.split("__") if remaining_path else ():
        table = field.related_model._meta.db_table
        field = field.related_model._meta.get_field(name)
        query = f"SELECT {field.column} AS study_id FROM {table} WHERE id = ({query})"  # noqa: S608  # names of our own
    return query
