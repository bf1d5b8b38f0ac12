"""Computing how distinguishable two systems are on each instance, and keeping it."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.db import transaction
from django.utils import timezone

from analysis import similarity as similarities
from analysis.errors import AnalysisError
from analysis.separability import Alignments, Normalised, alignments, normalise, separability
from annotation.configurations import Configuration, configurations
from annotation.errors import AnnotationError, NotChosen
from annotation.models import Alignment, Generation, SeparabilityRun, Study
from annotation.version import VERSION

GROUPS = ("configuration", "study")
_CHUNK = 500
_LATIN_ONLY = ("rouge1", "rouge1-length")


@dataclass(frozen=True)
class _Computed:
    """Raw alignments of one configuration, one value per matchup."""

    configuration: Configuration
    matchup_ids: list[int]
    self_a: np.ndarray
    self_b: np.ndarray
    cross: np.ndarray
    texts_sha256: str


@dataclass(frozen=True)
class SeparabilityResult:
    """What came of it for one configuration."""

    run: SeparabilityRun
    configuration: Configuration
    changed: bool
    matchups: int
    undefined: int


def compute_separability(
    *, study: Study, similarity: str = "rouge1", group: str = "configuration"
) -> list[SeparabilityResult]:
    """Compute the separability of every matchup of a study under one similarity; all of it is stored, or nothing.

    group : what the alignments are min-max normalised over: each `configuration` by itself, the whole `study`,
            or constants as "MIN,MAX"
    Raises: AnnotationError when the similarity or the group is unknown, or all alignments of a group are equal.
    """
    try:
        score = similarities.get(similarity)
    except AnalysisError as error:
        raise AnnotationError(str(error)) from None
    bounds = _bounds(group)
    found = configurations(study)
    if not found:
        raise AnnotationError(f"study {study.slug} has no matchups; import instances of two or more systems first")
    computed = [_align(configuration, score) for configuration in found]
    normalised = _normalise(computed, group, bounds)
    with transaction.atomic():
        Study.objects.select_for_update().get(pk=study.pk)
        return [_store(one, values, similarity, group) for one, values in zip(computed, normalised, strict=True)]


def latest_run(configuration: Configuration, similarity: str | None = None) -> SeparabilityRun | None:
    """Return the stored separability of a configuration: of the named similarity, else the latest of any."""
    runs = SeparabilityRun.objects.filter(
        study=configuration.study,
        dataset=configuration.dataset,
        system_a=configuration.system_a,
        system_b=configuration.system_b,
    )
    if similarity is not None:
        runs = runs.filter(similarity=similarity)
    return runs.first()


def latest_runs(study: Study) -> dict[tuple[str, int, int], SeparabilityRun]:
    """Return the latest stored separability of every configuration that has one, by `Configuration.key`."""
    runs: dict[tuple[str, int, int], SeparabilityRun] = {}
    for run in SeparabilityRun.objects.filter(study=study):  # the latest first
        runs.setdefault((run.dataset, run.system_a_id, run.system_b_id), run)
    return runs


def needed_run(configuration: Configuration, similarity: str | None = None) -> SeparabilityRun:
    """Return the stored separability, or say how to compute it.

    Raises: NotChosen.
    """
    run = latest_run(configuration, similarity)
    if run is None and similarity is not None and similarity not in similarities.names():
        raise NotChosen(f"there is no similarity {similarity}; known: {', '.join(similarities.names())}")
    if run is None:
        raise NotChosen(
            f"separability of {configuration} is not computed yet; "
            f"run: manage.py compute_separability {configuration.study.slug} --similarity {similarity or 'rouge1'}"
        )
    return run


def blind_texts(study: Study, similarity: str) -> int:
    """Count texts that the similarity can't see: ROUGE knows only Latin letters and digits."""
    if similarity not in _LATIN_ONLY:
        return 0
    return Generation.objects.filter(instance__study=study).exclude(text__iregex="[a-z0-9]").count()


def _bounds(group: str) -> tuple[float, float] | None:
    if group in GROUPS:
        return None
    try:
        low, high = (float(part) for part in group.split(","))
    except ValueError:
        raise AnnotationError(f"group is {group!r}; it must be configuration, study, or MIN,MAX") from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise AnnotationError(f"group is {group!r}; MIN must be below MAX")
    return low, high


def _align(configuration: Configuration, score: similarities.Similarity) -> _Computed:
    """Compute the raw alignments of every matchup of a configuration, a chunk of texts in memory at a time."""
    ids = list(configuration.matchups().values_list("pk", "instance_id"))
    digest = hashlib.sha256()
    values: list[Alignments] = []
    for start in range(0, len(ids), _CHUNK):
        chunk = ids[start : start + _CHUNK]
        texts = _texts(configuration, [instance for _, instance in chunk])
        for _, instance in chunk:
            a = texts[instance, configuration.system_a.pk]
            b = texts[instance, configuration.system_b.pk]
            digest.update(json.dumps([a, b]).encode())
            values.append(alignments(score(a + b, a + b), len(a)))
    self_a, self_b, cross = np.array(values, dtype=np.float64).reshape(-1, 3).T
    return _Computed(configuration, [pk for pk, _ in ids], self_a, self_b, cross, digest.hexdigest())


def _texts(configuration: Configuration, instance_ids: Sequence[int]) -> dict[tuple[int, int], list[str]]:
    rows = Generation.objects.filter(
        instance_id__in=instance_ids, system__in=[configuration.system_a, configuration.system_b]
    )
    texts: dict[tuple[int, int], list[str]] = {}
    for instance, system, text in rows.order_by("index").values_list("instance_id", "system_id", "text"):
        texts.setdefault((instance, system), []).append(text)
    return texts


def _normalise(computed: Sequence[_Computed], group: str, bounds: tuple[float, float] | None) -> list[Normalised]:
    """Normalise each configuration by its own bounds, those of all together, or the given ones."""
    if group == "study":
        whole = _group(computed, None)
        bounds = whole.low, whole.high
    return [_group([one], bounds) for one in computed]


def _group(computed: Sequence[_Computed], bounds: tuple[float, float] | None) -> Normalised:
    low, high = bounds or (None, None)
    columns = (np.concatenate([getattr(one, name) for one in computed]) for name in _COLUMNS)
    try:
        return normalise(*columns, low=low, high=high)
    except AnalysisError as error:
        listed = "; ".join(str(one.configuration) for one in computed)
        raise AnnotationError(f"separability of {listed}: {error}") from None


_COLUMNS = ("self_a", "self_b", "cross")


def _store(computed: _Computed, values: Normalised, similarity: str, group: str) -> SeparabilityResult:
    configuration = computed.configuration
    delta = separability(values.self_a, values.self_b, values.cross)
    undefined = int(np.isnan(delta).sum())
    identity = {
        "study": configuration.study,
        "dataset": configuration.dataset,
        "system_a": configuration.system_a,
        "system_b": configuration.system_b,
        "similarity": similarity,
    }
    settings = {"group": group, "low": values.low, "high": values.high, "texts_sha256": computed.texts_sha256}
    existing = SeparabilityRun.objects.filter(**identity).first()
    if existing is not None and all(getattr(existing, name) == value for name, value in settings.items()):
        existing.computed_at = timezone.now()  # findings take what was asked for last
        existing.save(update_fields=["computed_at"])
        return SeparabilityResult(existing, configuration, False, len(delta), undefined)
    if existing is not None:
        existing.delete()
    run = SeparabilityRun.objects.create(**identity, **settings, software_version=VERSION)
    columns = zip(computed.matchup_ids, computed.self_a, computed.self_b, computed.cross, delta, strict=True)
    Alignment.objects.bulk_create(
        (
            Alignment(
                run=run,
                matchup_id=matchup_id,
                self_a=_or_none(self_a),
                self_b=_or_none(self_b),
                cross=float(cross),
                separability=_or_none(value),
            )
            for matchup_id, self_a, self_b, cross, value in columns
        ),
        batch_size=_CHUNK,
    )
    return SeparabilityResult(run, configuration, True, len(delta), undefined)


def _or_none(value: float) -> float | None:
    """Missing is stored as missing: a database has no NaN."""
    return None if np.isnan(value) else float(value)
