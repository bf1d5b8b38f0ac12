"""Checking a study's comparison tables by vectors, and storing the results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.db import transaction
from django.utils import timezone

from analysis.table_checks import SUPPORTED, VectorCheck, check_by_vectors, summarize_cosines
from annotation.models import ComparisonTable, Study
from judging.core.errors import BadSettings
from judging.embeddings.services import Embedder
from judging.models import TableCheck
from judging.tables.checked_tables import rows_of, with_texts
from judging.tables.stored_checks import found, refuse_other_endpoint

TABLES_PER_ROUND = 20  # tables whose texts are embedded together


@dataclass(frozen=True)
class CheckProgress:
    """The progress of `check_tables`.

    made, kept : tables checked now, and before
    calls, tokens : of the endpoint
    """

    made: int = 0
    kept: int = 0
    calls: int = 0
    tokens: int = 0


def check_tables(
    *,
    study: Study,
    embedder: Embedder,
    variant: str = "",
    threshold: float = SUPPORTED,
    on_progress: Callable[[CheckProgress], None] | None = None,
) -> CheckProgress:
    """Check every table of a study, or of a variant, that has not been checked with this model yet.

    It can be interrupted and resumed at any moment. A new threshold is applied to stored results without a call.

    Raises: BadSettings for an invalid threshold, or if another endpoint has checked tables under this model's name;
    CallFailed; BadVectors; EndpointRefused.
    """
    if not -1 <= threshold <= 1:
        raise BadSettings(f"the threshold is {threshold}: a cosine lies between -1 and 1")
    tables = ComparisonTable.objects.filter(study=study).order_by("pk")
    if variant:
        tables = tables.filter(variant=variant)
    earlier = TableCheck.objects.filter(table__in=tables.values("pk"), model=embedder.model)
    refuse_other_endpoint(earlier, embedder.endpoint)
    _set_threshold(list(earlier.order_by("pk")), threshold)
    done = set(earlier.values_list("table_id", flat=True))
    open_ones = [pk for pk in tables.values_list("pk", flat=True) if pk not in done]
    checked = CheckProgress(kept=len(done))
    for start in range(0, len(open_ones), TABLES_PER_ROUND):
        some = open_ones[start : start + TABLES_PER_ROUND]
        _check(list(with_texts(ComparisonTable.objects.filter(pk__in=some)).order_by("pk")), embedder, threshold)
        checked = replace(checked, made=start + len(some), calls=embedder.calls, tokens=embedder.tokens)
        if on_progress:
            on_progress(checked)
    return checked


@transaction.atomic
def _set_threshold(earlier: Sequence[TableCheck], threshold: float) -> None:
    changed = [check for check in earlier if check.found["threshold"] != threshold]
    for check in changed:
        check.found = found(summarize_cosines(check.found["cells"], threshold=threshold), threshold)
    TableCheck.objects.bulk_update(changed, ["found"], batch_size=200)


def _check(tables: Sequence[ComparisonTable], embedder: Embedder, threshold: float) -> None:
    """Check a few tables: embed all their texts, then store the results at once."""
    told: dict[str, None] = {}

    def listen(texts: Sequence[str]) -> Any:
        told.update(dict.fromkeys(texts))
        return np.zeros((len(texts), 1))

    for table in tables:
        _by_vectors(table, listen, threshold)
    texts = list(told)
    vectors = dict(zip(texts, embedder.encode(texts), strict=True))
    rows = [
        TableCheck(
            table=table,
            endpoint=embedder.endpoint,
            model=embedder.model,
            found=found(
                _by_vectors(table, lambda some: np.stack([vectors[text] for text in some]), threshold), threshold
            ),
            made_at=timezone.now(),
        )
        for table in tables
    ]
    TableCheck.objects.bulk_create(rows, ignore_conflicts=True)  # another process may have stored them


def _by_vectors(table: ComparisonTable, encode: Any, threshold: float) -> VectorCheck:
    pair = table.pair
    texts = pair.generation_a.text, pair.generation_b.text
    return check_by_vectors(rows_of(table.rows), *texts, encode, threshold=threshold)
