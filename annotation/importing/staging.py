"""Imports in short transactions: many rows are stored below a hidden study, and become visible together.

Readers go by a study, so that they see nothing of a hidden one, and a vote waits for no more than some of the rows. At the
end the rows move to the study that the file is for, some in each transaction, while `Study.merging` keeps readers out.
What a killed process leaves is removed with its hidden study, or, when rows have begun to move, moved by the next process.
"""

import gc
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from itertools import chain, islice
from time import monotonic, sleep
from typing import Any, TypeVar, cast

from django.db import IntegrityError, connection, transaction
from django.db.models import Max, Model
from django.utils import timezone

from annotation.core.database.bulk_sql import insert_objects
from annotation.core.errors import AnnotationError, UnknownStudy
from annotation.core.keys import new_key
from annotation.core.reasons import reason
from annotation.core.study_apps import study_apps
from annotation.core.tasks.processes import is_gone, this_process
from annotation.core.tasks.progress import STORING, report
from annotation.models import (
    Annotator,
    Assignment,
    Batch,
    ComparisonTable,
    Display,
    Generation,
    Hit,
    HitPair,
    ImportRecord,
    Instance,
    Matchup,
    Pair,
    Rating,
    Slot,
    Study,
    System,
)
from annotation.studies.services import ensure_study, record_import

log = logging.getLogger(__name__)
Row = TypeVar("Row", bound=Model)
PART = 500  # rows of one transaction
WHOLE = 1_000  # rows of a file that is stored in one transaction
BEAT = timedelta(seconds=10)  # between two signs of life
SILENT = timedelta(minutes=5)  # without a sign of life: the process of another machine has ended
PAUSE = 0.5  # seconds, while another import is under way
IMPORTING: set[str] = set()  # names of this process for its imports and deletions under way
FEW = 10  # updates that move rows in one transaction
# Seconds after which an import lets others write, and for how long: they ask SQLite for its lock every tenth of a second.
TURN, GAP = 0.2, 0.12

Same = dict[type[Model], dict[int, int]]  # staged row → the stored row that is the same
Move = Callable[[], object]


@dataclass(frozen=True)
class Level:
    """A table whose rows may be staged.

    parent   : the foreign key that leads to the study
    key      : columns that identify a row below its parent
    position : of a row below its parent, which continues behind the stored ones
    others   : further foreign keys to rows that may be staged
    latest   : of a stored row, a time that a staged row with the same key makes later
    """

    model: type[Model]
    parent: str
    key: tuple[str, ...]
    position: str = ""
    others: tuple[str, ...] = ()
    latest: str = ""

    @property
    def above(self) -> type[Model]:
        """The model of the parent."""
        return _related(self.model, self.parent)

    @property
    def rows(self) -> Any:
        """All rows, in no order."""
        return self.model._base_manager.order_by()


CONTENT = (
    Level(System, "study", ("name",)),
    Level(Instance, "study", ("instance_id",)),
    Level(Generation, "instance", ("system_id", "index")),
    Level(Matchup, "instance", ("system_a_id", "system_b_id")),
    Level(Pair, "matchup", ("index",)),
    Level(ComparisonTable, "study", ("table_id",)),
)
WORK = (
    Level(Annotator, "study", ("code",)),
    Level(Batch, "study", ("name",)),
    Level(Hit, "batch", ("external_id",)),
    Level(HitPair, "hit", ("pair_id",), position="position"),
    Level(Assignment, "hit", ("annotator_id", "attempt"), others=("annotator",), latest="submitted_at"),
    Level(Slot, "hit", ("assignment_id",), position="number", others=("batch",)),
    Level(Display, "assignment", ("pair_id",), position="position"),
    Level(Rating, "display", ("stage", "question")),
)


def levels() -> tuple[Level, ...]:
    """Return the tables whose rows may be staged, parents first."""
    return (*CONTENT, *WORK, *(level for app in study_apps() for level in app.staged_levels()))


@dataclass
class Target:
    """The target of an import.

    study  : that the file is for, and is compared with
    staged : below which new rows are stored; the same one, or a hidden one
    added  : ranges of primary keys of the new rows, by table
    rows   : of the file; parts : rows that are stored for each, at most
    """

    study: Study
    staged: Study
    added: dict[str, list[list[int]]] = field(default_factory=dict)
    rows: int = 0
    parts: int = 1
    _stored: int = 0
    _steps: list[Callable[[], object]] = field(default_factory=list)
    _beaten: float = field(default_factory=monotonic)
    _gave_way: float = field(default_factory=monotonic)

    @property
    def is_apart(self) -> bool:
        """Tell whether new rows are apart from those of the study."""
        return self.staged.pk != self.study.pk

    @property
    def studies(self) -> tuple[Study, Study]:
        """The studies that have the stored and the new rows."""
        return self.study, self.staged

    def create(self, rows: Iterable[Row]) -> list[int]:
        """Store rows of one model, some in each transaction, and return their keys."""
        # A search for garbage among all rows of a file takes seconds, and would hold up votes in the middle of a transaction.
        gc.freeze()
        remaining = iter(rows)
        keys: list[int] = []
        while part := list(islice(remaining, PART)):
            keys += insert_objects(part)
            self._stored += len(part)
            report(STORING, min(self._stored // self.parts, self.rows), self.rows)
            self.note(part)
            self.beat()
        return keys

    def note(self, rows: Sequence[Model]) -> None:
        """Note stored rows of one model as added by the import."""
        ranges = self.added.setdefault(rows[0]._meta.label_lower, [])
        for pk in sorted(row.pk for row in rows):
            if ranges and ranges[-1][1] == pk - 1:
                ranges[-1][1] = pk
            else:
                ranges.append([pk, pk])

    def beat(self) -> None:
        """Let others write, and give a sign of life, now and then."""
        if connection.vendor == "sqlite" and not connection.in_atomic_block and monotonic() - self._gave_way > TURN:
            sleep(GAP)
            self._gave_way = monotonic()
        if self.staged.importer and monotonic() - self._beaten > BEAT.total_seconds():
            self._beaten = monotonic()
            Study._base_manager.filter(pk=self.staged.pk).update(created_at=timezone.now())

    def later(self, step: Callable[[], object]) -> None:
        """Do a step when all rows are stored, before they become visible."""
        self._steps.append(step)

    def record(self, **file: Any) -> None:
        """Record the imported file, as `record_import` does."""
        self.later(lambda: record_import(study=self.study, added=self.added, **file))

    def finish(self) -> None:
        """Do the steps that were left for later."""
        for step in self._steps:
            step()


@contextmanager
def open_import(slug: str, *, rows: int, parts: int = 1, settings: dict[str, Any] | None = None) -> Iterator[Target]:
    """Yield the target of an import's rows, which become visible together as the block ends.

    rows     : of the file; unless they are few, they are staged; `parts`: see `Target`
    settings : of a new study; None: the study must exist
    Raises: UnknownStudy; AnnotationError for invalid settings.
    """
    with ExitStack() as stack:
        target = _begin(stack, slug, rows, settings)
        target.rows, target.parts = rows, parts
        if not target.staged.importer:
            yield target
            target.finish()
            return
        hidden = target.staged
        stack.callback(gc.unfreeze)
        stack.callback(IMPORTING.discard, hidden.importer)
        try:
            yield target
            if target.is_apart:
                _join(target)
            else:
                with transaction.atomic():
                    target.finish()
                    hidden.importer, hidden.created_at = "", timezone.now()
                    hidden.save(update_fields=["importer", "created_at"])
        except IntegrityError as error:
            raise AnnotationError(reason("study_changed")) from error
        finally:
            if hidden.importer and not _is_merging(hidden):
                remove(target)


def _begin(stack: ExitStack, slug: str, rows: int, settings: dict[str, Any] | None) -> Target:
    """Return the target of an import when no other one into the study is under way."""
    while True:
        with ExitStack() as attempt:
            attempt.enter_context(transaction.atomic())
            study = Study.objects.select_for_update().filter(slug=slug).first()
            names = [slug] if study is None else [_hidden_slug(study)]
            under_way = Study._base_manager.exclude(importer="").filter(slug__in=names).first()
            if under_way is None:
                if study is not None and study.merging:
                    raise AnnotationError(reason("taken_back_now"))
                if study is not None:
                    target = Target(study, study if rows <= WHOLE else _hidden_copy(study))
                elif settings is not None:
                    importer = new_importer() if rows > WHOLE else ""
                    study = ensure_study(slug=slug, importer=importer, **settings)
                    target = Target(study, study)
                else:  # without the names of others, which the user may not see
                    raise UnknownStudy(f"there is no study {slug}; this file adds to a study: import its texts first")
                if not target.staged.importer:
                    stack.push(attempt.pop_all())  # the transaction stays open
                return target
        # Another import is under way. Where its process has ended, end it in its place.
        if is_abandoned(under_way):
            settle(under_way)
        elif connection.in_atomic_block:
            raise AnnotationError(reason("other_import"))
        else:
            sleep(PAUSE)


def new_importer() -> str:
    """Return a name of this process for an import, or a deletion, that begins."""
    importer = this_process()
    IMPORTING.add(importer)
    return importer


def _hidden_slug(study: Study) -> str:
    return f"~{study.pk}"  # no short name begins so


def _study_of(hidden: Study) -> Any:
    """Return the study that a hidden one's rows are for, as a query."""
    number = hidden.slug.removeprefix("~")
    return Study._base_manager.filter(pk=int(number)) if number != hidden.slug else Study._base_manager.none()


def is_under_way(study: Study) -> bool:
    """Tell whether an import into a study is under way, or was when its process ended."""
    return Study._base_manager.filter(slug=_hidden_slug(study)).exists()


def _hidden_copy(study: Study) -> Study:
    """Create a hidden study with the settings of another one."""
    hidden = Study._base_manager.get(pk=study.pk)
    hidden.pk, hidden.key, hidden.slug = None, new_key(), _hidden_slug(study)
    hidden.importer, hidden.created_at = new_importer(), timezone.now()
    hidden._state.adding = True
    hidden.save(force_insert=True)
    return hidden


def is_abandoned(hidden: Study) -> bool:
    """Tell whether the process of an import has ended, or has let the import go, as on a full disk."""
    process = this_process().rpartition(":")[0]
    if hidden.importer.startswith(f"{process}:"):  # this one, or one that has ended and had its number
        return hidden.importer not in IMPORTING
    return is_gone(hidden.importer) or hidden.created_at < timezone.now() - SILENT


def settle_abandoned() -> None:
    """End the imports of killed processes, and delete the rows of imports that are taken back."""
    for record in ImportRecord.objects.exclude(taken_back_at=None).select_related("study"):
        delete_added(record)
    for hidden in Study._base_manager.exclude(importer=""):
        if is_abandoned(hidden):
            log.info("ending import %s, whose process has ended", hidden.slug)
            settle(hidden)


def settle(hidden: Study) -> None:
    """End an import in place of its process: move its rows if some have moved already, else remove them."""
    target = Target(_study_of(hidden).first() or hidden, hidden)
    if _is_merging(hidden):
        _merge(target, plan_moves(hidden, target.study))
    remove(target)


def remove(target: Target) -> None:
    """Delete a hidden study with its rows, some in each transaction: of an import, or one that was deleted."""
    hidden = target.staged
    for app in study_apps():
        app.before_removal(hidden)
    repeats = [(level, {"repeat_of__isnull": False}) for level in WORK if level.model is Assignment]
    for level, only in (*repeats, *((level, {}) for level in reversed(levels()))):  # repeats before what they repeat
        keys = list(level.rows.filter(**{_path(level): hidden}, **only).values_list("pk", flat=True))
        for start in range(0, len(keys), PART):
            level.rows.filter(pk__in=keys[start : start + PART]).delete()
            target.beat()
    Study._base_manager.filter(pk=hidden.pk).delete()
    for app in study_apps():
        app.after_removal()


def delete_added(record: ImportRecord) -> None:
    """Delete the rows that an import added, some in each transaction, and then its record."""
    study = record.study
    target = Target(study, study)
    for level in reversed(levels()):
        for first, last in record.added.get(level.model._meta.label_lower, ()):
            for start in range(first, last + 1, PART):
                keys = (start, min(last, start + PART - 1))
                level.rows.filter(**{"pk__range": keys, _path(level): study}).delete()
                target.beat()
    same = [other.pk for other in study.imports.exclude(pk=record.pk) if other.added == record.added]
    with transaction.atomic():
        study.imports.filter(pk__in=[record.pk, *same]).delete()
        Study._base_manager.filter(pk=study.pk).update(merging=False)
    for app in study_apps():
        app.after_removal()


def _path(level: Level) -> str:
    """Return the lookup from a row to its study."""
    parent = next((row for row in levels() if row.model is level.above), None)
    return level.parent if parent is None else f"{level.parent}__{_path(parent)}"


# Moving the rows


def _is_merging(hidden: Study) -> bool:
    return bool(_study_of(hidden).filter(merging=True).exists())


def _join(target: Target) -> None:
    """Give the rows of a hidden study to the one that they are for: in one transaction where they are few."""
    moves = plan_moves(target.staged, target.study)
    are_few = len(moves) <= FEW
    with transaction.atomic():
        Study._base_manager.select_for_update().get(pk=target.study.pk)
        target.finish()
        if are_few:
            for move in moves:
                move()
        else:
            _study_of(target.staged).update(merging=True)
    if not are_few:
        _merge(target, moves)


def _merge(target: Target, moves: Sequence[Move]) -> None:
    """Move the rows while readers of the study are kept out. After a kill `settle` moves the others."""
    gc.freeze()
    try:
        for move in moves:
            move()
            target.beat()
        _study_of(target.staged).update(merging=False)
    except BaseException:
        Study._base_manager.filter(pk=target.staged.pk).update(created_at=timezone.now() - SILENT)  # let another go on
        raise


def plan_moves(hidden: Study, study: Study) -> list[Move]:
    """Return the updates that give the rows of a hidden study to another one, each of some rows.

    A staged row with a stored counterpart stays behind, and what is below it goes to the counterpart. Parents move last, so
    that a row which has not moved is still below the hidden study.
    """
    same: Same = {Study: {hidden.pk: study.pk}}
    planned = [[*_level_moves(level, hidden, study, same)] for level in levels()]
    return [*chain.from_iterable(reversed(planned))]


def _level_moves(level: Level, hidden: Study, study: Study, same: Same) -> Iterator[Move]:
    """Yield the updates of a table's staged rows. Note which of them have stored counterparts."""
    parents = same.get(level.above, {})
    keys_of_others = {name: same[model] for name in level.others if (model := _related(level.model, name)) in same}
    if not parents and not keys_of_others:
        return
    names = [level.parent, *([level.position] if level.position else []), *keys_of_others]
    columns = [_column(level.model, name) for name in names]
    rows = level.rows.filter(**{_path(level): hidden}).order_by("pk").values_list("pk", *columns, *level.key)
    counterparts = _Counterparts(level, study, same) if parents and rows.exists() else None
    left_behind: dict[int, int] = {}
    changed: list[tuple[int, ...]] = []
    for pk, *values in rows.iterator(chunk_size=PART):
        current, key = values[: len(names)], values[len(names) :]
        fields = [*current]
        for index, new in enumerate(keys_of_others.values(), start=len(names) - len(keys_of_others)):
            fields[index] = new.get(fields[index], fields[index])
        if counterparts and current[0] in parents:
            fields[0] = parents[current[0]]
            if (counterpart := counterparts.find(fields[0], key)) is not None:
                left_behind[pk] = counterpart
                continue
            if level.position:
                fields[1] = counterparts.next_position(fields[0])
        if fields != current:
            changed.append((pk, *fields))
    if left_behind:
        same[level.model] = left_behind
    quoted = connection.ops.quote_name
    assigned = (f"{quoted(column)} = one.column{index}" for index, column in enumerate(columns, start=2))
    yield from _updates(level, ", ".join(assigned), changed, "one.column1")
    if level.latest:  # of the stored rows whose staged counterparts are later
        table, time = quoted(level.model._meta.db_table), quoted(level.latest)
        staged = f"(SELECT {time} FROM {table} AS staged WHERE staged.id = one.column1)"  # noqa: S608  # names of our own
        is_later = f"{staged} IS NOT NULL AND ({table}.{time} IS NULL OR {table}.{time} < {staged})"
        yield from _updates(level, f"{time} = {staged}", [*left_behind.items()], f"one.column2 AND {is_later}")


class _Counterparts:
    """The stored rows of a table below parents that have staged counterparts."""

    def __init__(self, level: Level, study: Study, same: Same) -> None:
        parent, targets = _column(level.model, level.parent), set(same[level.above].values())
        stored = level.rows.filter(**{_path(level): study})
        self._translations = [same.get(_related(level.model, column), {}) for column in level.key]
        self._found = {
            (of, *map(_hashable, key)): pk
            for of, pk, *key in stored.values_list(parent, "pk", *level.key).iterator(chunk_size=PART)
            if of in targets
        }
        self._following: dict[int, int] = {}
        if level.position:
            last = stored.values_list(parent).annotate(last=Max(level.position))
            self._following = {of: position + 1 for of, position in last.iterator(chunk_size=PART) if of in targets}

    def find(self, parent: int, key: Sequence[Any]) -> int | None:
        """Return the stored row with a staged row's key."""
        values = (
            new.get(value, value) if new else _hashable(value)
            for new, value in zip(self._translations, key, strict=True)
        )
        return self._found.get((parent, *values))

    def next_position(self, parent: int) -> int:
        """Return the position behind the rows so far."""
        position = self._following.get(parent, 0)
        self._following[parent] = position + 1
        return position


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _column(model: type[Model], name: str) -> str:
    column: str = model._meta.get_field(name).attname  # type: ignore[union-attr]
    return column


def _related(model: type[Model], name: str) -> type[Model]:
    """Return the model that a foreign key leads to, by its name or its column."""
    return cast(type[Model], model._meta.get_field(name).related_model)


def _updates(level: Level, columns: str, rows: Sequence[tuple[int, ...]], key: str) -> Iterator[Move]:
    """Yield updates of columns, each of some rows: whole numbers."""
    table = connection.ops.quote_name(level.model._meta.db_table)
    for start in range(0, len(rows), PART):
        values = ", ".join(f"({', '.join(map(str, map(int, row)))})" for row in rows[start : start + PART])
        sql = f"UPDATE {table} SET {columns} FROM (VALUES {values}) AS one WHERE {table}.id = {key}"  # noqa: S608  # names of our own, and whole numbers
        yield partial(_execute, sql)


def _execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)
