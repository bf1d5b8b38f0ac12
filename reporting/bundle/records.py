"""The rows of a study's database tables, as they stand in a bundle's `records/`: all that creating the study again takes.

Accounts, keys in addresses, platforms' ids and credentials are no part of it, nor is anything of raters who have withdrawn.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.db.models import Case, F, Field, ForeignKey, Model, Q, QuerySet, When

from annotation.models import (
    Alignment,
    Annotator,
    ArmDraw,
    Assignment,
    Batch,
    Channel,
    ComparisonTable,
    Consent,
    Display,
    Event,
    Flag,
    Generation,
    Hit,
    HitPair,
    ImportRecord,
    Instance,
    Matchup,
    Pair,
    QualificationResult,
    Rating,
    SeparabilityRun,
    Slot,
    Study,
    System,
    VoteChange,
)
from annotation.studies.log import events_of
from judging.models import (
    Completion,
    Endpoint,
    GenerationRun,
    Judge,
    JudgeRun,
    Judgment,
    PromptFile,
    RationaleMark,
    TableCheck,
    TableMaking,
)
from reporting.bundle.layout import RECORDS, Contents

CHUNK = 2000
LEFT_OF_SAMPLING = ("by", "selection", "status", "in_flight", "max_cost", "done", "total", "rate")
COMPLETIONS = "completions"
Links = Judgment.completions.through
Rows = Callable[[Study], "QuerySet[Any]"]


@dataclass(frozen=True)
class DatabaseTable:
    """One database table.

    rows    : those of a study
    order   : in which they are written and made again
    left    : fields that are never written
    texts, completions, reasons : fields that are empty in a bundle without these
    only_with : the whole table is left out of a bundle without this
    computed  : columns by expressions, in place of fields
    same    : of tables that studies share: the fields by which a row is found again
    """

    model: type[Model]
    rows: Rows
    order: tuple[str, ...] = ("pk",)
    left: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    completions: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    only_with: str = ""
    computed: Mapping[str, Any] = field(default_factory=dict)
    same: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of its rows in the bundle. A completion's record is readable itself."""
        return COMPLETIONS if self.model is Completion else f"{RECORDS}/{self.model._meta.model_name}"

    @cached_property
    def fields(self) -> tuple["Field[Any, Any]", ...]:
        """The fields that are written beside the primary key."""
        return tuple(
            field
            for field in self.model._meta.concrete_fields
            if not field.primary_key and not field.generated and field.name not in self.left and self._is_inside(field)
        )

    @staticmethod
    def _is_inside(field: "Field[Any, Any]") -> bool:
        """Tell whether a foreign key points to a table of the bundle. The study itself is understood."""
        return not isinstance(field, ForeignKey) or field.related_model in MODELS

    def _empty(self, name: str) -> Any:
        field = next(candidate for candidate in self.fields if candidate.name == name)
        default = field.get_default()
        return {} if default is None and not field.null else default  # of JSON

    def written(self, study: Study, contents: Contents) -> Iterator[dict[str, Any]]:
        """Yield the rows of a study, each with its primary key as `id`."""
        if self.only_with and not contents.has(self.only_with):
            return
        empty = {
            name: self._empty(name)
            for choice in contents.as_json()
            if not contents.has(choice)
            for name in getattr(self, choice)
        }
        columns = ["id", *(field.name for field in self.fields)]
        computed = {f"bundled_{name}": expression for name, expression in self.computed.items()}
        read = [
            "pk",
            *(f"bundled_{field.name}" if field.name in self.computed else field.attname for field in self.fields),
        ]
        rows = self.rows(study).order_by(*self.order).annotate(**computed).values_list(*read)
        for values in rows.iterator(chunk_size=CHUNK):
            yield {**dict(zip(columns, values, strict=True)), **empty}


def _of(model: type[Model], path: str, *conditions: Q, **more: Any) -> DatabaseTable:
    return DatabaseTable(model, lambda study: model._default_manager.filter(*conditions, **{path: study}), **more)


def _present(path: str) -> Q:
    return Q(**{f"{path}withdrawn_at": None})


def _used(model: type[Model], *paths: str, **more: Any) -> DatabaseTable:
    """Rows of a table that studies share: those that a study uses, under one of these paths."""

    def rows(study: Study) -> "QuerySet[Any]":
        by = [model._default_manager.filter(**{path: study}).order_by().values("pk") for path in paths]
        condition = Q(pk__in=by[0])
        for keys in by[1:]:
            condition |= Q(pk__in=keys)
        return model._default_manager.filter(condition)

    return DatabaseTable(model, rows, **more)


_ON_PAGE = "display__assignment__hit__batch__study"
_HIT_RATER = _present("assignment__annotator__")
_RATER = _present("display__assignment__annotator__")
# In the order in which they are made: a table comes after those that it points to.
TABLES = (
    _of(System, "study", order=("position",)),
    _of(Instance, "study", order=("position",), left=("source", "messages", "gold"), texts=("metadata",)),
    _of(
        Generation,
        "instance__study",
        order=("instance__position", "system__position", "index"),
        left=("text", "messages"),
    ),
    _of(Matchup, "instance__study"),
    _of(Pair, "matchup__instance__study", left=("key",)),
    _of(ComparisonTable, "study", texts=("aspects", "rows")),
    _of(Annotator, "study", _present("")),
    _of(Batch, "study"),
    _of(Hit, "batch__study"),
    _of(HitPair, "hit__batch__study"),
    _of(ArmDraw, "study", Q(annotator=None) | _present("annotator__")),
    _of(Assignment, "hit__batch__study", _present("annotator__"), left=("key",), reasons=("return_comment",)),
    _of(
        Slot,
        "batch__study",
        computed={"assignment": Case(When(assignment__annotator__withdrawn_at=None, then=F("assignment_id")))},
    ),
    _of(Display, "assignment__hit__batch__study", _HIT_RATER),
    _of(Rating, _ON_PAGE, _RATER, reasons=("reason",)),
    _of(VoteChange, _ON_PAGE, _RATER, reasons=("reason",)),
    _of(Flag, _ON_PAGE, _RATER, reasons=("comment",)),
    _of(Consent, "annotator__study", _present("annotator__")),
    _of(QualificationResult, "annotator__study", _present("annotator__")),
    _of(SeparabilityRun, "study"),
    _of(Alignment, "run__study"),
    _of(Channel, "study", left=("key", "is_open", "options")),
    DatabaseTable(Event, lambda study: events_of(study).select_related(None)),
    _of(ImportRecord, "study", left=("added", "taken_back_at")),
    _used(
        Endpoint,
        *("judges__runs__study", "table_judges__runs__study", "generation_runs__study", "table_checks__table__study"),
        left=("key_env", "headers", "supports", "tested_at"),
        same=("name", "base_url", "model"),
    ),
    _used(
        PromptFile,
        "judges__runs__study",
        left=("group",),
        same=("name", "version", "text", "system_prompt", "form", "parser"),
    ),
    _used(
        Judge,
        "runs__study",
        same=(
            *("name", "method", "endpoint", "table_endpoint", "order", "combine", "repeats", "negated", "task"),
            *("prompt_file", "family", "params", "system_prompt", "table_variant", "texts_first", "seed"),
        ),
    ),
    _of(JudgeRun, "study"),
    _used(  # what answers took is counted without them too
        Completion,
        "judgments__run__study",
        completions=("cache_key", "request", "text", "response"),
        same=("cache_key",),
    ),
    _of(Judgment, "run__study", completions=("rationale", "failure"), left=("worker",)),
    _of(RationaleMark, "judgment__run__study", completions=("note",), reasons=("note",), left=("marker",)),
    _of(Links, "judgment__run__study"),
    _of(TableMaking, "judgment__run__study", only_with="completions"),
    _of(GenerationRun, "study", left=LEFT_OF_SAMPLING, texts=("left_out",)),
    _of(TableCheck, "table__study", texts=("found",)),
)
MODELS = frozenset(table.model for table in TABLES)
