"""Writing answers and results, a group in one transaction, by plain statements: models would cost most of the time."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

from django.db import connection, models, transaction
from django.utils import timezone

from judging.judges import Method, Setting
from judging.models import Completion, JudgeRun, Judgment
from judging.services.cases import Spent, Stored
from judging.services.presentations import in_study_order, task_for
from judging.services.reading import Reading

LINKS = Judgment.completions.through
COMPLETION = (
    *("cache_key", "base_url", "request", "sample", "kind", "text", "finish_reason", "response"),
    *("prompt_tokens", "completion_tokens", "cost", "latency_ms", "created_at"),
)
SPENT = ("prompt_tokens", "completion_tokens", "cost")
RESULT = (
    *("status", "verdict", "p_b", "score_a", "score_b", "rationale", "failure", "calls", "cached"),
    *SPENT,
    *("prompt_version", "parser_version", "judged_at", "worker"),
)
PART = 500  # rows that one statement names
T = TypeVar("T")


@dataclass(slots=True)
class Result:
    """What came of a cell.

    calls : answers used; `cached` : those of them that this cell did not pay for
    used  : the answers, to be linked
    """

    pk: int
    order: str
    reading: Reading
    calls: int = 0
    cached: int = 0
    spent: Spent = field(default_factory=Spent)
    used: Sequence[Stored] = ()


@dataclass(slots=True)
class Group:
    """Everything that one transaction writes.

    answers : new ones
    results : of cells that ended
    bills   : what cells that go on have spent so far, by their primary keys
    links   : cells and the answers that were paid for them
    """

    answers: list[Stored] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    bills: dict[int, Spent] = field(default_factory=dict)
    links: list[tuple[int, Stored]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.answers or self.results or self.bills or self.links)


@dataclass(frozen=True)
class Stamp:
    """What every result of a run carries. `worker`: only cells that it holds are written to; `None`: any."""

    base_url: str
    prompt_version: str
    parser_version: str
    worker: int | None = None


def stamp_of(
    run: JudgeRun, method: Method, setting: Setting, base_url: str = "", *, worker: int | None = None
) -> Stamp:
    """Return what every result of a run carries."""
    task = task_for(run.judge, run.study.task_kind)
    return Stamp(base_url, method.prompt_version(task, setting), method.parser_version, worker)


def write(group: Group, stamp: Stamp) -> None:
    """Store a group: answers first, for results refer to them."""
    with transaction.atomic():
        write_answers(group.answers, stamp.base_url)
        write_results(group.results, stamp)
        write_rows(
            update_statement(Judgment, SPENT, where="id"),
            adapters(Judgment, SPENT),
            ([*spent_row(spent), pk] for pk, spent in group.bills.items()),
        )
        links = {(result.pk, used.pk) for result in group.results for used in result.used}
        links |= {(pk, stored.pk) for pk, stored in group.links}
        statement = insert_statement(LINKS, ("judgment", "completion"))
        write_rows(statement, adapters(LINKS, ("judgment", "completion")), sorted(links))


def write_answers(answers: Sequence[Stored], base_url: str) -> None:
    """Store answers and give them their primary keys.

    One that is never to be reused has no name, and one whose name another worker has just taken is kept without one:
    results refer to what was read.
    """
    now = timezone.now()
    named = {stored.key: stored for stored in answers if not stored.refused}
    rows = [completion_row(stored, base_url, now) for stored in named.values()]
    for part in parts(rows):
        for key, pk in insert_returning(Completion, COMPLETION, part, ("cache_key", "id")):
            named[key].pk = pk
    for stored in answers:
        if stored.pk is None:
            values = dict(zip(COMPLETION, completion_row(stored, base_url, now), strict=True))
            stored.pk = Completion.objects.create(**{**values, "cache_key": None}).pk


def write_results(results: Sequence[Result], stamp: Stamp) -> None:
    """Store what came of cells, in study order."""
    now = timezone.now()
    where = ("id",) if stamp.worker is None else ("id", "worker")
    ids = [] if stamp.worker is None else [stamp.worker]
    write_rows(
        update_statement(Judgment, RESULT, where=where),
        adapters(Judgment, RESULT),
        ([*result_row(result, stamp, now), result.pk, *ids] for result in results),
    )


def completion_row(stored: Stored, base_url: str, now: datetime) -> list[Any]:
    """Return the values of an answer, in the order of `COMPLETION`."""
    request, reply, spent = stored.request, stored.reply, stored.spent
    if request is None:
        raise TypeError("an answer from the cache is not stored again")
    return [
        *(stored.key, base_url, request.body, request.sample, request.kind, reply.text, reply.finish_reason),
        *(reply.response, spent.prompt_tokens, spent.completion_tokens, spent.cost, stored.latency_ms, now),
    ]


def result_row(result: Result, stamp: Stamp, now: datetime) -> list[Any]:
    """Return the values of a result, in the order of `RESULT`."""
    return [
        *(*result_values(result), result.calls, result.cached, *spent_row(result.spent)),
        *(stamp.prompt_version, stamp.parser_version, now, None),
    ]


def result_values(result: Result) -> list[Any]:
    """Return how a cell was read, in study order."""
    outcome = result.reading.outcome
    verdict, p_b, score_a, score_b = in_study_order(outcome, result.order) if outcome else (None, None, None, None)
    rationale = outcome.rationale if outcome else ""
    return [result.reading.status, verdict, p_b, score_a, score_b, rationale, result.reading.failure]


def spent_row(spent: Spent) -> list[Any]:
    """Return the values of what was spent, in the order of `SPENT`."""
    return [spent.prompt_tokens, spent.completion_tokens, spent.cost]


def insert_statement(model: type[models.Model], names: Sequence[str]) -> str:
    """Return a statement that inserts a row unless it is there."""
    columns = ", ".join(quoted(model, name) for name in names)
    table, marks = connection.ops.quote_name(model._meta.db_table), ", ".join(["%s"] * len(names))
    return f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING"


def update_statement(model: type[models.Model], names: Sequence[str], *, where: str | Sequence[str]) -> str:
    """Return a statement that updates one row."""
    table = connection.ops.quote_name(model._meta.db_table)
    settings = ", ".join(f"{quoted(model, name)} = %s" for name in names)
    conditions = [where] if isinstance(where, str) else where
    return f"UPDATE {table} SET {settings} WHERE {' AND '.join(f'{quoted(model, one)} = %s' for one in conditions)}"


def quoted(model: type[models.Model], name: str) -> str:
    """Return the column of a field, quoted."""
    field_ = model._meta.get_field(name)
    if not isinstance(field_, models.Field):
        raise TypeError(f"{name} is no column of {model.__name__}")
    return connection.ops.quote_name(str(field_.column))


Adapter = Callable[[Any], Any]


def adapters(model: type[models.Model], names: Sequence[str]) -> list[tuple[int, Adapter]]:
    """Return, for each column whose values the database takes in another form, its place and what makes that form."""
    found: list[tuple[int, Adapter]] = []
    for place, name in enumerate(names):
        one = model._meta.get_field(name)
        if isinstance(one, models.JSONField):
            found.append((place, json.dumps))
        elif isinstance(one, models.DateTimeField):
            found.append((place, connection.ops.adapt_datetimefield_value))
        elif isinstance(one, models.DecimalField):
            found.append((place, decimal_adapter(one)))
    return found


def decimal_adapter(of: "models.DecimalField[Any, Any]") -> Adapter:
    """Return what makes a decimal of a field's size."""

    def adapt(value: Decimal | None) -> Any:
        return connection.ops.adapt_decimalfield_value(value, of.max_digits, of.decimal_places)

    return adapt


def write_rows(statement: str, adapt: Sequence[tuple[int, Adapter]], rows: Iterable[Sequence[Any]]) -> None:
    """Execute a statement for each row of values."""
    if ready := [adapted(row, adapt) for row in rows]:
        with connection.cursor() as cursor:
            cursor.executemany(statement, ready)


def insert_returning(
    model: type[models.Model], names: Sequence[str], rows: Sequence[Sequence[Any]], wanted: Sequence[str]
) -> list[tuple[Any, ...]]:
    """Insert rows by one statement, but for those that are there already; return some fields of the new ones."""
    one, adapt = insert_statement(model, names), adapters(model, names)
    further = f", ({', '.join(['%s'] * len(names))})" * (len(rows) - 1)
    statement = one.replace(" ON CONFLICT", f"{further} ON CONFLICT")
    with connection.cursor() as cursor:
        returning = ", ".join(quoted(model, name) for name in wanted)
        cursor.execute(f"{statement} RETURNING {returning}", [value for row in rows for value in adapted(row, adapt)])
        return cursor.fetchall()


def adapted(row: Sequence[Any], adapt: Sequence[tuple[int, Adapter]]) -> list[Any]:
    """Return a row in the form that the database takes."""
    values = list(row)
    for place, make in adapt:
        if values[place] is not None:
            values[place] = make(values[place])
    return values


def parts(entries: Sequence[T]) -> Iterable[Sequence[T]]:
    """Split a list into what one statement takes."""
    return (entries[start : start + PART] for start in range(0, len(entries), PART))
