"""A row in every table: what a study has none of is made up by the types of its fields."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.apps import apps
from django.db import models
from django.utils import timezone

Made = dict[type[models.Model], models.Model]

CELLS = [{"only_a": 0.5, "both": None, "only_b": 0.5}]  # of the table of a whole study
# What a type alone does not tell: of constraints, and of texts that the program reads.
VALUES: dict[str, dict[str, Any]] = {
    "ArmDraw": {"instance": None},
    "AspectSet": {"aspects": ["mine aspect"], "made_by": {"method": "mine"}},
    "AuditAnswer": {"status": "error", "verdict": None},
    "Channel": {"options": {}},
    "GenerationRun": {"left_out": [{"instance": "mine", "why": "mine"}], "params": {"stop": "mine"}},
    "JudgeAudit": {"changes": ["bold"]},
    "JudgeTuning": {"plan": {"presentations": 1, "choosing": [], "shown": [], "held_out": []}, "found": {}},
    "Mail": {"kind": "invitation", "state": "failed", "user": None},
    "QualificationResult": {"right": 0},
    "TableCheck": {"found": {"supported": 0.5, "support": 0.5, "n": 2, "missing": 0, "threshold": 0.5, "cells": CELLS}},
    "Upload": {
        "names": ["mine.jsonl"],
        "bad_lines": [{"number": 1, "code": "no_rows", "values": {"what": "mine"}, "file": ""}],
    },
    "VoteChange": {"verdict": 0, "strength": None, "tie_kind": ""},
}


def tables() -> Iterator[type[models.Model]]:
    """Yield the model of every table."""
    for model in apps.get_models(include_auto_created=True):
        if model._meta.managed and not model._meta.proxy:
            yield model


def fill_empty_tables() -> None:
    """Add a row to each table without one; a row that another one needs is made before it."""
    for model in tables():
        first_of(model)


def first_of(model: type[models.Model]) -> models.Model:
    """Return the first row of a table, made if there is none."""
    found = model._base_manager.order_by("pk").first()
    if found is None:
        given = VALUES.get(model.__name__, {})
        values = {one.name: value_of(one) for one in model._meta.concrete_fields if one.name not in given}
        found = model(**{name: value for name, value in (values | given).items() if value is not models.NOT_PROVIDED})
        found.save(force_insert=True)
    return found


def value_of(field: Any) -> Any:
    """Return a value of a field's type; `NOT_PROVIDED` where the field or the database has one of its own."""
    if isinstance(field, models.AutoField) or field.generated:
        return models.NOT_PROVIDED
    if isinstance(field, models.ForeignKey):
        return first_of(field.related_model)
    if field.choices:
        return field.default if field.has_default() else field.choices[0][0]
    if field.unique and field.has_default() and not field.primary_key:
        return models.NOT_PROVIDED
    return plain_value(field)


def plain_value(field: Any) -> Any:
    """Return a value of a field that is no choice and refers to no row: never an empty one."""
    made: list[tuple[type[Any], Any]] = [
        (models.JSONField, {"mine": ["mine", 1.5, None, True]}),
        (models.BooleanField, True),
        (models.FloatField, 0.1),
        (models.DecimalField, Decimal("0.5")),
        (models.IntegerField, 1),
        (models.DateTimeField, timezone.now()),
        (models.DurationField, timedelta(seconds=1.5)),
        (models.BinaryField, b"\x00mine\xff"),
        (models.EmailField, "mine@example.org"),
        (models.GenericIPAddressField, "192.0.2.1"),
        (models.CharField, "mine"[: field.max_length]),
        (models.TextField, "mine"),
    ]
    return next((value for kind, value in made if isinstance(field, kind)), models.NOT_PROVIDED)
