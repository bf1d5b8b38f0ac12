"""Computing how distinguishable two systems are on each instance, and keeping it."""

from dataclasses import dataclass
from time import monotonic

from analysis import similarity as similarities
from annotation.configurations import Configuration, configurations
from annotation.errors import AnnotationError, NotChosen, UnknownName
from annotation.models import Generation, SeparabilityRun, Study
from annotation.separability_runs import find_run, names_of
from annotation.services.separability_alignments import Progress, align
from annotation.services.separability_measure import Default, Measure, default_similarity, measure_of
from annotation.services.separability_store import GROUPS, SeparabilityResult, group_of, normalised, store

__all__ = [
    "GROUPS",
    "Default",
    "Part",
    "SeparabilityResult",
    "blind_notice",
    "blind_texts",
    "compute_separability",
    "default_similarity",
    "latest_run",
    "latest_runs",
    "needed_run",
]
_LATIN_ONLY = ("rouge1", "rouge1-length")


@dataclass(frozen=True)
class Part:
    """Of what part of a study: one data set, two systems; everything when neither is named."""

    dataset: str = ""
    systems: tuple[str, ...] = ()

    def of(self, study: Study) -> list[Configuration]:
        """Return the configurations that it is about.

        Raises: UnknownName listing those that exist; AnnotationError for a study without any.
        """
        known = configurations(study)
        if not known:
            raise AnnotationError(f"study {study.slug} has no matchups; import instances of two or more systems first")
        found = [
            one
            for one in known
            if self.dataset in ("", one.dataset)
            and (not self.systems or {one.system_a.name, one.system_b.name} == set(self.systems))
        ]
        if not found:
            wanted = " ".join([*([self.dataset] if self.dataset else []), " / ".join(self.systems)]).strip()
            raise UnknownName(f"study {study.slug} has no {wanted}; it has {'; '.join(map(str, known))}")
        return found


def compute_separability(
    *,
    study: Study,
    similarity: str = "rouge1",
    group: str = "configuration",
    model: str = "",
    samples: int | None = None,
    cross_pairs: int | None = None,
    seed: int | None = None,
    part: Part | None = None,
    progress: Progress | None = None,
) -> list[SeparabilityResult]:
    """Compute the separability of every matchup of a study by one measure; all of it is stored, or nothing.

    Alignments whose texts did not change are taken over; runs by other measures stay beside this one.

    group       : what the alignments are min-max normalised over: each `configuration` by itself, the whole `study`,
                  or constants as "MIN,MAX"; another group replaces the run's former one, as it is of the same alignments
    model       : for a similarity that needs one; the one that is installed when it is left out
    samples     : generations of each system, drawn without replacement; all of a system that has no more
    cross_pairs : pairs of A and B, drawn the same way for each matchup
    seed        : of both draws; 0 when left out
    part        : of the study; a group `study` takes in all of it
    progress    : told how many of how many matchups have their alignments
    Raises: AnnotationError when a setting is unknown or can't be, all alignments of a group are equal, or a similarity
            of an instance is no number.
    """
    started = monotonic()
    wanted = group_of(group)
    measure = measure_of(similarity=similarity, model=model, samples=samples, cross_pairs=cross_pairs, seed=seed)
    found = (part or Part()).of(study)
    if wanted.name == "study" and part is not None and (part.dataset or part.systems):
        raise AnnotationError("the group study takes in the whole study: leave --dataset and --systems away")
    everything, is_staged = align(study, found, measure, runs_by(study, measure), progress or _unseen)
    return store(
        study,
        everything,
        normalised(everything, wanted),
        measure=measure,
        group=group,
        seconds=monotonic() - started,
        is_staged=is_staged,
    )


def runs_by(study: Study, measure: Measure) -> dict[tuple[str, int, int], SeparabilityRun]:
    """Return what is stored by a measure, by `Configuration.key`."""
    runs = SeparabilityRun.objects.filter(study=study, **measure.identity)
    return {(run.dataset, run.system_a_id, run.system_b_id): run for run in runs}


def latest_run(configuration: Configuration, similarity: str | None = None) -> SeparabilityRun | None:
    """Return the stored separability of a configuration that a similarity, a run's label, or no name means (`find_run`)."""
    return find_run(_runs_on(configuration), similarity)


def _runs_on(configuration: Configuration) -> list[SeparabilityRun]:
    """Return all stored separability of a configuration, the latest first."""
    runs = SeparabilityRun.objects.filter(
        study=configuration.study,
        dataset=configuration.dataset,
        system_a=configuration.system_a,
        system_b=configuration.system_b,
    )
    return list(runs)


def latest_runs(study: Study) -> dict[tuple[str, int, int], SeparabilityRun]:
    """Return what `latest_run` gives without a name, of every configuration that has any, by `Configuration.key`."""
    runs: dict[tuple[str, int, int], list[SeparabilityRun]] = {}
    for run in SeparabilityRun.objects.filter(study=study):  # the latest first
        runs.setdefault((run.dataset, run.system_a_id, run.system_b_id), []).append(run)
    return {key: found for key, listed in runs.items() if (found := find_run(listed)) is not None}


def needed_run(configuration: Configuration, similarity: str | None = None) -> SeparabilityRun:
    """Return the stored separability, or say how to compute it.

    Raises: NotChosen.
    """
    runs = _runs_on(configuration)
    run = find_run(runs, similarity)
    if run is None and similarity and similarity not in similarities.names():
        computed = "; ".join(names_of(runs)) or "none yet"
        raise NotChosen(
            f"there is no similarity {similarity}; known: {', '.join(similarities.names())}; "
            f"computed for {configuration}: {computed}"
        )
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


def blind_notice(study: Study, similarity: str) -> str:
    """Say how many texts the similarity can't see, and what would see them; empty where it sees all."""
    blind = blind_texts(study, similarity)
    if not blind:
        return ""
    return (
        f"{blind} texts hold no Latin letter or digit, which is all that {similarity} compares; their similarity is 0. "
        "A similarity of character n-grams (chrF) would see them."
    )


def _unseen(done: int, total: int) -> None:
    """Tell nobody."""
