"""The part of a study that findings are about, in words, and what the filters of the page offer."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.db.models import Count, Q

from annotation.models import Assignment, Rating, Study
from annotation.studies.configurations import matchup_counts
from reporting.core.text import printable
from reporting.findings.data.asked import SEVERAL, judge_names

NAMED: dict[str, str] = {
    "datasets": "Data sets",
    "systems": "Systems",
    "batches": "Batches",
    "raters": "Raters",
    "arms": "Arms",
    "judges": "Judges",
}


NARROW = 24  # characters of a name for which a field of the usual width has room, beside its number


def selection_of(filters: Mapping[str, Any]) -> list[str]:
    """Say what the filters in findings leave of a study; nothing where they leave all."""
    said = [f"{label}: {', '.join(filters[name])}" for name, label in NAMED.items() if filters[name]]
    if filters["stage"] != Rating.Stage.FIRST:
        said.append("People’s second ratings, after the comparison table")
    if filters["with_excluded"]:
        said.append("People’s ratings that were excluded manually count too")
    if filters["with_incomplete"]:
        said.append("Incomplete rating sets count too: those look more consistent that lack more ratings")
    return said


def selection_text(filters: Mapping[str, Any]) -> str:
    """Say it for a terminal; empty where the filters leave all."""
    return "; ".join(map(printable, selection_of(filters)))


def offered(study: Study, filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the form offers.

    choices  : those with several values, each with its options as (name, count or None, whether it is chosen)
    stages   : whether there are second votes
    excluded : number of HITs that were excluded manually
    """
    hits, by_arm, excluded = _hits(study)
    counts: dict[str, Mapping[str, int | None]] = {
        **_instances(study),
        "batches": dict.fromkeys(study.batches.for_rating().values_list("name", flat=True)),
        "raters": hits,
        "arms": by_arm,
        "judges": dict.fromkeys(judge_names(study)),
    }
    units = {"datasets": "instances", "systems": "matchups", "raters": "HITs", "arms": "HITs"}
    parameter = {field: name for name, field in SEVERAL.items()}
    choices = [
        {
            "parameter": parameter[field],
            "label": label,
            "unit": units.get(field, ""),
            "has_long_names": any(len(name) > NARROW for name in counts[field]),
            "options": [(name, count, name in (filters[field] or ())) for name, count in counts[field].items()],
        }
        for field, label in NAMED.items()
        if len(counts[field]) > (2 if field == "systems" else 1) or filters[field]
    ]
    return {"choices": choices, "stages": study.is_two_stage, "excluded": excluded}


def _instances(study: Study) -> dict[str, dict[str, int]]:
    """Return the number of instances of each data set, and of matchups of each system."""
    names = dict(study.systems.order_by("position").values_list("pk", "name"))
    systems = Counter(dict.fromkeys(names.values(), 0))
    for (_dataset, a, b), count in matchup_counts(study).items():
        systems.update({names[a]: count, names[b]: count})
    datasets = study.instances.order_by("dataset").values_list("dataset").annotate(Count("pk"))
    return {"datasets": dict(datasets), "systems": dict(systems)}


def _hits(study: Study) -> tuple[dict[str, int], dict[str, int], int]:
    """Return the number of submitted HITs of each rater and of each arm, and of those that were excluded manually."""
    work = Assignment.objects.filter(
        annotator__study=study, purpose=Assignment.Purpose.RATING, state=Assignment.State.SUBMITTED
    )
    found = (
        work.filter(annotator__withdrawn_at=None)
        .order_by("annotator__code", "arm")
        .values_list("annotator__code", "arm")
        .annotate(hits=Count("pk"), left_out=Count("pk", filter=Q(excluded=True) | Q(annotator__excluded=True)))
    )
    raters: Counter[str] = Counter()
    arms: Counter[str] = Counter()
    excluded = 0
    for code, arm, hits, left_out in found:
        raters[code] += hits
        arms[arm] += hits
        excluded += left_out
    del arms[""]
    return dict(raters), dict(sorted(arms.items())), excluded
