"""Storing the rows of a bundle's records as those of a study."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DatabaseError, connection
from django.db.models import Field, ForeignKey, JSONField, Max, Model, TextField

from annotation.batches.sampling import shown_selection
from annotation.core.conversations import as_content, content_problem, stored_messages
from annotation.core.database.bulk_sql import adapt_row, column_adapters, quote_column, quote_table
from annotation.core.errors import AnnotationError
from annotation.core.files.lines import text_problem
from annotation.core.reasons import Reason, reason
from annotation.models import Batch, Event, Generation, Hit, Instance, Study
from annotation.studies.log import changes_of
from judging.methods.sc2.record import shown_record
from judging.models import GenerationRun, JudgeRun, TableMaking
from reporting.bundle.layout import BadBundle, Progress, row_file, silent
from reporting.bundle.opening import LONGEST_LINE, Bundle
from reporting.bundle.records import TABLES, DatabaseTable
from reporting.exports.content_rows import IDENTITY

CHUNK = 1000
REMEMBERED = 1000  # values of a column, most of which have few
Row = dict[str, Any]
AT_WORK = (JudgeRun.Status.QUEUED, JudgeRun.Status.RUNNING)
# Fields that stand in readable rows instead of a table's records.
RESTORED: Mapping[type[Model], tuple[str, ...]] = {
    Instance: ("source", "messages", "gold"),
    Generation: ("text", "messages"),
}
# JSON columns that hold reasons, with the functions by which pages read them.
DOCUMENTS: Mapping[tuple[type[Model], str], Callable[[Any], object]] = {
    (Batch, "selection"): shown_selection,
    (Event, "changes"): lambda changes: changes_of(Event(changes=changes)),
    (GenerationRun, "left_out"): lambda left_out: GenerationRun(left_out=left_out).instances_left_out,
    (TableMaking, "record"): shown_record,
}


def settings_of(bundle: Bundle) -> dict[str, Any]:
    """Return the settings of a bundle's study.

    Raises: BadBundle for one that a study doesn't have, or can't have with that value.
    """
    fields = {field.name: field for field in Study._meta.fields}
    settings = {}
    for name, value in bundle.study["settings"].items():
        if name not in fields or name in IDENTITY:
            raise BadBundle(reason("not_a_setting", name=name))
        settings[name] = _cleaned(fields[name], "study.json", value)
    return settings


def store(bundle: Bundle, study: Study, progress: Progress = silent, *, keep_keys: bool = False) -> None:
    """Store all records, within a transaction.

    keep_keys : whether rows keep their primary keys, as they can in an empty database
    Raises: BadBundle for a row that doesn't fit; AnnotationError for a shared one that is there with other settings.
    """
    rows = StoredRows(study, keep_keys=keep_keys)
    for done, table in enumerate(TABLES, start=1):
        try:
            rows.store(table, _records(bundle, table))
        except (KeyError, TypeError, ValueError) as error:
            raise BadBundle(reason("row_unlike_others", file=row_file(table.name), error=repr(error))) from None
        progress(done, len(TABLES) + 1)


def _records(bundle: Bundle, table: DatabaseTable) -> Iterator[Row]:
    """Yield a table's records as they are stored."""
    rows = bundle.rows(table.name)
    if table.model is Instance:
        for row, readable in zip(rows, bundle.rows("instances"), strict=True):
            if bundle.contents.texts:
                texts = _content("source", readable["source"])
            else:
                texts = {"source": "", "messages": None, "metadata": readable["metadata"]}
            yield {**row, "gold": readable["gold"], **texts}
    elif table.model is Generation:
        text_of = _texts(bundle) if bundle.contents.texts else _blank_texts(bundle)
        for row in rows:
            yield {**row, **_content("text", text_of(row))}
    elif table.model is Hit:  # exports name it as before, its address is another one
        for row in rows:
            yield {**row, "external_id": row["external_id"] or row["key"]}
    elif table.model is JudgeRun:
        for row in rows:
            yield {**row, "status": JudgeRun.Status.PAUSED} if row["status"] in AT_WORK else row
    else:
        yield from rows


def _content(name: str, value: Any) -> Row:
    """Return the columns of a text or a conversation."""
    if not isinstance(value, list):
        return {name: value, "messages": None}
    if problem := content_problem(value, name, may_be_blank=True):
        raise BadBundle(reason("bundle_content", why=problem))
    content = as_content(value)
    return {name: str(content), "messages": stored_messages(content)}


def _texts(bundle: Bundle) -> Callable[[Row], Any]:
    """Return the text of each generation, which are asked for in their order."""
    listed = (texts for row in bundle.rows("instances") for texts in row["generations"].values())
    texts = (text for each in listed for text in each)
    return lambda _row: next(texts, None)


def _blank_texts(bundle: Bundle) -> Callable[[Row], str]:
    """Return a text of the stated length for each generation of a pair."""
    lengths: dict[int, int] = {}
    for row, pair in zip(bundle.rows("records/pair"), bundle.rows("pairs"), strict=True):
        for side in ("a", "b"):
            length = lengths[row[f"generation_{side}"]] = pair[f"length_{side}"]
            if not 0 <= length <= LONGEST_LINE:
                raise BadBundle(reason("bundle_length", length=length))
    return lambda row: "x" * lengths.get(row["id"], 1)


class StoredRows:
    """The rows that were stored for a study, found by their primary keys in the bundle."""

    def __init__(self, study: Study, *, keep_keys: bool) -> None:
        self.study = study
        self.keep_keys = keep_keys
        self.keys: dict[type[Model], Keys] = {}

    def store(self, table: DatabaseTable, rows: Iterable[Row]) -> None:
        """Store a table's rows, a chunk at a time."""
        keys = self.keys[table.model] = Keys()
        recorded = {field.name: self._reader(table, field) for field in self._recorded(table)}
        other_fields = [field for field in table.model._meta.concrete_fields if self._is_other(field, recorded)]
        names = ["id", *recorded, *(field.name for field in other_fields)]
        number = 0
        for chunk in _chunks(table, rows):
            old, values = [], []
            for row in chunk:
                number += 1
                try:
                    old.append(int(row["id"]))
                    values.append([read(row[name]) for name, read in recorded.items()])
                except (KeyError, TypeError, ValueError) as error:
                    why = reason("bundle_row", file=row_file(table.name), number=number, error=repr(error))
                    raise BadBundle(why) from None
            new = self._shared(table, recorded, values)
            fresh = [index for index, key in enumerate(new) if key is None]
            for index, key in zip(fresh, self._new_keys(table, [old[index] for index in fresh]), strict=True):
                new[index] = key
            self._insert(
                table, names, [[new[index], *values[index], *map(self._value, other_fields)] for index in fresh]
            )
            keys.add(old, new)

    @staticmethod
    def _recorded(table: DatabaseTable) -> list["Field[Any, Any]"]:
        names = RESTORED.get(table.model, ())
        fields = [*table.fields, *(field for field in table.model._meta.concrete_fields if field.name in names)]
        return [field for field in fields if (table.model, field.name) != (Hit, "key")]

    @staticmethod
    def _is_other(field: "Field[Any, Any]", recorded: Mapping[str, Any]) -> bool:
        return not (field.primary_key or field.generated or field.name in recorded)

    def _value(self, field: "Field[Any, Any]") -> Any:
        """Return the value of a column that is in no record."""
        return self.study.pk if field.name == "study" else field.get_default()

    def _reader(self, table: DatabaseTable, field: "Field[Any, Any]") -> Callable[[Any], Any]:
        if isinstance(field, ForeignKey):
            keys, is_optional = self.keys[field.related_model], field.null
            return lambda value: None if value is None and is_optional else keys[value]
        clean = partial(_cleaned, field, row_file(table.name))
        is_plain = not isinstance(field, JSONField | TextField)
        return lru_cache(REMEMBERED, typed=True)(clean) if is_plain else clean

    def _shared(self, table: DatabaseTable, names: Iterable[str], rows: list[list[Any]]) -> list[Any]:
        """Return the keys of existing rows of a shared table with the same settings, None for others.

        Raises: AnnotationError if one of the same name has others.
        """
        if self.keep_keys or not table.same:
            return [None] * len(rows)
        attributes = {name: table.model._meta.get_field(name).attname for name in table.same}  # type: ignore[union-attr]
        identity = table.same[: 2 if "version" in table.same else 1]
        keys: list[Any] = []
        for values in (dict(zip(names, row, strict=True)) for row in rows):
            existing = None
            if values[identity[0]] is not None:  # of a refusal, which is never reused
                existing = table.model._base_manager.filter(**{name: values[name] for name in identity}).first()
            keys.append(existing and existing.pk)
            differing = [at for name, at in attributes.items() if existing and getattr(existing, at) != values[name]]
            if differing:
                named = {"kind": str(table.model._meta.verbose_name), "name": str(existing)}
                raise AnnotationError(reason("not_beside_other", **named, differing=differing))
        return keys

    def _new_keys(self, table: DatabaseTable, old: list[int]) -> list[int]:
        """Return the primary keys of new rows, which no other transaction takes."""
        if self.keep_keys:
            return old
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                sequence = "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)"
                cursor.execute(sequence, [quote_table(table.model), len(old)])
                return [key for (key,) in cursor]
        highest = table.model._base_manager.aggregate(highest=Max("pk"))["highest"] or 0
        return list(range(highest + 1, highest + 1 + len(old)))

    @staticmethod
    def _insert(table: DatabaseTable, names: list[str], rows: list[list[Any]]) -> None:
        """Insert rows in plain SQL: model instances would take most of the time."""
        adapt = column_adapters(table.model, names)
        columns = ", ".join(quote_column(table.model, name) for name in names)
        marks = ", ".join(["%s"] * len(names))
        statement = f"INSERT INTO {quote_table(table.model)} ({columns}) VALUES ({marks})"  # noqa: S608  # names of our own, values as parameters
        try:
            with connection.cursor() as cursor:
                cursor.executemany(statement, [adapt_row(row, adapt) for row in rows])
        except (DatabaseError, OverflowError, ValueError) as error:
            raise BadBundle(reason("rows_not_stored", file=row_file(table.name), error=str(error))) from None


def _chunks(table: DatabaseTable, rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield rows some at a time: before one that points to another of its table, all that came before it."""
    ties = [field.name for field in table.fields if field.related_model is table.model]
    chunk: list[Row] = []
    for row in rows:
        if len(chunk) == CHUNK or (chunk and any(row.get(name) is not None for name in ties)):
            yield chunk
            chunk = []
        chunk.append(row)
    if chunk:
        yield chunk


class Keys:
    """Primary keys in a bundle, ascending or not, and those of the rows that were made."""

    def __init__(self) -> None:
        self.old, self.new = array("q"), array("q")
        self.ordered = True

    def add(self, old: list[int], new: list[int]) -> None:
        """Add keys of rows, and of what was created from them."""
        self.ordered &= all(a < b for a, b in zip([*self.old[-1:], *old], old, strict=False))
        self.old.extend(old)
        self.new.extend(new)

    def __getitem__(self, key: int) -> int:
        if not self.ordered:
            pairs = sorted(zip(self.old, self.new, strict=True))
            self.old, self.new = array("q", (pair[0] for pair in pairs)), array("q", (pair[1] for pair in pairs))
            self.ordered = True
        index = bisect_left(self.old, int(key))
        if index == len(self.old) or self.old[index] != key:
            raise KeyError(f"there is no row {key}")
        return self.new[index]


def _cleaned(field: "Field[Any, Any]", file: str, value: Any) -> Any:
    """Return a value of a field as Python has it.

    Raises: BadBundle for one that the field can't have.
    """
    try:
        value = field.to_python(value)
        if isinstance(value, str | Reason) and (problem := text_problem(str(value), may_be_blank=True)):
            raise ValidationError(problem.text)
        if value is None and not field.null:
            raise ValidationError("it is missing")
        if value not in field.empty_values:  # rows hold empty values that forms refuse
            field.validate(value, None)
            field.run_validators(value)
            if read := DOCUMENTS.get((field.model, field.name)):
                read(value)
        return value
    except ValidationError as error:
        raise BadBundle(reason("bundle_value", file=file, field=field.name, problems=error.messages)) from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise BadBundle(reason("bundle_value_unreadable", file=file, field=field.name, error=repr(error))) from None
