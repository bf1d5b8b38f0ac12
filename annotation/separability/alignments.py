"""Raw alignments of configurations: stored ones, and computed ones where texts are new or have changed."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain
from time import monotonic

import numpy as np
from django.db.models import FilteredRelation, Q
from django.utils import timezone

from analysis.similarity.separability import Alignments, alignments
from analysis.types import FloatArray
from annotation.core.errors import AnnotationError
from annotation.core.reasons import reason
from annotation.models import SeparabilityRun, StagedAlignment, Study
from annotation.separability.measure import AlignmentMeasure
from annotation.separability.texts import InstanceTexts, count_of, matchup_digest, read_texts, system_digests
from annotation.studies.configurations import Configuration

Progress = Callable[[int, int], None]  # (done, total) matchups
STAGE_SECONDS = 10.0  # between two stagings, so at most this much work is lost
FETCHED = 2000  # rows per fetch
_CHUNK = 500
_Place = tuple["AlignmentRows", int]  # a row of a configuration
_Staged = dict[int, tuple[str, list[float | None]]]  # by matchup: digest and alignments
STAGED_FOR = timedelta(days=30)  # after which results of interrupted computations are deleted


@dataclass(eq=False)
class AlignmentRows:
    """Raw alignments of one configuration, a row for each matchup, in the order of the instances' ids.

    run       : the stored run, as it was when read
    kept      : primary keys of its alignments; None for a new matchup
    raw       : (n, 3): self A, self B, cross; NaN where a system has a single generation
    delta     : (n,) stored separability
    is_fresh  : (n,) computed, or reused from an interrupted computation
    short     : matchups with fewer generations, or cross pairs, than are drawn
    """

    configuration: Configuration
    run: SeparabilityRun | None
    matchups: list[int] = field(default_factory=list)
    instances: list[int] = field(default_factory=list)
    kept: list[int | None] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    raw: FloatArray = field(default_factory=lambda: np.empty((0, 3)))
    delta: FloatArray = field(default_factory=lambda: np.empty(0))
    is_fresh: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=bool))
    short: int = 0

    @property
    def systems(self) -> tuple[int, int]:
        """A and B."""
        return self.configuration.system_a.pk, self.configuration.system_b.pk

    def take(self, row: int, digest: str, values: Alignments | Sequence[float | None]) -> None:
        """Set the alignments of a matchup."""
        self.digests[row] = digest
        self.raw[row] = values
        self.is_fresh[row] = True


def align(
    study: Study,
    configurations: Sequence[Configuration],
    measure: AlignmentMeasure,
    runs: Mapping[tuple[str, int, int], SeparabilityRun],
    progress: Progress,
) -> tuple[list[AlignmentRows], bool]:
    """Return the raw alignments of every matchup of these configurations. Only stale ones are computed.

    runs    : the stored runs by this measure, by `Configuration.key`
    returns : those of each configuration; and whether any are staged, by this computation or an earlier one
    Raises: AnnotationError naming the instance whose alignment can't be computed.
    """
    everything = [_stored_alignments(configuration, runs.get(configuration.key)) for configuration in configurations]
    rows = StagedAlignment.objects.filter(measure_sha256=measure.sha256, matchup__instance__study=study)
    columns = rows.values_list("matchup_id", "digest", "self_a", "self_b", "cross")
    staged_before: _Staged = {matchup: (digest, values) for matchup, digest, *values in columns}
    stale = _stale(everything, measure, staged_before)
    total = sum(len(instance.matchups) for instance in everything)
    remaining = sum(map(len, stale.values()))
    progress(total - remaining, total)
    systems = {instance.pk: instance.name for each in configurations for instance in (each.system_a, each.system_b)}
    staged = _Staging(measure)
    for portion in read_texts(sorted(stale), systems, measure):
        _compute(portion, stale, measure, staged)
        staged.flush_if_due()
        remaining -= sum(len(stale[instance.pk]) for instance in portion)
        progress(total - remaining, total)
    return everything, bool(staged_before) or staged.has_stored


def _stored_alignments(configuration: Configuration, run: SeparabilityRun | None) -> AlignmentRows:
    """Read the matchups of a configuration, with their stored alignments."""
    rows_stored = AlignmentRows(configuration, run)
    # By `instance_id`, so that instances, whose sources may be long, are not read.
    rows = configuration.matchups().order_by("instance_id")
    columns: tuple[str, ...] = ("pk", "instance_id")
    if run is not None:
        rows = rows.annotate(known=FilteredRelation("alignments", condition=Q(alignments__run=run)))
        names = ("id", "digest", "self_a", "self_b", "cross", "separability")
        columns = (*columns, *(f"known__{name}" for name in names))
    fetched = rows.values_list(*columns).iterator(chunk_size=FETCHED)
    listed = list(zip(*fetched, strict=True)) or [()] * len(columns)
    rows_stored.matchups, rows_stored.instances = list(listed[0]), list(listed[1])
    size = len(rows_stored.matchups)
    rows_stored.is_fresh = np.zeros(size, dtype=bool)
    if run is None:
        rows_stored.kept, rows_stored.digests = [None] * size, [""] * size
        rows_stored.raw, rows_stored.delta = np.full((size, 3), np.nan), np.full(size, np.nan)
    else:
        rows_stored.kept, rows_stored.digests = list(listed[2]), [digest or "" for digest in listed[3]]
        rows_stored.raw = np.array(listed[4:7], dtype=np.float64).reshape(3, size).T.copy()
        rows_stored.delta = np.array(listed[7], dtype=np.float64)
    return rows_stored


def _stale(everything: Sequence[AlignmentRows], measure: AlignmentMeasure, staged: _Staged) -> dict[int, list[_Place]]:
    """Return the matchups to compute, by instance, after reusing staged alignments."""
    instances = sorted(set(chain.from_iterable(rows_stored.instances for rows_stored in everything)))
    systems = set(chain.from_iterable(rows_stored.systems for rows_stored in everything))
    key, draws = measure.sha256, measure.seed is not None
    stale: dict[int, list[_Place]] = {}
    ends = [0] * len(everything)  # of the rows done so far, which are in the order of instances
    for window, digests in system_digests(instances, systems):
        for index, rows_stored in enumerate(everything):
            a, b = rows_stored.systems
            start, ends[index] = ends[index], bisect_right(rows_stored.instances, window[-1])
            for row in range(start, ends[index]):
                instance = rows_stored.instances[row]
                of_a, of_b = digests.get((instance, a), ""), digests.get((instance, b), "")
                if draws:
                    rows_stored.short += _is_short(count_of(of_a), count_of(of_b), measure)
                digest = matchup_digest(key, of_a, of_b)
                if rows_stored.digests[row] == digest:
                    continue
                before = staged.get(rows_stored.matchups[row])
                if before is not None and before[0] == digest:
                    rows_stored.take(row, digest, before[1])
                else:
                    stale.setdefault(instance, []).append((rows_stored, row))
    return stale


def _is_short(k_a: int, k_b: int, measure: AlignmentMeasure) -> bool:
    if measure.samples is not None and min(k_a, k_b) < measure.samples:
        return True
    k_a, k_b = (min(k, measure.samples or k) for k in (k_a, k_b))
    return measure.cross_pairs is not None and k_a * k_b < measure.cross_pairs


class _Staging:
    """Stores results during the computation, so that an interrupted one can be resumed."""

    def __init__(self, measure: AlignmentMeasure) -> None:
        self.measure = measure
        self.rows: list[StagedAlignment] = []
        self.since = monotonic()
        self.has_stored = False

    def add(self, matchup: int, digest: str, values: Alignments) -> None:
        """Add the alignments of a matchup."""
        row = StagedAlignment(measure_sha256=self.measure.sha256, matchup_id=matchup, digest=digest)
        row.self_a, row.self_b = or_none(float(values.self_a)), or_none(float(values.self_b))
        row.cross = float(values.cross)
        self.rows.append(row)

    def flush_if_due(self) -> None:
        """Store the added alignments if STAGE_SECONDS have passed."""
        if monotonic() - self.since < STAGE_SECONDS:
            return
        now = timezone.now()
        if not self.has_stored:
            StagedAlignment.objects.filter(staged_at__lt=now - STAGED_FOR).delete()
        for row in self.rows:
            row.staged_at = now
        StagedAlignment.objects.bulk_create(
            self.rows,
            batch_size=_CHUNK,
            update_conflicts=True,
            unique_fields=["measure_sha256", "matchup"],
            update_fields=["digest", "self_a", "self_b", "cross", "staged_at"],
        )
        self.rows, self.since, self.has_stored = [], monotonic(), True


def _compute(
    portion: Sequence[InstanceTexts], stale: Mapping[int, list[_Place]], measure: AlignmentMeasure, staged: _Staging
) -> None:
    """Compute the alignments of some instances. Each two texts are compared once, also for several matchups."""
    systems_of = {instance.pk: _systems_of(instance, stale[instance.pk]) for instance in portion}
    groups = {
        instance.name: list(chain.from_iterable(instance.texts[pk] for pk in systems_of[instance.pk]))
        for instance in portion
    }
    matrices = measure.matrices(groups)
    for instance in portion:
        starts = dict(
            zip(
                systems_of[instance.pk],
                np.cumsum([0, *(len(instance.texts[pk]) for pk in systems_of[instance.pk])]),
                strict=False,
            )
        )
        for aligned, row in stale[instance.pk]:
            a, b = aligned.systems
            indexes = [starts[system] + index for system in (a, b) for index in range(len(instance.texts[system]))]
            values = _alignments(
                matrices[instance.name][np.ix_(indexes, indexes)], instance, aligned.configuration, measure
            )
            digest = matchup_digest(measure.sha256, instance.digests[a], instance.digests[b])
            aligned.take(row, digest, values)
            staged.add(aligned.matchups[row], digest, values)


def _systems_of(instance: InstanceTexts, rows: Sequence[_Place]) -> list[int]:
    """Return the systems whose texts are needed of an instance.

    Raises: AnnotationError for a system without texts.
    """
    systems: dict[int, None] = {}
    for aligned, _ in rows:
        for system in (aligned.configuration.system_a, aligned.configuration.system_b):
            if system.pk not in instance.texts:
                raise AnnotationError(reason("no_text_of_system", instance=instance.name, system=system.name))
            systems[system.pk] = None
    return list(systems)


def _alignments(
    matrix: FloatArray, instance: InstanceTexts, configuration: Configuration, measure: AlignmentMeasure
) -> Alignments:
    a, b = configuration.system_a, configuration.system_b
    k_a = len(instance.texts[a.pk])
    if measure.cross_pairs is None or measure.cross_pairs >= k_a * (len(matrix) - k_a):
        return alignments(matrix, k_a)
    rng = measure.generator("cross pairs", instance.dataset, instance.instance_id, a.name, b.name)
    return alignments(matrix, k_a, cross_pairs=measure.cross_pairs, rng=rng)


def or_none(value: float) -> float | None:
    """Return None for NaN, to be stored as NULL."""
    return None if np.isnan(value) else float(value)
