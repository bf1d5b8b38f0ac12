"""What raters of a configuration confuse, and how consistent they are on each of its instances."""

from typing import Any

from analysis.agreement.confusion import majority_confusion_of_counts, others_confusion_of_counts
from analysis.intervals.bootstrap import mean_sums, ratio
from reporting.core.estimates import number
from reporting.core.raters import Rater
from reporting.findings.measures import MeasureInput
from reporting.findings.measures.registry import PERSON
from reporting.findings.reasons import NO_VERDICT_BESIDE_MAJORITY, TOO_MANY_INSTANCES

CLASSES = ("a", "tie", "b")
MOST_INSTANCES = 2000  # listed one by one


def confusion_findings(given: MeasureInput) -> dict[str, Any]:
    """Return `confusion`: a judge's verdicts by people's majority, and each person's votes by the other people's."""
    people = given.people_votes
    if given.rater.kind == PERSON:
        found = others_confusion_of_counts(people.counts)
    else:
        found = majority_confusion_of_counts(given.beside_people, people.counts)
    return {
        "confusion": {
            "by_majority": {
                name: dict(zip(CLASSES, row, strict=True))
                for name, row in zip(CLASSES, found.counts.tolist(), strict=True)
            },
            "n": found.n,
            "of": "verdicts beside a majority",
            "excluded": found.no_majority + found.no_vote,
            "no_majority": found.no_majority,
            "no_vote": found.no_vote,
            **({} if found.n else NO_VERDICT_BESIDE_MAJORITY.as_json()),
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
