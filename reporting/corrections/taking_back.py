"""Taking an import back, while nothing was built on its rows."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Model
from django.urls import reverse
from django.utils import timezone

from annotation.core.errors import AnnotationError, UnknownName
from annotation.importing.staging import delete_added, is_under_way, levels
from annotation.models import (
    Alignment,
    Annotator,
    ArmDraw,
    Assignment,
    Batch,
    ComparisonTable,
    Display,
    Event,
    Generation,
    Hit,
    HitPair,
    ImportRecord,
    Instance,
    Rating,
    SeparabilityRun,
    Slot,
    StagedAlignment,
    Study,
    System,
)
from annotation.studies.log import log
from annotation.studies.presets import ORIGINS
from annotation.studies.services import find_study
from judging.models import AuditAnswer, JudgeRun, Judgment, RationaleMark, TableCheck
from reporting.corrections.declarations import Correction, Effect, effects_of
from reporting.uploads.jobs import UNDER_WAY

WHOLE = 5_000  # rows that are deleted in one transaction
Ranges = Sequence[Sequence[int]]
# Computed from the rows, or about them alone: these are deleted with them.
DERIVED = (Alignment, StagedAlignment, SeparabilityRun, TableCheck, ArmDraw)
PART = 500
LINKS = (HitPair, Slot)  # of a HIT, which is counted itself
NOUNS: dict[type[Model], str] = {
    System: "systems",
    Instance: "instances",
    Generation: "texts",
    ComparisonTable: "comparison tables",
    Annotator: "raters",
    Batch: "batches",
    Hit: "HITs",
    Assignment: "claims of HITs",
    Rating: "ratings",
    JudgeRun: "runs of judges",
    Judgment: "judgments",
    AuditAnswer: "stress-test answers",
    RationaleMark: "marks of judgments",
}


class TakeBack(Correction):
    """Take back an import: delete all that it added."""

    action = "take-back"
    title = "Take this import back"
    by_link = True
    explanation = (
        "Deletes all that the file added and all that was computed from it. Not possible once ratings, judgments, "
        "batches or more texts depend on it."
    )

    record = forms.CharField(
        required=True, max_length=255, label="Import", help_text="Its number, or the name of its file."
    )
    field_order = ("record", "reason")
    is_done = True

    def effects(self) -> list[Effect]:
        """List the rows of the import by table."""
        record = find_import(self.study, self.cleaned_data["record"])
        refuse_built_on(record)
        return effects_of({noun: len_of(added_to(record, model)) for model, noun in NOUNS.items()})

    def run(self, *, by: User | None) -> str:
        """Delete the rows of the import, or have the worker delete many."""
        record = find_import(self.study, self.cleaned_data["record"])
        name = record.file_name
        self.is_done = take_back(record=record, by=by, reason=self.cleaned_data["reason"], wait=by is None)
        if self.is_done:
            return f"The import of {name} was taken back."
        return f"The import of {name} is being taken back. The study opens again when its rows are deleted."

    @property
    def page(self) -> str:
        """The study, or the list of studies while this one is closed."""
        return super().page if self.is_done else reverse("annotation:studies")


def find_import(study: Study, named: str) -> ImportRecord:
    """Return an import of a study by its number, or by the name of its file.

    Raises: UnknownName listing the study's imports.
    """
    records = study.imports.exclude(kind__in=ORIGINS)
    matching = [record for record in records if named in (str(record.pk), record.file_name)]
    if len(matching) != 1:
        problem = "has no import" if not matching else "has several imports"
        listed = ", ".join(
            f"{record.pk} ({record.file_name}, {record.imported_at:%Y-%m-%d %H:%M})" for record in records
        )
        raise UnknownName(f"Study {study.slug} {problem} {named}. Its imports: {listed or 'none'}.", "record")
    return matching[0]


def take_back(*, record: ImportRecord, by: User | None = None, reason: str = "", wait: bool = False) -> bool:
    """Delete all that an import added. Return False if the worker is to delete it, since it is much.

    wait : delete it here in any case
    Raises: AnnotationError if its rows are not known, if something was built on them, or another import is under way.
    """
    try:
        with transaction.atomic():
            study = find_study(record.study.slug, lock=True)
            record = study.imports.select_related("study").get(pk=record.pk)
            refuse_built_on(record)
            for name in ("annotator", "assignment", "batch"):  # the log keeps entries that are about them
                for first, last in record.added.get(f"annotation.{name}", ()):
                    study.events.filter(**{f"{name}__gte": first, f"{name}__lte": last}).update(**{name: None})
            record.taken_back_at = timezone.now()
            record.save(update_fields=["taken_back_at"])
            changes = {"file": record.file_name, "kind": record.kind, "sha256": record.sha256, **record.counts}
            log(study=study, kind=Event.Kind.TAKEN_BACK, by=by, reason=reason, changes=changes)
            if is_small := sum(map(len_of, record.added.values())) <= WHOLE:
                delete_added(record)
            else:
                Study._base_manager.filter(pk=study.pk).update(merging=True)
        if not is_small and wait:
            delete_added(record)
    except IntegrityError as error:
        raise AnnotationError("The study has changed meanwhile. Try again.") from error
    return is_small or wait


def refuse_built_on(record: ImportRecord) -> None:
    """Refuse to take an import back on whose rows something was built.

    Raises: AnnotationError listing what was built, and the later imports that brought it.
    """
    if not record.added:
        raise AnnotationError(
            f"The rows of {record.file_name} are not known: it was imported by an earlier version, or as a bundle. "
            "It can’t be taken back."
        )
    if is_under_way(record.study) or record.study.uploads.filter(status__in=UNDER_WAY).exists():
        raise AnnotationError("An import into this study is under way. Take this one back when it is done.")
    built = _built_on(record)
    if not built:
        return
    nouns = {model: NOUNS.get(model, str(model._meta.verbose_name_plural)) for model in built}
    counts = ", ".join(str(Effect(len(keys), nouns[model])) for model, keys in built.items())
    later = [
        other.file_name
        for other in record.study.imports.filter(pk__gt=record.pk)
        if any(is_in(added_to(other, model), min(keys)) for model, keys in built.items())
    ]
    advice = f" Take back first: {', '.join(dict.fromkeys(later))}." if later else ""
    raise AnnotationError(f"{record.file_name} can’t be taken back: built on it since: {counts}.{advice}")


def _built_on(record: ImportRecord) -> dict[type[Model], set[int]]:
    """Return the rows of others that refer to rows of an import, by model."""
    built: defaultdict[type[Model], set[int]] = defaultdict(set)
    for level in levels():
        ranges = added_to(record, level.model)
        for model, column in _references(level.model) if ranges else ():
            own = added_to(record, model)
            for first, last in ranges:
                rows = model._base_manager.filter(**{f"{column}__gte": first, f"{column}__lte": last}).order_by()
                pks = rows.values_list("pk", flat=True).iterator(chunk_size=2_000)
                built[model].update(pk for pk in pks if not is_in(own, pk))
    displays = sorted(built.pop(Display, ()))
    for start in range(0, len(displays), PART):
        ratings = Rating._base_manager.filter(display__in=displays[start : start + PART]).order_by()
        built[Rating].update(ratings.values_list("pk", flat=True))
    return {model: keys for model, keys in built.items() if keys and model not in LINKS}


def _references(model: type[Model]) -> Iterator[tuple[type[Model], str]]:
    """Yield the tables and columns that refer to a model, but those of derived rows and of the log."""
    for relation in model._meta.get_fields(include_hidden=True):
        if (relation.one_to_many or relation.one_to_one) and relation.auto_created and not relation.concrete:
            related: Any = relation.related_model
            if related not in (*DERIVED, Event) and not related._meta.auto_created:
                yield related, relation.field.attname  # type: ignore[union-attr]


def added_to(record: ImportRecord, model: type[Model]) -> Ranges:
    """Return the ranges of keys of a table's rows that an import added."""
    return record.added.get(model._meta.label_lower, ())


def len_of(ranges: Ranges) -> int:
    """Return the number of keys in ranges."""
    return sum(last - first + 1 for first, last in ranges)


def is_in(ranges: Ranges, key: int) -> bool:
    """Return whether a key is in one of some ranges, which are in order."""
    index = bisect_right(ranges, key, key=lambda row: row[0]) - 1
    return index >= 0 and key <= ranges[index][1]
