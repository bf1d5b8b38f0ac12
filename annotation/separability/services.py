"""Computing and finding the separability of two systems on each instance."""

from collections.abc import Sequence
from time import monotonic

import numpy as np
from django.conf import settings
from django.db.models import Exists, OuterRef
from django.urls import reverse
from django.utils.html import format_html

from analysis.similarity import registry
from analysis.types import FloatArray
from annotation.core.errors import AnnotationError, InvalidSelection, UnknownName
from annotation.core.reasons import NO_REASON, Reason, reason
from annotation.models import Generation, Matchup, SeparabilityRun, Study
from annotation.models.separability import find_run, names_of
from annotation.separability.alignments import Progress, align
from annotation.separability.measure import measure_of
from annotation.separability.store import SeparabilityResult, normalised, parse_group, store
from annotation.studies.configurations import Configuration, configurations, runs_by_configuration

_LATIN_ONLY = ("rouge1", "rouge1-length")


def part_of(study: Study, dataset: str = "", systems: Sequence[str] = ()) -> list[Configuration]:
    """Return the configurations of one data set, of two systems, or by default all.

    Raises: UnknownName listing those that exist; AnnotationError for a study without any.
    """
    existing = configurations(study)
    if not existing:
        raise AnnotationError(reason("no_matchups", study=study.slug))
    selected = [
        configuration
        for configuration in existing
        if dataset in ("", configuration.dataset)
        and (not systems or {configuration.system_a.name, configuration.system_b.name} == set(systems))
    ]
    if not selected:
        requested = " ".join([*([dataset] if dataset else []), " / ".join(systems)]).strip()
        parts = [str(configuration) for configuration in existing]
        raise UnknownName(reason("no_such_part", study=study.slug, part=requested, parts=parts))
    return selected


def is_separability_possible(study: Study) -> bool:
    """Tell whether both systems of any matchup have several texts, without which separability is undefined."""
    second = Generation.objects.filter(instance=OuterRef("instance"), index=1)
    of_both = (Exists(second.filter(system=OuterRef(side))) for side in ("system_a", "system_b"))
    return Matchup.objects.filter(*of_both, instance__study=study).exists()


def compute_separability(
    *,
    study: Study,
    similarity: str = "rouge1",
    group: str = "configuration",
    model: str = "",
    samples: int | None = None,
    cross_pairs: int | None = None,
    seed: int | None = None,
    dataset: str = "",
    systems: Sequence[str] = (),
    progress: Progress | None = None,
) -> list[SeparabilityResult]:
    """Compute the separability of every matchup of a study by one measure, and store all of it or nothing.

    Stored alignments are reused if their texts have not changed. Runs by other measures stay.

    group       : over which alignments are min-max normalised: each `configuration`, the whole `study`, or constants
                  "MIN,MAX"; a new group replaces the run's previous one
    model       : for a similarity that needs one; by default the installed one
    samples     : generations of each system, drawn without replacement; all of them if there are fewer
    cross_pairs : pairs of A and B, drawn likewise for each matchup
    seed        : of both draws; by default 0
    dataset, systems : only a part of the study; not with the group `study`
    progress    : called with (done, total) matchups
    Raises: AnnotationError for an invalid setting, a group of equal alignments, or a similarity that is NaN.
    """
    started = monotonic()
    groups = parse_group(group)
    measure = measure_of(similarity=similarity, model=model, samples=samples, cross_pairs=cross_pairs, seed=seed)
    configurations = part_of(study, dataset, systems)
    if groups.name == "study" and (dataset or systems):
        raise AnnotationError(reason("study_in_parts"))
    stored = SeparabilityRun.objects.filter(study=study, **measure.identity)
    runs = {(run.dataset, run.system_a_id, run.system_b_id): run for run in stored}
    everything, is_staged = align(study, configurations, measure, runs, progress or (lambda *_counts: None))
    return store(
        study,
        everything,
        normalised(everything, groups),
        measure=measure,
        group=group,
        seconds=monotonic() - started,
        is_staged=is_staged,
    )


def separabilities(matchup_ids: Sequence[int], run: SeparabilityRun) -> FloatArray:
    """Return the separability of each of these matchups, or NaN where it is undefined or missing."""
    values = dict(run.alignments.order_by().values_list("matchup_id", "separability"))
    return np.array([values.get(pk) for pk in matchup_ids], dtype=np.float64)


def latest_run(configuration: Configuration, similarity: str | None = None) -> SeparabilityRun | None:
    """Return a configuration's run by similarity or label, or the default one (see `find_run`)."""
    return find_run(runs_by_configuration(configuration.study).get(configuration.key, []), similarity)


def latest_runs(study: Study) -> dict[tuple[str, int, int], SeparabilityRun]:
    """Return the default run of every configuration that has one, by `Configuration.key`."""
    runs = runs_by_configuration(study)
    return {key: run for key, listed in runs.items() if (run := find_run(listed)) is not None}


def require_run(configuration: Configuration, similarity: str | None = None) -> SeparabilityRun:
    """Return a configuration's run by similarity or label, or the default one.

    Raises: InvalidSelection saying how to compute it.
    """
    runs = runs_by_configuration(configuration.study).get(configuration.key, [])
    run = find_run(runs, similarity)
    if run is None and similarity and similarity not in registry.names():
        computed = "; ".join(names_of(runs)) or "none yet"
        raise InvalidSelection(
            f"there is no similarity {similarity}; known: {', '.join(registry.names())}; "
            f"computed for {configuration}: {computed}"
        )
    if run is None:
        raise _not_computed(configuration, similarity or "rouge1")
    return run


def _not_computed(configuration: Configuration, similarity: str) -> InvalidSelection:
    slug = configuration.study.slug
    error = InvalidSelection(
        f"separability of {configuration} is not computed yet; compute it on the study's page, or run: "
        f"{settings.COMMAND} compute_separability {slug} --similarity {similarity}"
    )
    error.on_page = format_html(
        'separability of {} is not computed yet: <a href="{}#separability">compute it on the study\'s page</a>.',
        configuration,
        reverse("annotation:study", args=[slug]),
    )
    return error


def count_ignored_texts(study: Study, similarity: str) -> int:
    """Count texts that the similarity ignores: ROUGE compares only Latin letters and digits."""
    if similarity not in _LATIN_ONLY:
        return 0
    return Generation.objects.filter(instance__study=study).exclude(text__iregex="[a-z0-9]").count()


def ignored_texts_notice(study: Study, similarity: str) -> Reason:
    """Return a notice about texts that the similarity ignores, if any."""
    blind = count_ignored_texts(study, similarity)
    return reason("texts_ignored", number=blind, similarity=similarity) if blind else NO_REASON
