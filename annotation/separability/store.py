"""Normalising raw alignments, and storing them with their separability."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection, transaction
from django.utils import timezone

from analysis.errors import AnalysisError, ConstantGroup
from analysis.similarity.separability import Normalised, normalise, separability
from analysis.types import FloatArray
from annotation.core.errors import AnnotationError
from annotation.core.reasons import reason
from annotation.core.version import VERSION
from annotation.models import Alignment, SeparabilityRun, StagedAlignment, Study
from annotation.separability.alignments import AlignmentRows, or_none
from annotation.separability.measure import AlignmentMeasure
from annotation.studies.configurations import Configuration

GROUPS = ("configuration", "study")
MAX_DISTANCE = 100.0  # of alignments from constants, in lengths of the scale
_CHUNK = 500


@dataclass(frozen=True)
class SeparabilityResult:
    """The result for one configuration.

    changed  : whether stored values changed
    computed : matchups whose alignments were computed, or reused from an interrupted computation
    undefined : matchups without a separability
    """

    run: SeparabilityRun
    configuration: Configuration
    changed: bool
    matchups: int
    undefined: int
    computed: int


@dataclass(frozen=True)
class NormalisationGroup:
    """The group over which alignments are normalised: `configuration`, `study`, or constants with bounds."""

    name: str
    bounds: tuple[float, float] | None


def parse_group(text: str) -> NormalisationGroup:
    """Parse a normalisation group: configuration, study, or MIN,MAX.

    Raises: AnnotationError.
    """
    if text in GROUPS:
        return NormalisationGroup(text, None)
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise AnnotationError(f"group is {text!r}; it must be configuration, study, or MIN,MAX") from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise AnnotationError(f"group is {text!r}; MIN must be below MAX")
    if not np.isfinite(high - low):
        raise AnnotationError(f"group is {text!r}; it has no length that can be counted with")
    return NormalisationGroup(text, (low, high))


def normalised(everything: Sequence[AlignmentRows], group: NormalisationGroup) -> list[Normalised]:
    """Normalise each configuration by its own bounds, those of the study, or constants.

    Raises: AnnotationError naming a configuration whose alignments are all equal, or far from the constants.
    """
    bounds = group.bounds
    if bounds is not None:
        _check_fit(everything, group)
    if group.name == "study":
        together = _normalised(everything, None, alike="alike_in_study")
        bounds = together.low, together.high
    return [_normalised([alignments], bounds) for alignments in everything]


def _check_fit(everything: Sequence[AlignmentRows], group: NormalisationGroup) -> None:
    """Raise AnnotationError for constants that are far from the alignments: results may overflow."""
    low, high = group.bounds or (0.0, 1.0)
    for alignments in everything:
        values = alignments.raw[~np.isnan(alignments.raw)]
        if (np.abs(values - low) > MAX_DISTANCE * (high - low)).any():
            part, least, most = str(alignments.configuration), float(values.min()), float(values.max())
            raise AnnotationError(reason("scale_does_not_fit", scale=group.name, part=part, least=least, most=most))


def _normalised(
    everything: Sequence[AlignmentRows],
    bounds: tuple[float, float] | None,
    alike: str = "alike_in_configuration",
) -> Normalised:
    low, high = bounds or (None, None)
    raw = np.concatenate([alignments.raw for alignments in everything])
    try:
        return normalise(raw[:, 0], raw[:, 1], raw[:, 2], low=low, high=high)
    except AnalysisError as error:
        code = alike if isinstance(error, ConstantGroup) else "not_normalised"
        parts = [str(alignments.configuration) for alignments in everything]
        raise AnnotationError(reason(code, parts=parts, error=str(error))) from None


@transaction.atomic
def store(
    study: Study,
    everything: Sequence[AlignmentRows],
    values: Sequence[Normalised],
    *,
    measure: AlignmentMeasure,
    group: str,
    seconds: float,
    is_staged: bool,
) -> list[SeparabilityResult]:
    """Store the alignments and separability of all configurations, and delete staged ones."""
    Study.objects.select_for_update().get(pk=study.pk)
    results = [
        _store(alignments, normal, measure, group, seconds)
        for alignments, normal in zip(everything, values, strict=True)
    ]
    if is_staged:
        StagedAlignment.objects.filter(measure_sha256=measure.sha256, matchup__instance__study=study).delete()
    return results


def _store(
    alignments: AlignmentRows, values: Normalised, measure: AlignmentMeasure, group: str, seconds: float
) -> SeparabilityResult:
    configuration = alignments.configuration
    delta = separability(values.self_a, values.self_b, values.cross)
    identity = {
        "study": configuration.study,
        "dataset": configuration.dataset,
        "system_a": configuration.system_a,
        "system_b": configuration.system_b,
        **measure.identity,
    }
    settings: dict[str, Any] = {
        "group": group,
        "low": values.low,
        "high": values.high,
        "texts_sha256": hashlib.sha256("".join(alignments.digests).encode()).hexdigest(),
        "short": alignments.short,
    }
    run = SeparabilityRun.objects.filter(**identity).first()
    if run is not None and alignments.run is not None and run.computed_at == alignments.run.computed_at:
        changed_rows = alignments.is_fresh | ~(
            (delta == alignments.delta) | (np.isnan(delta) & np.isnan(alignments.delta))
        )
        changed = bool(changed_rows.any()) or any(getattr(run, name) != value for name, value in settings.items())
    else:  # new, or changed by a concurrent computation
        if run is not None:
            run.alignments.all().delete()
        alignments.kept = [None] * len(alignments.kept)
        changed_rows, changed = np.ones(len(delta), dtype=bool), True
    if changed:
        settings |= {"seconds": seconds, "software_version": VERSION}
    if run is None:
        run = SeparabilityRun.objects.create(**identity, **settings)
    else:  # findings use the run requested last
        run.computed_at = timezone.now()
        for name, value in settings.items():
            setattr(run, name, value)
        run.save(update_fields=["computed_at", *settings])
    _write(run, alignments, delta, changed_rows)
    return SeparabilityResult(
        run, configuration, changed, len(delta), int(np.isnan(delta).sum()), int(alignments.is_fresh.sum())
    )


def _write(run: SeparabilityRun, alignments: AlignmentRows, delta: FloatArray, changed_rows: np.ndarray) -> None:
    """Write the changed rows: new ones, computed ones, and those with another separability."""
    rows = np.flatnonzero(changed_rows).tolist()
    Alignment.objects.bulk_create(
        (
            Alignment(
                run=run,
                matchup_id=alignments.matchups[row],
                digest=alignments.digests[row],
                self_a=or_none(alignments.raw[row, 0]),
                self_b=or_none(alignments.raw[row, 1]),
                cross=float(alignments.raw[row, 2]),
                separability=or_none(delta[row]),
            )
            for row in rows
            if alignments.kept[row] is None
        ),
        batch_size=_CHUNK,
    )
    stored_rows = [row for row in rows if alignments.kept[row] is not None]
    fresh = [row for row in stored_rows if alignments.is_fresh[row]]
    _update(
        ["digest", "self_a", "self_b", "cross", "separability"],
        (
            (
                alignments.digests[row],
                *map(or_none, alignments.raw[row].tolist()),
                or_none(delta[row]),
                alignments.kept[row],
            )
            for row in fresh
        ),
    )
    _update(
        ["separability"],
        ((or_none(delta[row]), alignments.kept[row]) for row in stored_rows if not alignments.is_fresh[row]),
    )


def _update(names: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> None:
    """Update columns of alignments by `executemany`, since there may be 100,000 rows.

    rows : the values, then the primary key
    """
    listed = list(rows)
    if not listed:
        return
    columns = ", ".join(f"{connection.ops.quote_name(name)} = %s" for name in names)
    table = connection.ops.quote_name(Alignment._meta.db_table)
    with connection.cursor() as cursor:
        cursor.executemany(f"UPDATE {table} SET {columns} WHERE id = %s", listed)  # noqa: S608  # names of our own, values as parameters
