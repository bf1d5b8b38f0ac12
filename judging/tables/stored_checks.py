"""Checks of comparison tables by a model, as they are stored."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from analysis.judges.table_checks import Cell, ScoredCells
from annotation.core.errors import AnnotationError
from annotation.models import Study
from judging.core.errors import BadSettings
from judging.models import Endpoint, TableCheck


def require_tables(study: Study, variant: str) -> None:
    """Raise AnnotationError if a study has no tables, or none of a variant."""
    if not study.tables.filter(**({"variant": variant} if variant else {})).exists():
        raise AnnotationError(f"study {study.slug} has no such comparison tables")


def refuse_other_endpoint(earlier: QuerySet[TableCheck], endpoint: Endpoint) -> None:
    """Refuse to mix checks of two endpoints under one name.

    Raises: BadSettings
    """
    other_check = earlier.exclude(endpoint=endpoint).select_related("endpoint").first()
    if other_check is not None:
        raise BadSettings(
            f"tables of this study were checked with {other_check.model} at endpoint "
            f"{other_check.endpoint.name}; at {endpoint.name} it may be another model. Use that endpoint, or a "
            "model name that is unique"
        )


def found(check: ScoredCells, threshold: float) -> dict[str, Any]:
    """Return the scores of a table's cells as they are stored."""
    cells: list[Mapping[Cell, float | None]] = list(check.rows)
    return {
        "threshold": threshold,
        "cells": cells,
        "n": check.n,
        "missing": check.cells - check.n,
        "supported": check.supported,
        "support": check.support,
    }
