"""Configurations: one data set with two systems, the unit of batches, separability and findings."""

from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotation.core.database.aggregates import grouped
from annotation.core.errors import UnknownName
from annotation.core.names import pair_label
from annotation.models import Batch, Hit, Matchup, SeparabilityRun, Study, System

SeparabilityRuns = dict[tuple[str, int, int], list[SeparabilityRun]]


@dataclass(frozen=True)
class Configuration:
    """(data set, A, B) of a study. A is the system that was imported first."""

    study: Study
    dataset: str
    system_a: System
    system_b: System

    def __str__(self) -> str:
        return f"{self.dataset}: {pair_label(self.system_a.name, self.system_b.name)}"

    @property
    def key(self) -> tuple[str, int, int]:
        """Identifies the configuration within its study."""
        return self.dataset, self.system_a.pk, self.system_b.pk

    def matchups(self) -> QuerySet[Matchup]:
        """Return this configuration's matchups, in the order of its instances."""
        return Matchup.objects.filter(
            instance__study=self.study,
            instance__dataset=self.dataset,
            system_a=self.system_a,
            system_b=self.system_b,
        ).order_by("instance__position")


def without_checks(study: Study, matchups: QuerySet[Matchup]) -> QuerySet[Matchup]:
    """Leave out matchups of a study that are only on HITs of qualifications and gold checks."""
    if not study.batches.exclude(purpose=Batch.Purpose.RATING).exists():
        return matchups  # asking this of each matchup takes as long as reading it
    hits = Hit.objects.filter(matchup=OuterRef("pk")).order_by()
    rated = Q(batch__purpose=Batch.Purpose.RATING)
    return matchups.filter(Exists(hits.filter(rated)) | ~Exists(hits.exclude(rated)))


def configurations(study: Study, *, checks: bool = True) -> list[Configuration]:
    """List the configurations of a study, sorted by data set and system names.

    checks : include those whose matchups all serve qualifications and gold checks, which findings leave out
    """
    systems = {system.pk: system for system in study.systems.all()}
    matchups = Matchup.objects.filter(instance__study=study).order_by()
    rows = (
        (matchups if checks else without_checks(study, matchups))
        .values_list("instance__dataset", "system_a_id", "system_b_id")
        .distinct()
    )
    rated = [Configuration(study, dataset, systems[a], systems[b]) for dataset, a, b in rows]
    return sorted(rated, key=lambda c: (c.dataset, c.system_a.name, c.system_b.name))


def matchup_counts(study: Study) -> dict[tuple[str, int, int], int]:
    """Count the matchups of every configuration of a study, by `Configuration.key`."""
    rows = Matchup.objects.filter(instance__study=study).order_by()
    counted = rows.values_list("instance__dataset", "system_a_id", "system_b_id").annotate(Count("pk"))
    return {(dataset, a, b): count for dataset, a, b, count in counted}


def configuration(study: Study, *, dataset: str, systems: tuple[str, str]) -> Configuration:
    """Find one configuration by names, the two systems in either order.

    Raises: UnknownName listing those that exist.
    """
    existing = configurations(study)
    for candidate in existing:
        names = {candidate.system_a.name, candidate.system_b.name}
        if candidate.dataset == dataset and names == set(systems):
            return candidate
    listed = "; ".join(str(c) for c in existing) or "none yet: import instances first"
    raise UnknownName(f"study {study.slug} has no {dataset}: {systems[0]} / {systems[1]}; it has {listed}")


def configuration_of_dataset(study: Study, dataset: str) -> Configuration:
    """Return the first configuration of a data set, for what is about all its systems.

    Raises: UnknownName listing the data sets that have one
    """
    existing = configurations(study)
    match = next((candidate for candidate in existing if candidate.dataset == dataset), None)
    if match is None:
        listed = (
            ", ".join(dict.fromkeys(candidate.dataset for candidate in existing)) or "none yet: import instances first"
        )
        raise UnknownName(f"study {study.slug} compares no systems in a data set {dataset!r}; it has {listed}")
    return match


def runs_by_configuration(study: Study) -> SeparabilityRuns:
    """Return all separability runs of a study by `Configuration.key`, the latest first."""
    return grouped(((run.dataset, run.system_a_id, run.system_b_id), run) for run in study.separability_runs.all())
