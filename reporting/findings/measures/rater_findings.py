"""The findings on one rater in one configuration, as JSON. The same for people and judges."""

from dataclasses import replace
from typing import Any

import numpy as np

from analysis.agreement.consistency import distribution, possible_consistencies, possible_strengths
from analysis.grouping import count_groups
from analysis.intervals.bootstrap import mean_rows, mean_sums, ratio
from analysis.intervals.jackknife import MIN_CLUSTERS
from analysis.planning.weighting import effective_number, inverse_probability_weighted
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.reasons import Reason
from annotation.questions.questions import MUCH, SLIGHTLY
from annotation.studies.votes import BAD, GOOD, RatedPairs
from reporting.core.estimates import (
    Basis,
    Estimate,
    IntervalSettings,
    distribution_keys,
    mean_estimate,
    number,
    share_estimate,
)
from reporting.core.instance_selection import selection_note
from reporting.core.raters import Positions, Rater, Units, units
from reporting.core.reasons import ALL_TIES, NO_ORDER, UNKNOWN_ORDER
from reporting.core.text import SCRIPTED
from reporting.findings.data.inputs import ConfigurationData, Filters
from reporting.findings.data.separability_bins import Bins, separability_findings
from reporting.findings.measures.agreement import confusion_findings, consistency_of_instances
from reporting.findings.measures.registry import MeasureInput, compute_measures
from reporting.findings.reasons import (
    ALL_INCOMPLETE,
    CHANCE_UNKNOWN,
    NO_INSTANCE_IN_BIN,
    NO_RATING_SETS,
    NO_SET_IN_BIN,
    NO_VERDICT,
)

TIE_IN_CONSISTENCY = "a tie lowers consistency; a set with ratings for both systems has 0"
TIE_IN_STRENGTH = "a tie is 0"
TIE_IN_POSITIONS = "ties are left out"
FEW, FEW_GAVE = 3, 0.5
FEW_RATERS = (
    "{few} people gave {share:.0%} of the ratings: intervals over instances alone do not cover other people; those "
    "over instances and raters do"
)
TIE_IS_A_SHARE = "a tie is a verdict of its own"
TIE_IS_HALF = "a tie is half a win"
FLOORS = (0.0, -1.0, 0.0, 0.0, 0.0, 0.0)  # of consistency, preference strength, the shares and the win rate


def rater_findings(rater: Rater, bins: Bins | None, settings: IntervalSettings) -> dict[str, Any]:
    """Return the measures of any rater."""
    verdict = rater.rated.outcomes.verdict
    all_sets = np.ones(len(rater.sets), dtype=bool)
    why = ALL_INCOMPLETE if rater.incomplete else NO_RATING_SETS
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
            "first": _count(rater.positions.preferred == -1),
            "tie": _count(rater.positions.preferred == 0),
            "second": _count(rater.positions.preferred == 1),
        },
        "preferred_first": preferred_first(rater.positions, settings, without_order=is_without_order(rater)),
        **_measures_of_sets(rater, all_sets, settings, why, left_out=rater.left_out),
        "fully_consistent": fully_consistent(
            rater.consistency, rater.sets.instance, rater.sets.rater, settings, why=why, left_out=rater.left_out
        ),
        "uninformative": uninformative(rater.consistency, rater.sets.instance),
        "bins": [] if bins is None else _bins(rater, bins, settings),
        **_degrees(rater.rated),
    }


def fully_consistent(
    consistency: FloatArray,
    instance: IntArray,
    rater: IntArray,
    settings: IntervalSettings,
    *,
    why: Reason = NO_RATING_SETS,
    left_out: int = 0,
) -> Estimate:
    """Return the share of rating sets with consistency 1: one and the same system preferred on every pair.

    Source: Ghosh et al. 2024, Compare without Despair, §3.
    """
    basis = Basis(len(consistency), "rating sets", TIE_IN_CONSISTENCY, left_out, why)
    return share_estimate(mean_rows((consistency == 1).astype(np.float64)), instance, basis, settings, rater=rater)


def uninformative(consistency: FloatArray, instance: IntArray) -> dict[str, int]:
    """Count the instances on which every rating set has consistency 0, among the `instances` with a rating set.

    No rating set tells there which system is better. After the measure of Ghosh et al. 2024, eq. 4.
    """
    rated = count_groups(instance)
    return {"count": rated - count_groups(instance[consistency > 0]), "instances": rated}


def _degrees(rated: RatedPairs) -> dict[str, Any]:
    """Count the strengths of preferences and the kinds of ties, where the question asks for them."""
    if rated.asked is None:
        return {}
    verdict = rated.outcomes.verdict
    degrees = {}
    for side, preferred in (("a", -1), ("tie", 0), ("b", 1)):
        degree = rated.tie_kind if side == "tie" else rated.strength
        levels = {"good": GOOD, "bad": BAD} if side == "tie" else {"much": MUCH, "slightly": SLIGHTLY}
        if rated.asked.tie_kinds if side == "tie" else rated.asked.strength:
            counts = {name: _count((verdict == preferred) & (degree == value)) for name, value in levels.items()}
            degrees[side] = {**counts, "unknown": _count(verdict == preferred) - sum(counts.values())}
    return {"degrees": degrees}


def _measures_of_sets(
    rater: Rater, is_selected: BoolArray, settings: IntervalSettings, why: Reason, *, left_out: int = 0
) -> dict[str, Any]:
    """Return means and distributions of consistency and preference strength over the chosen rating sets."""
    instance, person, n = rater.sets.instance[is_selected], rater.sets.rater[is_selected], _count(is_selected)
    consistency, strength = rater.consistency[is_selected], rater.strength[is_selected]
    about_consistency = Basis(n, "rating sets", TIE_IN_CONSISTENCY, left_out, why)
    about_strength = Basis(n, "rating sets", TIE_IN_STRENGTH, left_out, why)
    return {
        "mean_consistency": mean_estimate(mean_rows(consistency), instance, about_consistency, settings, rater=person),
        "consistency_distribution": distribution_keys(distribution(consistency, possible_consistencies(rater.sizes))),
        "mean_preference_strength": mean_estimate(
            mean_rows(strength), instance, about_strength, settings, floor=-1.0, rater=person
        ),
        "preference_strength_distribution": distribution_keys(distribution(strength, possible_strengths(rater.sizes))),
    }


def _bins(rater: Rater, bins: Bins, settings: IntervalSettings) -> list[dict[str, Any]]:
    bin_of_set = bins.of_instance[rater.sets.instance]
    results = []
    for index, bin_ in enumerate(bins.listed()):
        is_selected = bin_of_set == index
        why = NO_SET_IN_BIN if bin_["instances"] else NO_INSTANCE_IN_BIN
        measures = _measures_of_sets(rater, is_selected, settings, why)
        results.append({**bin_, "rating_sets": _count(is_selected), **measures})
    return results


def is_without_order(rater: Rater) -> bool:
    """Tell whether verdicts are on pairs in no known order, as a jury's are."""
    return bool(np.isnan(rater.positions.preferred).all()) and bool(_count(~np.isnan(rater.rated.outcomes.verdict)))


def preferred_first(positions: Positions, settings: IntervalSettings, *, without_order: bool = False) -> Estimate:
    """Return the share of verdicts for the text shown first, ties left out. ½ without position bias."""
    preferred = positions.preferred
    first = preferred == -1
    decided, ties = first | (preferred == 1), _count(preferred == 0)
    return share_estimate(
        np.stack([first, decided], axis=1).astype(np.float64),
        positions.instance,
        Basis(
            _count(decided),
            "verdicts that are no ties",
            TIE_IN_POSITIONS,
            ties,
            (NO_ORDER if positions.rater is None else UNKNOWN_ORDER)
            if without_order
            else ALL_TIES
            if ties
            else NO_VERDICT,
        ),
        settings,
        rater=positions.rater,
        exact=True,
    )


def few_raters_note(people: Rater) -> list[str]:
    """Return a note where three people of five or more gave over half of the ratings, or nothing."""
    outcomes = people.rated.outcomes
    counts = np.sort(np.bincount(outcomes.rater[~np.isnan(outcomes.verdict)]))[::-1]
    share = float(counts[:FEW].sum() / max(counts.sum(), 1))
    if np.count_nonzero(counts) < MIN_CLUSTERS or share <= FEW_GAVE:
        return []
    return [FEW_RATERS.format(few=FEW, share=share)]


def _count(is_selected: BoolArray) -> int:
    return int(np.count_nonzero(is_selected))


def weighted_findings(rater: Rater, settings: IntervalSettings) -> dict[str, Any]:
    """Return `weighted`: ratio estimates, each with its unweighted value `as_drawn`, or an empty string where no probability is known.

    Both are over the rating sets with a rating whose probability is known; means over sets are over those in use. An
    instance's weight is the mean of the weights of its sets.
    """
    rated = rater.every.present > 0
    is_known = rated & ~np.isnan(rater.chance)
    if not is_known.any():
        return {}
    chances, instance = rater.chance[is_known], rater.every.instance[is_known]
    of_instance = ratio(mean_sums(1 / chances, instance))
    left_out = int((rated & ~is_known).sum())
    return {
        "weighted": {
            "rating_sets": int((is_known & rater.in_use).sum()),
            "instances": len(of_instance),
            "rating_sets_left_out": left_out,
            **(CHANCE_UNKNOWN.as_json() if left_out else {}),
            "smallest_weight": float(1 / chances.max()),
            "largest_weight": float(1 / chances.min()),
            "effective_instances": effective_number(of_instance),
            **_estimates(rater, is_known, settings),
        }
    }


def _estimates(rater: Rater, is_selected: BoolArray, settings: IntervalSettings) -> dict[str, Any]:
    sums, instance, person = (
        _sums(rater)[is_selected],
        rater.every.instance[is_selected],
        rater.every.rater[is_selected],
    )
    drawn = ratio(sums.sum(axis=0))
    weighted = inverse_probability_weighted(sums, rater.chance[is_selected])
    consistency, strength, a, tie, b, wins = (
        {
            **mean_estimate(weighted[:, index], instance, basis, settings, floor=floor, rater=person),
            "as_drawn": number(value),
        }
        for index, (basis, floor, value) in enumerate(
            zip(_bases(rater, is_selected), FLOORS, drawn.tolist(), strict=True)
        )
    )
    shares: dict[str, Estimate] = {"a": a, "tie": tie, "b": b}
    return {
        "mean_consistency": consistency,
        "mean_preference_strength": strength,
        "shares": shares,
        "win_rate_a": wins,
    }


def _sums(rater: Rater) -> FloatArray:
    """Return (n_sets, 6, 2): numerators and denominators of two means over sets and four over verdicts."""
    ratings, in_use = rater.every.ratings, rater.in_use.astype(np.float64)
    a, tie, b = ((ratings == verdict).sum(axis=1) for verdict in (-1, 0, 1))
    verdicts = rater.every.present
    of_sets = np.zeros((2, len(rater.every)))
    of_sets[:, rater.in_use] = rater.consistency, rater.strength
    columns = [(values, in_use) for values in of_sets]
    columns += [(counted.astype(np.float64), verdicts.astype(np.float64)) for counted in (a, tie, b, a + tie / 2)]
    return np.stack([np.stack(column, axis=1) for column in columns], axis=1)


def _bases(rater: Rater, is_selected: BoolArray) -> list[Basis]:
    present = rater.every.present
    sets, verdicts = int((is_selected & rater.in_use).sum()), int(present[is_selected].sum())
    sets_out, verdicts_out = int((~is_selected & rater.in_use).sum()), int(present[~is_selected].sum())
    of_sets = [Basis(sets, "rating sets", rule, sets_out) for rule in (TIE_IN_CONSISTENCY, TIE_IN_STRENGTH)]
    rules = (TIE_IS_A_SHARE, TIE_IS_A_SHARE, TIE_IS_A_SHARE, TIE_IS_HALF)
    return of_sets + [Basis(verdicts, "verdicts", rule, verdicts_out) for rule in rules]


def configuration_findings(data: ConfigurationData, filters: Filters, scripted: frozenset[str]) -> dict[str, Any]:
    filters = replace(filters, clusters=data.clusters)
    settings = filters.intervals
    bins, votes = data.separability.bins, units(data.people.rated.outcomes)
    return {
        **data.named,
        "instances": len(data.instance_ids),
        "pairs": len(data.pairs),
        "chosen": data.chosen,
        **({"chosen_note": selection_note(data.chosen)} if data.chosen else {}),
        **separability_findings(data.instance_ids, data.separability),
        "raters": [_people(data, votes, filters, scripted)]
        + [
            {
                **rater_findings(judge, bins, settings),
                **weighted_findings(judge, settings),
                **_why_no_bins(data),
                **judge.status,
                **_measures(data, judge, votes, settings),
            }
            for judge in data.judges
        ],
    }


def _people(data: ConfigurationData, votes: Units, filters: Filters, scripted: frozenset[str]) -> dict[str, Any]:
    people, settings = data.people, filters.intervals
    programs = len(scripted & set(people.rated.raters))
    notes = [SCRIPTED] * bool(programs) + few_raters_note(people)
    return {
        **rater_findings(people, data.separability.bins, settings),
        **weighted_findings(people, settings),
        **_why_no_bins(data),
        "scripted": programs > 0,
        "scripted_raters": programs,
        **({"note": "; ".join(notes)} if notes else {}),
        **_measures(data, people, votes, settings),
    }


def _measures(data: ConfigurationData, rater: Rater, votes: Units, settings: IntervalSettings) -> dict[str, Any]:
    inputs = MeasureInput(rater, data.people, votes, settings)
    return {
        **compute_measures(inputs),
        **confusion_findings(inputs),
        **consistency_of_instances(rater, data.instance_ids),
    }


def _why_no_bins(data: ConfigurationData) -> dict[str, str]:
    why = data.separability.why
    return {} if why is None else replace(why, template=f"no bins: {why.template}").as_json()
