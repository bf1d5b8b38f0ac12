"""The input of a plan: its specification, and the variance of votes, estimated from a pilot or assumed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from analysis.agreement.consistency import consistency, rating_sets
from analysis.planning.sample_sizes import MIN_INSTANCES
from analysis.planning.variance import (
    Components,
    assumed_components,
    consistency_components,
    crossed_components,
    in_clusters,
    mean_cluster_size,
    verdict_variance,
)
from analysis.types import FloatArray, IntArray, Outcomes
from annotation.core.counting import counted
from annotation.core.errors import InvalidSelection, Unacceptable
from annotation.models import Annotator, Batch, Study
from annotation.studies.configurations import Configuration
from annotation.studies.instances import instance_clusters
from annotation.studies.outcomes import batches_named, human_ratings, select
from annotation.studies.votes import first_votes, rows_of

PAIRS = (1, 3, 5)
RATERS = (1, 2, 3, 5)
MOST_NUMBERS = 12  # of pairs, and of raters, in one plan
LARGEST = 1000
BY_SEPARABILITY = ("top", "stratified", "importance", "active")  # selections that are no random samples


class PlannedMeasure(StrEnum):
    """The quantity whose interval is planned."""

    WIN_RATE = "win-rate"
    CONSISTENCY = "consistency"


# Of the variance of one verdict, and of one rating set's consistency: rounded means over the two studies of
# Ghosh et al. 2024, Compare without Despair (50 instances, 5 pairs, 3 raters each).
SHARES: Mapping[str, Mapping[str, float]] = {
    PlannedMeasure.WIN_RATE: {"instance": 0.1, "pair": 0.05, "rater": 0.35},
    PlannedMeasure.CONSISTENCY: {"instance": 0.2, "pair": 0.0, "rater": 0.8},
}


@dataclass(frozen=True)
class Assumptions:
    """Assumptions instead of a pilot. Shares are of the variance of one value. None is the default.

    win_rate, tie_share : of single verdicts; the defaults have the greatest variance
    consistency_sd      : standard deviation of the consistency of single rating sets, over instances and raters
    instance, pair, rater : intra-class correlations; for consistency, pair is 0 and rater is 1 − instance
    """

    win_rate: float = 0.5
    tie_share: float = 0.0
    consistency_sd: float = 0.45
    instance: float | None = None
    pair: float | None = None
    rater: float | None = None

    def components(self, measure: PlannedMeasure) -> Components:
        """Return the assumed variance components.

        Raises: UnknownValue for inconsistent values.
        """
        shares = self.shares(measure)
        if measure == PlannedMeasure.CONSISTENCY:
            return assumed_components(self.consistency_sd**2, instance=shares["instance"], rater=shares["rater"])
        return assumed_components(verdict_variance(self.win_rate, self.tie_share), **shares)

    def shares(self, measure: PlannedMeasure) -> dict[str, float]:
        """Return the shares, with defaults."""
        values = {name: getattr(self, name) for name in SHARES[measure]}
        filled = {name: SHARES[measure][name] if value is None else value for name, value in values.items()}
        if measure == PlannedMeasure.CONSISTENCY:
            filled |= {"pair": 0.0, "rater": 1 - filled["instance"]}
        return filled


@dataclass(frozen=True)
class PlanSpec:
    """The quantities to plan.

    dataset, systems : required if the study has several configurations
    pairs            : N to compare; () for 1, 3 and 5, for consistency the pilot's or study's N
    finite           : the study's instances are the whole population, not a sample
    pilot_batches    : whose votes to estimate from; () for all batches of the configuration
    assumptions      : instead of a pilot
    prices           : fields of `Prices` that override the study's
    """

    width: float
    measure: PlannedMeasure = PlannedMeasure.WIN_RATE
    level: float = 0.95
    dataset: str | None = None
    systems: tuple[str, str] | None = None
    pairs: tuple[int, ...] = ()
    raters: tuple[int, ...] = RATERS
    finite: bool = False
    pilot_batches: tuple[str, ...] = ()
    assumptions: Assumptions | None = None
    prices: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Variance:
    """Variance components by number of pairs, and their source: a pilot or assumptions. The other one is None."""

    components: Mapping[int, Components]
    pilot: dict[str, Any] | None = None
    assumptions: dict[str, Any] | None = None


def variance_of(study: Study, named: Configuration | None, spec: PlanSpec) -> Variance:
    """Estimate the variance from a pilot. If assumptions are given or there are too few votes, return assumed values.

    Raises: UnknownName for an unknown batch; Unacceptable for a named pilot with votes on fewer than two instances;
    AnalysisError for inconsistent assumptions, and numbers of pairs that no pilot has.
    """
    clusters = instance_clusters(study)
    if spec.assumptions is None and named is not None:
        batches = batches_named(study, spec.pilot_batches)
        selection = select(named, batches)
        rated_pairs = human_ratings(selection, batches)
        votes = rows_of(rated_pairs.outcomes, first_votes(rated_pairs.outcomes))
        rated = np.unique(votes.instance[~np.isnan(votes.verdict)])
        if len(rated) >= MIN_INSTANCES:
            pilot = _about_pilot(named, batches, rated_pairs.raters)
            cluster = clusters and np.array([clusters.by_id[name] for name in selection.instance_ids], dtype=np.int64)
            return _from_pilot(votes, cluster, spec, pilot, np.random.default_rng(study.seed))
        if spec.pilot_batches:
            raise Unacceptable(
                f"The pilot has votes on {counted(len(rated), 'instances')}; a variance between instances needs "
                "two or more."
            )
    elif spec.pilot_batches:
        raise InvalidSelection("The study has no instances, and so no pilot.")
    sizes = None
    if clusters is not None and named is not None:
        codes = [clusters.by_key[key] for key in named.matchups().values_list("instance_id", flat=True)]
        sizes = np.unique(codes, return_counts=True)[1]
    assumed = spec.assumptions or Assumptions()
    components = assumed.components(spec.measure)
    if sizes is not None:
        components = replace(components, cluster=components.instance, cluster_size=mean_cluster_size(sizes))
    stated: dict[str, Any] = {"stated": spec.assumptions is not None, "shares": assumed.shares(spec.measure)}
    if spec.measure == PlannedMeasure.WIN_RATE:
        stated |= {"win_rate": assumed.win_rate, "tie_share": assumed.tie_share}
        return Variance(dict.fromkeys(spec.pairs or PAIRS, components), assumptions=stated)
    return Variance(
        dict.fromkeys(spec.pairs or (study.pairs_per_hit,), components),
        assumptions={**stated, "consistency_sd": assumed.consistency_sd},
    )


def _about_pilot(named: Configuration, batches: tuple[Batch, ...] | None, codes: Sequence[str]) -> dict[str, Any]:
    """Describe the pilot: its batches, and whether it has scripted raters or no random sample of instances."""
    study = named.study
    own = {"dataset": named.dataset, "system_a": named.system_a, "system_b": named.system_b}
    used = study.batches.for_rating().filter(**own) if batches is None else batches
    scripted = study.annotators.filter(kind=Annotator.Kind.SCRIPTED, code__in=codes)
    return {
        "batches": None if batches is None else [batch.name for batch in batches],
        "scripted": scripted.exists(),
        "by_separability": any(
            str(used_batch.selection.get("spec", "")).startswith(BY_SEPARABILITY) for used_batch in used
        ),
    }


def _from_pilot(
    votes: Outcomes,
    cluster: IntArray | None,
    spec: PlanSpec,
    description: dict[str, Any],
    rng: np.random.Generator,
) -> Variance:
    """Estimate from votes. `cluster` is that of each instance by its code; None where each is its own."""
    is_known = ~np.isnan(votes.verdict)
    pilot: dict[str, Any] = {
        **description,
        "instances": len(np.unique(votes.instance[is_known])),
        "raters": len(np.unique(votes.rater[is_known])),
        "ratings": int(is_known.sum()),
        "tie_share": float((votes.verdict[is_known] == 0).mean()),
    }
    if cluster is not None:
        pilot["clusters"] = len(np.unique(cluster[votes.instance[is_known]]))

    def clustered(components: Components, values: FloatArray, instance: IntArray) -> Components:
        if cluster is None:
            return components
        sizes = np.unique(cluster, return_counts=True)[1]
        return in_clusters(components, values, instance, cluster[instance], sizes)

    if spec.measure == PlannedMeasure.WIN_RATE:
        scores = (1 - votes.verdict) / 2  # a win of A is 1, a tie 1/2
        estimates = crossed_components(scores, votes.instance, votes.pair, votes.rater)
        estimates = clustered(estimates, scores, votes.instance)
        return Variance(
            dict.fromkeys(spec.pairs or PAIRS, estimates), {**pilot, "mean": float(scores[is_known].mean())}
        )
    sets = rating_sets(votes)
    (n_pairs,) = spec.pairs or (int(np.bincount(sets.present[sets.present > 0]).argmax()),)
    steady = consistency_components(sets, n_pairs, rng=rng)
    pilot |= {"mean": steady.mean, "rating_sets": steady.n, "pairs": n_pairs, "instances": steady.instances}
    return Variance({n_pairs: clustered(steady.components, consistency(sets.ratings), sets.instance)}, pilot)
