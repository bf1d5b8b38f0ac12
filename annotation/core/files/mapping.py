"""Mapping the fields of a file to those of a format."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from annotation.core.errors import MOST_BAD_LINES, BadFile, BadLine, Unacceptable
from annotation.core.files import lines
from annotation.core.files.lines import FileData, Record, listed
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal

HELP = (
    "FIELD=COLUMN takes a field from a column or key of the file (source=prompt, generations.gpt-4=answer_a, "
    'source=messages.0.content); FIELD="text" gives all records the same text; '
    "instance_id=# numbers the records"
)
ROW_NUMBER = "#"  # in place of a column: the record's place in the file, from 1
MOST = 1_000  # fields of a mapping

Json = dict[str, Any]
Convert = Callable[[Iterable[Record], list[BadLine]], Iterator[Record]]
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Unfit(Exception):
    """A record that a public form can't be converted from."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class PublicForm:
    """A form in which data are published, known by the fields of its first record.

    kind    : of files, whose importer reads it
    convert : records → records in the fields of that kind, and bad lines, which it fills; None where they have them, see `each`
    """

    name: str
    title: str
    kind: str
    fields: tuple[str, ...]
    convert: Convert | None = None


# Field → column, quoted text or ROW_NUMBER; or a public form.
FieldMapping = Mapping[str, str] | PublicForm
NOTHING: FieldMapping = {}
_MISSING = object()


def parse_mapping(arguments: Iterable[str]) -> dict[str, str]:
    """Return field → column or quoted text, from arguments FIELD=COLUMN.

    Raises: Unacceptable for an argument without both, a field that is named twice, and a column of several texts.
    """
    mapping: dict[str, str] = {}
    for argument in arguments:
        field, equals, column = (part.strip() for part in argument.partition("="))
        if not (field and equals and column):
            raise Unacceptable(f'“{argument[:100]}” is not a mapping; write FIELD=COLUMN or FIELD="text"')
        if field in mapping:
            raise Unacceptable(f"the mapping names {field} twice")
        mapping[field] = column
    texts = [column for field, column in mapping.items() if field == "source" or field.startswith("generations.")]
    if repeated := next((column for column in texts if texts.count(column) > 1), None):
        raise Unacceptable(f"the mapping takes column {repeated} for several texts; source and systems differ")
    if len(mapping) > MOST:
        raise Unacceptable(f"the mapping has {len(mapping):,} fields; at most {MOST:,} are taken")
    return mapping


def fits(mapping: Mapping[str, str], fields: Iterable[str]) -> bool:
    """Tell whether a file with these fields has all columns of a mapping, or the objects in which they lie."""
    names, columns = set(fields), _columns(mapping)
    return bool(columns) and all(column in names or column.partition(".")[0] in names for column in columns)


def recorded(mapping: FieldMapping) -> dict[str, Any]:
    """Return what the record of an import holds of its mapping."""
    if isinstance(mapping, PublicForm):
        return {"form": mapping.name}
    return {"mapping": dict(mapping)} if mapping else {}


def in_own_columns(import_file: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let a function's refusals name, beside a field, the column from which its argument `mapping` takes it."""

    @wraps(import_file)
    def imported(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return import_file(*args, **kwargs)
        except BadFile as error:
            mapping = kwargs.get("mapping")
            if not isinstance(mapping, Mapping):
                raise
            raise BadFile(error.name, [_in_own_column(line, mapping) for line in error.lines]) from None

    return imported


def _in_own_column(line: BadLine, mapping: Mapping[str, str]) -> BadLine:
    values = line.reason.values
    column = mapping.get(field := values.get("field", ""), field)
    if column in (field, ROW_NUMBER):
        return line
    return replace(line, reason=line.reason.with_values(**{**values, "field": f"{column} ({field})"}))


def read_mapped(data: FileData, mapping: FieldMapping) -> tuple[Iterator[Record], list[BadLine]]:
    """Return an iterator over the records of a JSON or CSV file with their fields renamed, and the bad lines, which it fills.

    Columns that the mapping does not name keep their names.
    """
    records, bad = lines.read_content(data)
    if isinstance(mapping, PublicForm):
        return mapping.convert(records, bad) if mapping.convert else records, bad
    return (_mapped(records, mapping, bad) if mapping else records), bad


def each(convert: Callable[[Json], Iterable[Json]]) -> Convert:
    """Convert a record at a time, by a function that raises Unfit, or KeyError for a missing field."""

    def converted(records: Iterable[Record], bad: list[BadLine]) -> Iterator[Record]:
        for number, record in records:
            if len(bad) >= MOST_BAD_LINES:
                return
            try:
                results = list(convert(record))
            except Unfit as error:
                bad.append(BadLine(number, error.reason))
            except KeyError as error:
                bad.append(BadLine(number, refusal("missing", field=str(error.args[0]))))
            else:
                yield from ((number, result) for result in results)

    return converted


def _mapped(records: Iterable[Record], mapping: Mapping[str, str], bad: list[BadLine]) -> Iterator[Record]:
    columns = _columns(mapping)
    unseen = set(columns)
    first: dict[str, Any] = {}
    for place, (number, record) in enumerate(records, start=1):
        first = first or record
        mapped = {key: value for key, value in record.items() if key not in columns}
        for field, column in mapping.items():
            value = _value(record, column, place)
            if value is not _MISSING:
                unseen.discard(column)
                _set(mapped, field, value)
        yield number, mapped
    if first and unseen:
        bad.append(BadLine(1, refusal("not_mapped", columns=", ".join(sorted(unseen)), fields=listed(list(first)))))


def _is_text(column: str) -> bool:
    return len(column) > 1 and column[0] == column[-1] == '"'


def _columns(mapping: Mapping[str, str]) -> set[str]:
    """Return the columns of a file among those of a mapping."""
    return {column for column in mapping.values() if not _is_text(column) and column != ROW_NUMBER}


def _value(record: Mapping[str, Any], column: str, place: int) -> Any:
    """Return a quoted text, the place for ROW_NUMBER, a field of the column's name, or what lies at its dotted path."""
    if _is_text(column):
        return column[1:-1]
    if column == ROW_NUMBER:
        return str(place)
    if column in record:
        return record[column]
    value: Any = record
    for part in column.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isascii() and part.isdigit() and len(part) < 7 and int(part) < len(value):
            value = value[int(part)]
        else:
            return _MISSING
    return value


def _set(record: dict[str, Any], field: str, value: Any) -> None:
    """Set a field, or after its first dot a key of the object in it, as in generations.gpt-4.1."""
    outer, dot, inner = field.partition(".")
    if not dot:
        record[field] = value
        return
    existing = record.get(outer)
    record[outer] = {**existing, inner: value} if isinstance(existing, dict) else {inner: value}
