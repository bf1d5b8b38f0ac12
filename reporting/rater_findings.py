"""The findings on one rater in one configuration, as JSON; works alike for people and for judges."""

from functools import partial
from typing import Any

import numpy as np

from analysis.agreement import (
    Level,
    agreement_sums,
    alpha_from_coincidences,
    coincidences,
    majority_agreement,
    majority_sums,
    vote_sums,
    votes_agreement,
)
from analysis.bootstrap import cluster_sums, mean_sums, ratio
from analysis.consistency import distribution, possible_consistencies, possible_strengths
from analysis.types import BoolArray, FloatArray
from reporting.estimates import Basis, Estimate, Sampler, distribution_keys, estimate, number
from reporting.raters import Rater
from reporting.separability import Bins
from reporting.votes import Units, units, verdicts_beside

ALPHA_LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")
TIE_IN_CONSISTENCY = "a tie lowers consistency; a set with votes for both systems has 0"
TIE_IN_STRENGTH = "a tie is 0"
TIE_IN_PLACES = "ties are left out"
TIE_EQUALS_TIE = "a tie agrees with a tie only"
TIE_IN_ALPHA = {
    "nominal": "a tie differs from A and from B as they differ from each other",
    "ordinal": "a tie lies between A and B, by rank",
    "interval": "a tie lies halfway between A and B",
}
NO_RATING_SETS = "no rating set with a verdict yet"
ALL_DROPPED = "every rating set lacks a rating, and such sets are left out here"
NO_COMMON_VOTES = "no pair has votes of two people"
NO_VARIATION = "undefined: no pair has votes of two people, or all those votes are alike"
NO_VERDICTS = "no pair has both a verdict and a vote"
NO_MAJORITY = "no pair has both a verdict and a majority of the people"


def rater_findings(rater: Rater, bins: Bins | None, sampler: Sampler, label: str) -> dict[str, Any]:
    """Everything that is measured on any rater; `label` names the configuration, for the seeds of intervals."""
    verdict = rater.rated.outcomes.verdict
    labels = (label, rater.name)
    everything = np.ones(len(rater.sets), dtype=bool)
    why = ALL_DROPPED if rater.dropped else NO_RATING_SETS
    return {
        "rater": rater.name,
        "kind": rater.kind,
        "raters": len(rater.rated.raters),
        "rating_sets": len(rater.sets),
        "incomplete_rating_sets": rater.incomplete,
        "ratings": _count(~np.isnan(verdict)),
        "exclusions": rater.exclusions,
        "counts": {"a": _count(verdict == -1), "tie": _count(verdict == 0), "b": _count(verdict == 1)},
        "shown_first": {
            "first": _count(rater.places.preferred == -1),
            "tie": _count(rater.places.preferred == 0),
            "second": _count(rater.places.preferred == 1),
        },
        "preferred_first": _preferred_first(rater, sampler, labels),
        **_measures_of_sets(rater, everything, sampler, labels, why, left_out=rater.left_out),
        "bins": [] if bins is None else _bins(rater, bins, sampler, labels),
    }


def between_people(people: Rater, sampler: Sampler, label: str) -> dict[str, Any]:
    """Agreement of people with one another, over all pairs with the votes of two or more."""
    found = units(people.rated.outcomes)
    present = (~np.isnan(found.votes)).sum(axis=1)
    alone = _count(present == 1)
    rows = agreement_sums(found.votes)
    labels = (label, people.name)
    agreement = estimate(
        cluster_sums(rows, found.instance),
        ratio,
        Basis(int(rows[:, 1].sum()), "pairs of votes", TIE_EQUALS_TIE, alone, NO_COMMON_VOTES),
        sampler=sampler,
        labels=(*labels, "raw agreement"),
    )
    together = cluster_sums(coincidences(found.votes), found.instance)
    alphas = {
        level: estimate(
            together,
            partial(alpha_from_coincidences, level=level),
            Basis(_count(present > 1), "pairs with two or more votes", TIE_IN_ALPHA[level], alone, NO_VARIATION),
            sampler=sampler,
            labels=(*labels, "alpha", level),
        )
        for level in ALPHA_LEVELS
    }
    return {"raw_agreement": agreement, "krippendorff_alpha": alphas}


def with_people(judge: Rater, people: Rater, sampler: Sampler, label: str) -> dict[str, Estimate]:
    """Agreement of a judge with people on the same pairs: vote by vote, and with their majority."""
    found: Units = units(people.rated.outcomes)
    verdict = verdicts_beside(judge.rated.outcomes, found)
    per_vote = votes_agreement(verdict, found.votes)
    per_majority = majority_agreement(verdict, found.votes)
    return {
        "agreement_with_people": estimate(
            cluster_sums(vote_sums(verdict, found.votes), found.instance),
            ratio,
            Basis(per_vote.n, "votes", TIE_EQUALS_TIE, per_vote.left_out, NO_VERDICTS),
            sampler=sampler,
            labels=(label, judge.name, "agreement with people"),
        ),
        "agreement_with_majority": estimate(
            cluster_sums(majority_sums(verdict, found.votes), found.instance),
            ratio,
            Basis(per_majority.n, "pairs with a majority", TIE_EQUALS_TIE, per_majority.left_out, NO_MAJORITY),
            sampler=sampler,
            labels=(label, judge.name, "agreement with majority"),
        ),
    }


def mean_over_sets(
    values: FloatArray, instance: np.ndarray, basis: Basis, sampler: Sampler, labels: tuple[str, ...]
) -> Estimate:
    """Mean over rating sets, with the interval over instances."""
    return estimate(mean_sums(values, instance), ratio, basis, sampler=sampler, labels=labels)


def _measures_of_sets(
    rater: Rater, chosen: BoolArray, sampler: Sampler, labels: tuple[str, ...], why: str, *, left_out: int = 0
) -> dict[str, Any]:
    """Consistency and preference strength of the chosen rating sets: means and whole distributions."""
    instance, n = rater.sets.instance[chosen], _count(chosen)
    steady, lean = rater.consistency[chosen], rater.strength[chosen]
    about_consistency = Basis(n, "rating sets", TIE_IN_CONSISTENCY, left_out, why)
    about_strength = Basis(n, "rating sets", TIE_IN_STRENGTH, left_out, why)
    return {
        "mean_consistency": mean_over_sets(steady, instance, about_consistency, sampler, (*labels, "consistency")),
        "consistency_distribution": distribution_keys(distribution(steady, possible_consistencies(rater.sizes))),
        "mean_preference_strength": mean_over_sets(lean, instance, about_strength, sampler, (*labels, "strength")),
        "preference_strength_distribution": distribution_keys(distribution(lean, possible_strengths(rater.sizes))),
    }


def _bins(rater: Rater, bins: Bins, sampler: Sampler, labels: tuple[str, ...]) -> list[dict[str, Any]]:
    bin_of_set = bins.of_instance[rater.sets.instance]
    found = []
    for index, (low, high, instances) in enumerate(bins.listed()):
        chosen = bin_of_set == index
        why = "no instance in this bin" if not instances else "no rating set in this bin"
        measures = _measures_of_sets(rater, chosen, sampler, (*labels, f"bin {index}"), why)
        found.append(
            {
                "low": number(low),
                "high": number(high),
                "instances": instances,
                "rating_sets": _count(chosen),
                **measures,
            }
        )
    return found


def _preferred_first(rater: Rater, sampler: Sampler, labels: tuple[str, ...]) -> Estimate:
    """Share of verdicts for the text shown first among those that are no ties: ½ without position bias."""
    preferred = rater.places.preferred
    decided = np.where(preferred == 0, np.nan, preferred)
    first = np.where(np.isnan(decided), np.nan, (decided == -1).astype(np.float64))
    ties = _count(preferred == 0)
    return estimate(
        mean_sums(first, rater.places.instance),
        ratio,
        Basis(
            _count(~np.isnan(decided)),
            "verdicts that are no ties",
            TIE_IN_PLACES,
            ties,
            "no verdict but ties",
        ),
        sampler=sampler,
        labels=(*labels, "place"),
    )


def _count(chosen: BoolArray) -> int:
    return int(np.count_nonzero(chosen))
