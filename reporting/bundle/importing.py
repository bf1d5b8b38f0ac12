"""Making a study from a bundle: its records are stored, and its findings compared with the bundle's numbers."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction
from django.db.models import Field, ForeignKey, Model

from annotation.core.errors import AnnotationError
from annotation.core.tasks.progress import READING, STORING, report
from annotation.models import Event, Generation, Hit, ImportRecord, Instance, ResearchGroup, Study
from annotation.models.members import main_group
from annotation.studies.services import ensure_study, record_import, validate
from judging.models import JudgeRun
from reporting.bundle.archives import unpacked
from reporting.bundle.layout import MANIFEST, BadBundle, Progress, row_file, silent
from reporting.bundle.numbers import all_numbers
from reporting.bundle.opening import Bundle
from reporting.bundle.records import TABLES, DatabaseTable
from reporting.bundle.stored import StoredStudy
from reporting.bundle.verifying import refuse_differences, verify_bundle
from reporting.exports.content_rows import IDENTITY
from reporting.exports.folders import sha256_of

CHUNK = 1000
Row = dict[str, Any]
AT_WORK = (JudgeRun.Status.QUEUED, JudgeRun.Status.RUNNING)


def import_bundle(
    folder: Path,
    *,
    slug: str,
    group: ResearchGroup | None = None,
    progress: Progress = silent,
) -> Study:
    """Make a study of a bundle, with all its rows; or nothing, if its findings are not those of the bundle to the last digit.

    Accounts and platforms' ids are in no bundle: raters keep their pseudonyms, and channels are closed and have new addresses.

    Raises: BadBundle; AnnotationError for a taken name, or a judge or endpoint of the same name and other settings.
    """
    validate(Study(slug=slug, title=slug, group=group or main_group()))  # before minutes of verifying
    bundle = _verified(folder)
    with transaction.atomic():
        settings = {**_settings(bundle), **({} if group is None else {"group": group})}
        study = ensure_study(slug=slug, must_be_new=True, **settings)
        _store(bundle, study, progress)
    return study


def import_upload(path: Path, *, name: str, study: Study) -> str:
    """Read a bundle that was sent, as a ZIP archive, into a study that is still empty; return what was done.

    Raises: as `import_bundle`; AnnotationError for a study in which there is something.
    """
    with unpacked(path, name) as folder:
        bundle = _verified(folder, partial(report, READING))
        with transaction.atomic():
            study = Study.objects.select_for_update().get(pk=study.pk)
            if full := [table.model._meta.verbose_name_plural for table in TABLES if _is_there(table, study)]:
                raise AnnotationError(f"a bundle is read into an empty study; {study.slug} has {full[0]}")
            for setting, value in _settings(bundle).items():
                setattr(study, setting, value)
            validate(study)
            study.save()
            _store(bundle, study, partial(report, STORING))
    return f"{name}: all of the study has been made here; its findings are those of the bundle"


def verify_upload(path: Path, *, name: str, study: Study) -> str:
    """Verify a bundle that was sent, as a ZIP archive, and store nothing of it; return what was found.

    study : where it was sent; the bundle may be of any
    Raises: as `verify_bundle`.
    """
    with unpacked(path, name) as folder:
        return f"{name}: {verify_bundle(folder, partial(report, READING)).result}"


def _is_there(table: DatabaseTable, study: Study) -> bool:
    """Tell whether a study has rows of its own in a table, beside the log of how it was made."""
    return not table.same and table.model not in (Event, ImportRecord) and table.rows(study).exists()


def _verified(folder: Path, progress: Progress = silent) -> Bundle:
    bundle = verify_bundle(folder, progress)
    if not bundle.manifest["contents"]["texts"]:
        raise BadBundle("the bundle holds no texts: it can be verified, but no study made of it")
    return bundle


def _store(bundle: Bundle, study: Study, progress: Progress) -> None:
    """Store all rows, and compare the findings; within a transaction."""
    made = Made(study)
    for done, table in enumerate(TABLES, start=1):
        made.store(table, _with_texts(bundle, table))
        progress(done, len(TABLES) + 1)
    found = all_numbers(StoredStudy(study, bundle.contents), pages=bundle.states_pages)
    refuse_differences(bundle.numbers, found, "from the imported study", other_name=True)
    manifest = bundle.folder / MANIFEST
    record_import(
        study=study,
        kind="bundle",
        name=bundle.folder.name,
        data=manifest.read_bytes(),
        counts={"files": len(bundle.manifest["files"])},
        manifest=sha256_of(manifest),
    )
    progress(len(TABLES) + 1, len(TABLES) + 1)


def _settings(bundle: Bundle) -> dict[str, Any]:
    fields = {field.name: field for field in Study._meta.fields}
    settings = {}
    for name, value in bundle.study["settings"].items():
        if name not in fields or name in IDENTITY:
            raise BadBundle(f"study.json: {name} is no setting of a study")
        settings[name] = _cleaned(fields[name], value, "study.json")
    return settings


def _with_texts(bundle: Bundle, table: DatabaseTable) -> Iterator[Row]:
    """Yield a table's records, with the texts and gold that stand in the readable rows of the instances."""
    rows = bundle.rows(table.name) if table.since <= bundle.format_version else iter(())
    if table.model is Instance:
        for row, readable in zip(rows, bundle.rows("instances"), strict=True):
            yield {**row, "source": readable["source"], "gold": readable["gold"]}
    elif table.model is Generation:
        texts = (text for one in bundle.rows("instances") for listed in one["generations"].values() for text in listed)
        for row, text in zip(rows, texts, strict=True):
            yield {**row, "text": text}
    else:
        yield from rows


class Made:
    """The rows that were made for a study, found by their primary keys in the bundle."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.keys: dict[type[Model], Keys] = {}

    def store(self, table: DatabaseTable, rows: Iterator[Row]) -> None:
        """Store a table's rows, a chunk at a time.

        Raises: BadBundle for a row that doesn't fit; AnnotationError for a shared one that is there with other settings.
        """
        keys = self.keys[table.model] = Keys()
        fields = self._fields(table)
        readers = {field.name: self._reader(table, field) for field in fields}
        # A bundle of an earlier version lacks the fields that were added since.
        defaults = {field.name: field.get_default() for field in fields if field.null or field.has_default()}
        number = 0
        for chunk in _chunks(table, rows):
            old, new = [], []
            for row in chunk:
                number += 1
                try:
                    present = {name: read for name, read in readers.items() if name in row or name not in defaults}
                    values = {**defaults, **{name: read(row[name]) for name, read in present.items()}}
                    old.append(int(row["id"]))
                except (KeyError, TypeError, ValueError) as error:
                    raise BadBundle(f"{row_file(table.name)}: row {number}: {error!r}") from None
                new.append(self._made(table, values))
            self._insert(table, new)
            keys.add(old, [one.pk for one in new])

    def _fields(self, table: DatabaseTable) -> list["Field[Any, Any]"]:
        names = RESTORED.get(table.model, ())
        return [*table.fields, *(field for field in table.model._meta.concrete_fields if field.name in names)]

    def _reader(self, table: DatabaseTable, field: "Field[Any, Any]") -> Callable[[Any], Any]:
        where = row_file(table.name)
        if isinstance(field, ForeignKey):
            known = self.keys[field.related_model]
            return lambda value: None if value is None and field.null else known[value]
        return lambda value: _cleaned(field, value, where)

    def _made(self, table: DatabaseTable, values: Row) -> Any:
        """Return the new row, or that of a shared table which is there already."""
        columns = {table.model._meta.get_field(name).attname: value for name, value in values.items()}  # type: ignore[union-attr]
        if table.same and (there := self._shared(table, columns)) is not None:
            return there
        if any(field.name == "study" for field in table.model._meta.fields):
            columns["study_id"] = self.study.pk
        if table.model is Hit:  # exports name it as before, its address is another one
            columns["external_id"] = columns["external_id"] or columns.pop("key")
            columns.pop("key", None)
        made = table.model(**columns)
        if isinstance(made, JudgeRun) and made.status in AT_WORK:
            made.status = JudgeRun.Status.PAUSED
        return made

    @staticmethod
    def _shared(table: DatabaseTable, columns: Mapping[str, Any]) -> Model | None:
        """Find the row of a shared table with the same settings.

        Raises: AnnotationError if one of that name has others.
        """
        names = [table.model._meta.get_field(name).attname for name in table.same]  # type: ignore[union-attr]
        identity = names[: 2 if "version" in table.same else 1]
        if columns[identity[0]] is None:  # a refusal, which is never reused
            return None
        there = table.model._base_manager.filter(**{name: columns[name] for name in identity}).first()
        if there is None:
            return None
        if differing := [name for name in names if getattr(there, name) != columns[name]]:
            noun = table.model._meta.verbose_name
            raise AnnotationError(
                f"there is a {noun} {there} here already, with other settings ({', '.join(differing)}); the study can't be "
                "imported beside it"
            )
        return there

    @staticmethod
    def _insert(table: DatabaseTable, rows: list[Any]) -> None:
        fresh = [row for row in rows if row.pk is None]
        try:
            with transaction.atomic():
                table.model._base_manager.bulk_create(fresh, batch_size=CHUNK)
        except (DatabaseError, ValueError) as error:
            raise BadBundle(f"{row_file(table.name)}: the rows can't be stored: {error}") from None


def _chunks(table: DatabaseTable, rows: Iterator[Row]) -> Iterator[list[Row]]:
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


# What stands in readable rows instead of a table's records.
RESTORED: Mapping[type[Model], tuple[str, ...]] = {Instance: ("source", "gold"), Generation: ("text",)}


class Keys:
    """Primary keys in a bundle, ascending or not, and those of the rows that were made."""

    def __init__(self) -> None:
        self.old, self.new = array("q"), array("q")
        self.ordered = True

    def add(self, old: list[int], new: list[int]) -> None:
        """Add keys of rows, and of what was made of them."""
        self.ordered &= all(a < b for a, b in zip([*self.old[-1:], *old], old, strict=False))
        self.old.extend(old)
        self.new.extend(new)

    def __getitem__(self, key: int) -> int:
        if not self.ordered:
            pairs = sorted(zip(self.old, self.new, strict=True))
            self.old, self.new = array("q", (one[0] for one in pairs)), array("q", (one[1] for one in pairs))
            self.ordered = True
        place = bisect_left(self.old, int(key))
        if place == len(self.old) or self.old[place] != key:
            raise KeyError(f"there is no row {key}")
        return self.new[place]


def _cleaned(field: "Field[Any, Any]", value: Any, where: str) -> Any:
    """Return a value of a field as Python has it.

    Raises: BadBundle for one that the field can't have.
    """
    try:
        if isinstance(value, str) and "\0" in value:
            raise ValidationError("null characters are not allowed")
        value = field.to_python(value)
        if value is None and not field.null:
            raise ValidationError("it is missing")
        if value not in field.empty_values:  # rows hold empty values that forms refuse
            field.validate(value, None)
            field.run_validators(value)
        return value
    except ValidationError as error:
        raise BadBundle(f"{where}: {field.name}: {' '.join(error.messages)}") from None
