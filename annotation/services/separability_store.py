"""Normalising raw alignments, and storing them with the separability that comes of it: as a whole, or not at all."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection, transaction
from django.utils import timezone

from analysis.errors import AnalysisError, ConstantGroup
from analysis.separability import Normalised, normalise, separability
from analysis.types import FloatArray
from annotation.configurations import Configuration
from annotation.errors import AnnotationError
from annotation.models import Alignment, SeparabilityRun, StagedAlignment, Study
from annotation.services.separability_alignments import Aligned, or_none
from annotation.services.separability_measure import Measure
from annotation.version import VERSION

GROUPS = ("configuration", "study")
FARTHEST = 100.0  # from the scale's MIN, in lengths of the scale: constants of which alignments lie farther fit none
_CHUNK = 500


@dataclass(frozen=True)
class SeparabilityResult:
    """What came of it for one configuration.

    changed  : whether anything that is stored changed
    computed : matchups whose alignments were computed, or taken over from a computation that was cut off
    undefined : matchups without a separability
    """

    run: SeparabilityRun
    configuration: Configuration
    changed: bool
    matchups: int
    undefined: int
    computed: int


@dataclass(frozen=True)
class Group:
    """What alignments are normalised over: `configuration`, `study`, or constants, with their bounds."""

    name: str
    bounds: tuple[float, float] | None


def group_of(text: str) -> Group:
    """Read a normalisation group: configuration, study, or MIN,MAX.

    Raises: AnnotationError.
    """
    if text in GROUPS:
        return Group(text, None)
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise AnnotationError(f"group is {text!r}; it must be configuration, study, or MIN,MAX") from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise AnnotationError(f"group is {text!r}; MIN must be below MAX")
    if not np.isfinite(high - low):
        raise AnnotationError(f"group is {text!r}; it has no length that can be counted with")
    return Group(text, (low, high))


def normalised(everything: Sequence[Aligned], group: Group) -> list[Normalised]:
    """Normalise each configuration by its own bounds, those of all together, or the given ones.

    Raises: AnnotationError naming the configuration whose alignments are all the same, or far from the given bounds.
    """
    bounds = group.bounds
    if bounds is not None:
        _check_fit(everything, group)
    if group.name == "study":
        whole = _normalised(everything, None)
        bounds = whole.low, whole.high
    return [_normalised([one], bounds, wider="--group study, or ") for one in everything]


def _check_fit(everything: Sequence[Aligned], group: Group) -> None:
    """Refuse constants of another order than the alignments: what comes of them is no scale, and may be infinite."""
    low, high = group.bounds or (0.0, 1.0)
    for one in everything:
        known = one.raw[~np.isnan(one.raw)]
        if (np.abs(known - low) > FARTHEST * (high - low)).any():
            raise AnnotationError(
                f"the scale {group.name} does not fit {one.configuration}: its alignments are from {known.min():g} to "
                f"{known.max():g}. Take constants near these. Nothing was stored."
            )


def _normalised(everything: Sequence[Aligned], bounds: tuple[float, float] | None, wider: str = "") -> Normalised:
    low, high = bounds or (None, None)
    raw = np.concatenate([one.raw for one in everything])
    try:
        return normalise(raw[:, 0], raw[:, 1], raw[:, 2], low=low, high=high)
    except AnalysisError as error:
        listed = "; ".join(str(one.configuration) for one in everything)
        help_ = (
            f". Nothing was stored. Take {wider}constants as --group 0,1; or another similarity, "
            "if these texts do differ"
            if isinstance(error, ConstantGroup)
            else ""
        )
        raise AnnotationError(f"separability of {listed}: {error}{help_}") from None


@transaction.atomic
def store(
    study: Study,
    everything: Sequence[Aligned],
    values: Sequence[Normalised],
    *,
    measure: Measure,
    group: str,
    seconds: float,
    is_staged: bool,
) -> list[SeparabilityResult]:
    """Store all configurations' alignments and separability, and drop what was staged for them."""
    Study.objects.select_for_update().get(pk=study.pk)
    results = [_store(one, normal, measure, group, seconds) for one, normal in zip(everything, values, strict=True)]
    if is_staged:
        StagedAlignment.objects.filter(measure_sha256=measure.sha256, matchup__instance__study=study).delete()
    return results


def _store(one: Aligned, values: Normalised, measure: Measure, group: str, seconds: float) -> SeparabilityResult:
    configuration = one.configuration
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
        "texts_sha256": hashlib.sha256("".join(one.digests).encode()).hexdigest(),
        "short": one.short,
    }
    run = SeparabilityRun.objects.filter(**identity).first()
    if run is not None and one.run is not None and run.computed_at == one.run.computed_at:
        moved = one.is_fresh | ~((delta == one.delta) | (np.isnan(delta) & np.isnan(one.delta)))
        changed = bool(moved.any()) or any(getattr(run, name) != value for name, value in settings.items())
    else:  # the first time; or another computation stored its own meanwhile
        if run is not None:
            run.alignments.all().delete()
        one.kept = [None] * len(one.kept)
        moved, changed = np.ones(len(delta), dtype=bool), True
    if changed:
        settings |= {"seconds": seconds, "software_version": VERSION}
    if run is None:
        run = SeparabilityRun.objects.create(**identity, **settings)
    else:  # findings take what was asked for last
        run.computed_at = timezone.now()
        for name, value in settings.items():
            setattr(run, name, value)
        run.save(update_fields=["computed_at", *settings])
    _write(run, one, delta, moved)
    return SeparabilityResult(
        run, configuration, changed, len(delta), int(np.isnan(delta).sum()), int(one.is_fresh.sum())
    )


def _write(run: SeparabilityRun, one: Aligned, delta: FloatArray, moved: np.ndarray) -> None:
    """Write the rows that moved: new ones, those computed anew, and those with another separability."""
    rows = np.flatnonzero(moved).tolist()
    Alignment.objects.bulk_create(
        (
            Alignment(
                run=run,
                matchup_id=one.matchups[row],
                digest=one.digests[row],
                self_a=or_none(one.raw[row, 0]),
                self_b=or_none(one.raw[row, 1]),
                cross=float(one.raw[row, 2]),
                separability=or_none(delta[row]),
            )
            for row in rows
            if one.kept[row] is None
        ),
        batch_size=_CHUNK,
    )
    known = [row for row in rows if one.kept[row] is not None]
    fresh = [row for row in known if one.is_fresh[row]]
    _update(
        ["digest", "self_a", "self_b", "cross", "separability"],
        ((one.digests[row], *map(or_none, one.raw[row].tolist()), or_none(delta[row]), one.kept[row]) for row in fresh),
    )
    _update(["separability"], ((or_none(delta[row]), one.kept[row]) for row in known if not one.is_fresh[row]))


def _update(names: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> None:
    """Set columns of alignments, each row's to its own values: a plain statement, since there may be 100,000 of them.

    rows : the values, and then the row's id
    """
    listed = list(rows)
    if not listed:
        return
    columns = ", ".join(f"{connection.ops.quote_name(name)} = %s" for name in names)
    table = connection.ops.quote_name(Alignment._meta.db_table)
    with connection.cursor() as cursor:
        cursor.executemany(f"UPDATE {table} SET {columns} WHERE id = %s", listed)
