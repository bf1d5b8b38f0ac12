"""Agreement among people, and of a judge with them."""

from functools import partial
from typing import Any

import numpy as np

from analysis.agreement.coefficients import (
    Level,
    agreement_sums_of_counts,
    alpha_from_coincidences,
    coincidences_of_counts,
    degree_alpha_from_coincidences,
    degrees,
    gwet_from_sums,
    gwet_sums,
)
from analysis.agreement.confusion import (
    majority_confusion_of_counts,
    majority_sums_of,
    others_confusion_of_counts,
    vote_sums,
    vote_sums_of_counts,
)
from analysis.intervals.bootstrap import mean_sums, ratio
from annotation.core.tables import PERCENT
from reporting.core.estimates import Basis, Estimate, number
from reporting.core.raters import Rater, units, verdicts_beside
from reporting.findings.measures.registry import JUDGE, PERSON, MeasureInput, measure
from reporting.findings.reasons import (
    NO_COMMON_VOTES,
    NO_MAJORITY,
    NO_RATED_VERDICTS,
    NO_VARIATION,
    NO_VERDICT_BESIDE_MAJORITY,
    TOO_MANY_INSTANCES,
)

LEVELS: dict[Level, str] = {
    "nominal": "Krippendorff’s α, nominal",
    "ordinal": "Krippendorff’s α, ordinal",
    "interval": "Krippendorff’s α, interval",
}
TIE_EQUALS_TIE = "a tie agrees with a tie only"
TIE_IN_ALPHA = {
    "nominal": "a tie differs from A and from B as they differ from each other",
    "ordinal": "a tie lies between A and B, by rank",
    "interval": "a tie lies halfway between A and B",
}
GWET = {"ac1": "Gwet’s AC1", "ac2": "Gwet’s AC2, ordinal"}
TIE_IN_GWET = {"ac1": TIE_IN_ALPHA["nominal"], "ac2": TIE_IN_ALPHA["ordinal"]}
STRENGTH_IN_ALPHA = "a tie lies between slight preferences, by rank; preferences of unknown strength are left out"
CLASSES = ("a", "tie", "b")
MOST_INSTANCES = 2000  # listed one by one


@measure("raw_agreement", "Raw agreement", kinds=(PERSON,), unit=PERCENT)
def raw_agreement(inputs: MeasureInput) -> Estimate:
    """Share of agreeing pairs of votes, over all pairs with two or more votes."""
    votes = inputs.people_votes
    rows = agreement_sums_of_counts(votes.counts)
    alone = int((votes.sizes == 1).sum())
    basis = Basis(int(rows[:, 1].sum()), "pairs of ratings", TIE_EQUALS_TIE, alone, NO_COMMON_VOTES)
    return inputs.share(rows, votes.instance, basis)


@measure("krippendorff_alpha", "Krippendorff’s α", kinds=(PERSON,), levels=LEVELS)
def krippendorff_alpha(inputs: MeasureInput) -> dict[str, Estimate]:
    """Krippendorff's alpha over all pairs with two or more votes, at each level of measurement."""
    votes = inputs.people_votes
    n, alone = int((votes.sizes > 1).sum()), int((votes.sizes == 1).sum())
    rows = coincidences_of_counts(votes.counts)
    return {
        level: inputs.statistic(
            rows,
            votes.instance,
            partial(alpha_from_coincidences, level=level),
            Basis(n, "pairs with two or more ratings", TIE_IN_ALPHA[level], alone, NO_VARIATION),
            ceiling=1.0,
        )
        for level in LEVELS
    }


@measure("gwet", "Gwet’s AC", kinds=(PERSON,), levels=GWET)
def gwet(inputs: MeasureInput) -> dict[str, Estimate]:
    """Gwet's AC1, and AC2 with ordinal weights, over all pairs with votes."""
    votes = inputs.people_votes
    n, alone = int((votes.sizes > 1).sum()), int((votes.sizes == 1).sum())
    rows = gwet_sums(votes.counts)
    return {
        name: inputs.statistic(
            rows,
            votes.instance,
            partial(gwet_from_sums, ordinal=name == "ac2"),
            Basis(n, "pairs with two or more ratings", TIE_IN_GWET[name], alone, NO_COMMON_VOTES),
            ceiling=1.0,
        )
        for name in GWET
    }


@measure(
    "five_level_alpha",
    "Krippendorff’s α, ordinal, five levels by strength",
    kinds=(PERSON,),
    applies=lambda values: values.rater.rated.asked is not None and values.rater.rated.asked.strength,
)
def five_level_alpha(inputs: MeasureInput) -> Estimate:
    """Krippendorff's ordinal alpha of verdicts with their strengths, over all pairs with two or more such votes."""
    rated = inputs.rater.rated
    votes = units(rated.outcomes, degrees(rated.outcomes.verdict, rated.strength), limit=2)
    basis = Basis(
        int((votes.sizes > 1).sum()),
        "pairs with two or more ratings",
        STRENGTH_IN_ALPHA,
        int((votes.sizes == 1).sum()),
        NO_VARIATION,
    )
    rows = coincidences_of_counts(votes.counts)
    unknown = int((~np.isnan(rated.outcomes.verdict)).sum() - votes.sizes.sum())
    return {
        **inputs.statistic(rows, votes.instance, degree_alpha_from_coincidences, basis, ceiling=1.0),
        "unknown_strength": unknown,
    }


@measure("agreement_with_people", "Agrees with people", kinds=(JUDGE,), unit=PERCENT)
def agreement_with_people(inputs: MeasureInput) -> Estimate:
    """Share of people's votes that equal the judge's verdict on the same pair."""
    rows = vote_sums_of_counts(inputs.beside_people, inputs.people_votes.counts)
    n = int(rows[:, 1].sum())
    basis = Basis(n, "ratings", TIE_EQUALS_TIE, int(inputs.people_votes.sizes.sum()) - n, NO_RATED_VERDICTS)
    if not inputs.settings.two_way:
        return inputs.share(rows, inputs.people_votes.instance, basis)
    votes = inputs.people.rated.outcomes
    rows = vote_sums(verdicts_beside(inputs.rater.rated.outcomes, votes), votes.verdict[:, np.newaxis])
    return inputs.share(rows, votes.instance, basis, rater=votes.rater)


@measure("agreement_with_majority", "Agrees with their majority", kinds=(JUDGE,), unit=PERCENT)
def agreement_with_majority(inputs: MeasureInput) -> Estimate:
    """Share of pairs on which the judge's verdict equals the majority of the people's votes."""
    verdict, people = inputs.beside_people, inputs.people_votes
    rows = majority_sums_of(verdict, people.majority)
    n = int(rows[:, 1].sum())
    left_out = int((~np.isnan(verdict) & (people.sizes > 0)).sum()) - n
    return inputs.share(rows, people.instance, Basis(n, "pairs with a majority", TIE_EQUALS_TIE, left_out, NO_MAJORITY))


def confusion_findings(inputs: MeasureInput) -> dict[str, Any]:
    """Return `confusion`: a judge's verdicts by people's majority, and each person's votes by the other people's."""
    people = inputs.people_votes
    if inputs.rater.kind == PERSON:
        confusion = others_confusion_of_counts(people.counts)
    else:
        confusion = majority_confusion_of_counts(inputs.beside_people, people.counts)
    return {
        "confusion": {
            "by_majority": {
                name: dict(zip(CLASSES, row, strict=True))
                for name, row in zip(CLASSES, confusion.counts.tolist(), strict=True)
            },
            "n": confusion.n,
            "of": "verdicts beside a majority",
            "excluded": confusion.no_majority + confusion.no_vote,
            "no_majority": confusion.no_majority,
            "no_vote": confusion.no_vote,
            **({} if confusion.n else NO_VERDICT_BESIDE_MAJORITY.as_json()),
        }
    }


def consistency_of_instances(rater: Rater, instance_ids: tuple[str, ...]) -> dict[str, Any]:
    """Return `consistency_by_instance`: the mean over rating sets on each instance that has one, or why it is not listed."""
    if len(instance_ids) > MOST_INSTANCES:
        why = TOO_MANY_INSTANCES.with_values(most=MOST_INSTANCES)
        return {"consistency_by_instance": {"values": None, **why.as_json()}}
    sums = mean_sums(rater.consistency, rater.sets.instance)
    codes = sorted(set(rater.sets.instance.tolist()))
    return {
        "consistency_by_instance": {
            "values": {
                instance_ids[code]: {"mean_consistency": number(mean), "rating_sets": int(n)}
                for code, mean, n in zip(codes, ratio(sums).tolist(), sums[:, 1].tolist(), strict=True)
            }
        }
    }
